from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet

from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.lifecycle import CollectionParts
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.locks import lock_collection
from apps.catalog.models import Collect, Collection, ManualPlace
from apps.core.events.messages import DUPLICATED
from apps.core.types import Attrs
from apps.metafields.domain.copying import read_metafields_to_copy

COLUMNS = ("body_html", "sort_order", "template_suffix", "published_scope", "disjunctive", "rules")
_BATCH = 2_500
Placed = TypeVar("Placed", Collect, ManualPlace)


@dataclass(frozen=True, slots=True)
class CollectionCopy:
    """A requested copy of a collection.

    Attributes:
        title: The title of the copy. The handle is derived from the title.
        visible: True to publish the copy.
        image: True to copy the image with its alternative text.
        metafields: True to copy the metafields, except those of type ``id``.
        products: True to add the same products in the same order. A smart collection always has the same rules.
    """

    title: str
    visible: bool = False
    image: bool = True
    metafields: bool = True
    products: bool = True


@transaction.atomic
def duplicate_collection(collection: Collection, requested: CollectionCopy, *, actor: str, at: datetime) -> Collection:
    """Create a copy of a collection.

    The collection is locked, so that its image is not deleted before the copy refers to the same file. Deleting one of
    its products also waits for this lock.

    Raises:
        RowDeleted: The collection has been deleted.
    """
    source = lock_collection(collection.pk)
    attrs: Attrs = {name: getattr(source, name) for name in COLUMNS}
    attrs |= {"title": requested.title, "published_at": at if requested.visible else None}
    parts = CollectionParts()
    if requested.image and source.image_key:
        attrs["image_alt"] = source.image_alt
        parts.image = StoredImage(
            source.shop_id, source.image_key, source.image_name, source.image_width or 0, source.image_height or 0
        )
    if requested.metafields:
        parts.metafields = read_metafields_to_copy([source]).get(source.pk, [])
    kind = Collection.Kind(source.kind)
    copy = lifecycle.create_collection(kind, attrs, parts, actor=actor, at=at, message=DUPLICATED(name=source.title))
    if requested.products:
        _copy_rows(Collect.objects.filter(collection=source), copy, at)
        _copy_rows(ManualPlace.objects.filter(collection=source), copy, at)
    return copy


def _copy_rows(rows: QuerySet[Placed], copy: Collection, at: datetime) -> None:
    """Copy the products of a collection with their positions, in batches."""
    model = rows.model
    for batch in _split(rows):
        model.objects.bulk_create(
            model(shop_id=copy.shop_id, collection=copy, product_id=product_id, position=position, created_at=at)
            for position, product_id in batch
        )


def _split(rows: QuerySet[Placed]) -> Iterator[list[tuple[int, int]]]:
    """Yield the positions and products in batches. Products of a collection are in the order of their IDs."""
    last = 0
    ordered = rows.order_by("product_id").values_list("position", "product_id")
    while batch := list(ordered.filter(product_id__gt=last)[:_BATCH]):
        yield batch
        last = batch[-1][1]
