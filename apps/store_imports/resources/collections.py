"""Import custom collections with their products, and smart collections with their rules."""

from collections.abc import Collection as Some
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.db.models import Model, QuerySet

from apps.catalog.api.collection_serializers import (
    CustomCollectionSerializer,
    SmartCollectionSerializer,
    parse_collection,
)
from apps.catalog.domain import image_files
from apps.catalog.domain.collections import collects, lifecycle
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.models import Collect, Collection, Product
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message
from apps.core.rest.resources.serializers import Resource
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import truncate_to_second
from apps.imports_exports.resources.cells import convert_api_errors
from apps.store_imports.domain.comparison import CREATED_NOW, KEEPS_HANDLE, OWN_ADDRESS, Comparison
from apps.store_imports.domain.source_client import SourceObject, parse_source_moment, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.handles import find_taken_handles
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 50
IMAGE_SECONDS = 10.0
_LIMITS = {"handle": KEEPS_HANDLE}
_NOT_COMPARED = {"image.src": OWN_ADDRESS, "image.created_at": CREATED_NOW}
_FIELDS = ("title", "body_html", "sort_order", "template_suffix", "rules", "disjunctive")
NO_IMAGE = define_message("store_imports.no_image", "The image {src} was not imported: {reason}")
_OTHER_KIND = define_message(
    "store_imports.other_kind", "This shop has a collection of another type with the handle {handle}. Rename it."
)
_MISSING_PRODUCTS = define_message(
    "store_imports.missing_products", "{count} products of the collection were not imported."
)
ImageOrError = StoredImage | DomainError


class CollectionStream(Stream):
    """Collections of one type. Both types share one resource in the map of ids, as in the REST API."""

    resource = "collection"
    path_prefix = "/collections/"
    model: ClassVar[type[Model]] = Collection
    kind: ClassVar[Collection.Kind]
    serializer: ClassVar[Resource]

    def count_objects(self, source: Source) -> int | None:
        return source.client.count(f"{self.name}/count.json", **source.change_filter)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return source.client.get_page(
            f"{self.name}.json", self.name, since_id=position, limit=PAGE_SIZE, **source.change_filter
        )

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, Collection)
        lifecycle.delete_collection(target, actor=ACTOR, at=at)

    def get_own_objects(self) -> QuerySet[Any]:
        return Collection.objects.filter(kind=self.kind)

    @contextmanager
    def fetch_files(self, source: Source, objects: Sequence[SourceObject]) -> Iterator[Mapping[int, ImageOrError]]:
        """Download the images, and yield them by collection id. Unused images are deleted afterwards."""
        shop_id = get_current_shop().pk
        images: dict[int, ImageOrError] = {}
        try:
            for row in objects:
                with refuse_malformed(self.name, row):
                    src = (row.get("image") or {}).get("src")
                if src:
                    source.keep_alive()
                    try:
                        images[row["id"]] = image_files.store_image_from_url(shop_id, src, seconds=IMAGE_SECONDS)
                    except DomainError as error:
                        images[row["id"]] = error
            yield images
        finally:
            new = {image.key: image for image in images.values() if isinstance(image, StoredImage)}
            used = image_files.get_referenced_keys(shop_id, list(new)) if new else set()
            image_files.discard_images(image for key, image in new.items() if key not in used)

    def write_objects(
        self, source: Source, objects: Sequence[SourceObject], files: Mapping[int, ImageOrError]
    ) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = {row.pk: row for row in Collection.objects.filter(pk__in=known.values())}
        taken = find_taken_handles(source, self.name, self.resource, Collection, objects)
        with_handle = Collection.objects.filter(handle__in=[str(row.get("handle")) for row in objects])
        by_handle = {row.handle: row for row in with_handle}
        return [
            ObjectResult(Outcome.FAILED, problem=taken[row["id"]])
            if row["id"] in taken
            else write_in_savepoint(
                partial(
                    self._write_collection,
                    source,
                    row,
                    existing.get(known.get(row["id"], 0)) or by_handle.get(str(row.get("handle"))),
                    files.get(row["id"]),
                )
            )
            for row in objects
        ]

    def _write_collection(
        self, source: Source, row: SourceObject, target: Collection | None, image: ImageOrError | None
    ) -> ObjectResult:
        if target is not None and target.kind != self.kind:
            raise DomainError(_OTHER_KIND(handle=target.handle))
        body = {name: row[name] for name in _FIELDS if name in row}
        if target is None:
            body["handle"] = row["handle"]
        stored = image if isinstance(image, StoredImage) else None
        if stored is not None:
            body["image"] = {"alt": row["image"].get("alt")}
        with convert_api_errors(body):
            attrs, parts = parse_collection(
                self.serializer, get_latest_version(), body, instance=target, image=stored, upload_error=None
            )
        published_at = parse_source_moment(row.get("published_at"))
        if target is None or not _is_same_second(target.published_at, published_at):
            attrs["published_at"] = published_at
        if target is None:
            collection = lifecycle.create_collection(self.kind, attrs, parts, actor=ACTOR, at=source.at)
            outcome = Outcome.NEW
        else:
            before = target.version
            lifecycle.update_collection(target, attrs, parts, actor=ACTOR, at=source.at)
            collection = Collection.objects.get(pk=target.pk)
            outcome = Outcome.UNCHANGED if collection.version == before else Outcome.CHANGED
        problem, has_added = self.add_products(source, row, collection)
        if outcome == Outcome.UNCHANGED and has_added:
            outcome = Outcome.CHANGED
        if isinstance(image, DomainError):
            problem = NO_IMAGE(src=row["image"]["src"], reason=image.sentence)
        return ObjectResult(outcome, collection.pk, problem, is_complete=problem is None)

    def add_products(self, source: Source, row: SourceObject, collection: Collection) -> Any:
        """Add the products of a collection. Return a problem or None, and True if products were added."""
        return None, False


class CustomCollectionStream(CollectionStream):
    name = "custom_collections"
    kind = Collection.Kind.CUSTOM
    serializer = CustomCollectionSerializer
    id_list = IdList("custom_collections.json", "custom_collections")
    comparison = Comparison(
        read=create_reader(CustomCollectionSerializer),
        ids={"product_ids": "product"},
        not_compared=_NOT_COMPARED,
        limits=_LIMITS,
    )

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return collections with the ids of their products, in the order of their positions, as ``product_ids``.

        Some stores do not note a change of the products as a change of the collection.
        """
        if source.is_thorough and not source.only_ids:
            source = source.without_filter()
        page = super().read_page(source, position)
        for row in page:
            members = source.client.iterate_pages("collects.json", "collects", collection_id=row["id"])
            with refuse_malformed(self.name, row):
                places = sorted((member["position"], member["id"], int(member["product_id"])) for member in members)
                row["product_ids"] = [product_id for _, _, product_id in places]
        return page

    def find_indirect_changes(self, source: Source) -> set[int]:
        rows = source.client.iterate_pages("collects.json", "collects", **source.change_filter)
        return {int(row["collection_id"]) for row in rows}

    def read_own(self, source: Source, target_ids: Some[int]) -> Mapping[int, SourceObject]:
        own = super().read_own(source, target_ids)
        for row in own.values():
            row["product_ids"] = []
        members = Collect.objects.filter(collection_id__in=own).order_by("position", "pk")
        for collection_id, product_id in members.values_list("collection_id", "product_id"):
            own[collection_id]["product_ids"].append(product_id)
        return own

    def add_products(self, source: Source, row: SourceObject, collection: Collection) -> Any:
        """Make the imported products of the collection those of the store, in the same order.

        Products that are not from the store stay, at the end.
        """
        targets = source.ids.get_target_ids("product", row["product_ids"])
        products = [targets[pk] for pk in row["product_ids"] if pk in targets]
        existing = set(Product.objects.filter(pk__in=products).values_list("pk", flat=True))
        products = [pk for pk in products if pk in existing]
        has_changed = bool(collects.append_products(collection.pk, products, actor=ACTOR, at=source.at))
        members = {member.product_id: member for member in Collect.objects.filter(collection=collection)}
        extra = members.keys() - set(products)
        for product_id in source.ids.get_source_ids("product", extra):
            collects.remove_collect(members[product_id], actor=ACTOR, at=source.at)
            del members[product_id]
            has_changed = True
        order = sorted(members, key=lambda pk: (members[pk].position, members[pk].pk))
        if order[: len(products)] != products:
            lifecycle.set_collection_order(collection, product_ids=products, actor=ACTOR, at=source.at)
            has_changed = True
        missing = len(row["product_ids"]) - len(products)
        return _MISSING_PRODUCTS(count=missing) if missing else None, has_changed


class SmartCollectionStream(CollectionStream):
    name = "smart_collections"
    kind = Collection.Kind.SMART
    serializer = SmartCollectionSerializer
    id_list = IdList("smart_collections.json", "smart_collections")
    comparison = Comparison(read=create_reader(SmartCollectionSerializer), not_compared=_NOT_COMPARED, limits=_LIMITS)


def _is_same_second(before: Any, after: Any) -> bool:
    return before == after or (None not in (before, after) and truncate_to_second(before) == truncate_to_second(after))
