"""Create, update, sort and delete collections."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from apps.catalog.domain.collections import collects
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.domain.image_files import StoredImage, delete_files_on_commit
from apps.catalog.domain.locks import lock_collection
from apps.catalog.models import Collection, CustomCollection, ManualPlace
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.handles import build_handle_stem, save_with_handle
from apps.core.i18n.messages import Message
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput

FALLBACK_HANDLE = "collection"
NO_IMAGE = {
    "image_key": "",
    "image_name": "",
    "image_alt": None,
    "image_width": None,
    "image_height": None,
    "image_created_at": None,
}


class UnknownProducts(DomainError):
    """Raised when a product does not exist in the shop or is not in the collection."""

    field = "products"


@dataclass(slots=True)
class CollectionParts:
    """The parts of a collection request that are not columns of ``Collection``. Only custom ones have placements."""

    image: StoredImage | None = None
    removes_image: bool = False
    placements: Sequence[collects.Placement] = ()
    metafields: Sequence[MetafieldInput] = field(default_factory=list)


@transaction.atomic
def create_collection(
    kind: Collection.Kind,
    attrs: Attrs,
    parts: CollectionParts,
    *,
    actor: str,
    at: datetime,
    message: Message | None = None,
) -> Collection:
    """Create a collection. If the handle is missing, a unique handle is derived from the title.

    The audit log shows the message, if there is one.

    Raises:
        IntegrityError: Another collection has the given handle.
        ProductNotFound: A product to add does not exist.
    """
    collection = Collection(shop=get_current_shop(), kind=kind, created_at=at, **attrs)
    _set_image(collection, parts, at)
    if collection.handle:
        collection.save(force_insert=True)
    else:
        save_with_handle(collection, build_handle_stem(collection.title, FALLBACK_HANDLE))
    _save_parts(collection, parts, actor=actor, at=at)
    record_event("collections/create", collection, actor=actor, at=at, message=message)
    return collection


@transaction.atomic
def update_collection(
    collection: Collection, attrs: Attrs, parts: CollectionParts, *, actor: str, at: datetime
) -> None:
    """Update a collection. Products that ``parts`` does not list remain in the collection.

    Raises:
        RowDeleted: The collection has been deleted.
        ProductNotFound: A product to add does not exist.
    """
    row = lock_collection(collection.pk)
    changes = apply_changes(row, attrs)
    columns = [*changes, *(NO_IMAGE if _set_image(row, parts, at) else ())]
    filled = _save_parts(row, parts, actor=actor, at=at)
    if not row.handle:
        save_with_handle(row, build_handle_stem(row.title, FALLBACK_HANDLE), update_fields=[*columns, "handle"])
    elif columns or filled:
        row.save(update_fields=columns)
    else:
        return
    record_event("collections/update", row, actor=actor, at=at, changes=changes)


def _set_image(collection: Collection, parts: CollectionParts, at: datetime) -> bool:
    """Set the image columns of the collection, or clear them. Return True if a column changed."""
    if parts.image is None and not (parts.removes_image and collection.image_key):
        return False
    delete_files_on_commit(collection.shop_id, [collection.image_key])
    values: dict[str, object] = dict(NO_IMAGE)
    if image := parts.image:
        image.is_referenced = True
        values = {"image_key": image.key, "image_name": image.name, "image_alt": collection.image_alt}
        values |= {"image_width": image.width, "image_height": image.height, "image_created_at": at}
    for name, value in values.items():
        setattr(collection, name, value)
    return True


def _save_parts(collection: Collection, parts: CollectionParts, *, actor: str, at: datetime) -> bool:
    """Add the products to the collection and set the metafields. Return True if anything changed."""
    placed = bool(parts.placements) and collects.save_placements(collection, parts.placements, at=at)
    return bool(metafields.set_metafields(collection, parts.metafields, actor=actor, at=at)) or placed


@transaction.atomic
def delete_collection(collection: Collection, *, actor: str, at: datetime) -> None:
    """Delete a collection and its image file, but not its products. Raise ``RowDeleted`` if it is already deleted."""
    row = lock_collection(collection.pk)
    record_event("collections/delete", row, actor=actor, at=at)
    delete_files_on_commit(row.shop_id, [row.image_key])
    row.delete()


@transaction.atomic
def set_collection_order(
    collection: Collection,
    *,
    sort_order: str | None = None,
    product_ids: Sequence[int] = (),
    actor: str,
    at: datetime,
) -> None:
    """Set the sort order of a collection and, for a manual order, the products that come first.

    Raises:
        RowDeleted: The collection has been deleted.
        UnknownProducts: A product is not in the collection.
    """
    row = lock_collection(collection.pk)
    changes = apply_changes(row, {} if sort_order is None else {"sort_order": sort_order})
    moved = bool(product_ids) and _order_manually(row, list(dict.fromkeys(product_ids)))
    if changes or moved:
        row.save(update_fields=["sort_order"])
        record_event("collections/update", row, actor=actor, at=at, changes=changes)


def _order_manually(collection: Collection, product_ids: list[int]) -> bool:
    """Move the listed products to the front. Return True if a position changed."""
    if get_collection_products(collection).filter(pk__in=product_ids).count() != len(product_ids):
        raise UnknownProducts("must all be in the collection")
    if not collection.is_smart:
        return collects.reorder_collects(collection, product_ids)
    positions = ManualPlace.objects.filter(collection=collection)
    if list(positions.order_by("position").values_list("product_id", flat=True)) == product_ids:
        return False
    positions.delete()
    ManualPlace.objects.bulk_create(
        ManualPlace(shop_id=collection.shop_id, collection=collection, product_id=product_id, position=position)
        for position, product_id in enumerate(product_ids, start=1)
    )
    return True


def create_frontpage_collection(shop: Shop, at: datetime) -> None:
    CustomCollection.objects.create(
        shop=shop,
        kind=Collection.Kind.CUSTOM,
        title="Home page",
        handle="frontpage",
        created_at=at,
        published_at=at,
    )
