"""Collections: made, changed, filled by hand or by rules, and deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from apps.catalog.domain.collections import collects
from apps.catalog.domain.collections.membership import products_of
from apps.catalog.domain.locks import lock_collection
from apps.catalog.domain.pictures import Picture, delete_later
from apps.catalog.models import Collection, CustomCollection, ManualPlace
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError
from apps.ground.handles import save_with_handle, stem_of
from apps.ground.tenancy import current_shop
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft
from apps.shops.models import Shop

FALLBACK_HANDLE = "collection"
NO_PICTURE = {
    "image_key": "",
    "image_name": "",
    "image_alt": None,
    "image_width": None,
    "image_height": None,
    "image_created_at": None,
}


class UnknownProducts(DomainError):
    """A product that is named does not exist in the shop, or is not in the collection."""

    code = "unknown_products"
    field = "products"


@dataclass(slots=True)
class CollectionParts:
    """What a body says of a collection besides its columns.

    Attributes:
        picture: A new picture.
        drops_picture: Whether the picture goes.
        placements: Products to put in, or places to change; custom collections only.
        metafields: To be set on it.
    """

    picture: Picture | None = None
    drops_picture: bool = False
    placements: Sequence[collects.Placement] = ()
    metafields: Sequence[Draft] = field(default_factory=list)


@transaction.atomic
def create_collection(
    kind: Collection.Kind, attrs: Attrs, parts: CollectionParts, *, actor: str, at: datetime
) -> Collection:
    """Make a collection.

    Args:
        kind: Filled by hand, or by rules.
        attrs: Columns of ``Collection``. Without a handle the title makes one, numbered where it is taken; a handle
            that is named and taken is refused by the database.
        parts: Its picture, products and metafields.
        actor: Who.
        at: When.

    Raises:
        ProductNotFound: A product that is to be put in does not exist.
    """
    collection = Collection(shop=current_shop(), kind=kind, created_at=at, **attrs)
    _set_picture(collection, parts, at)
    if collection.handle:
        collection.save(force_insert=True)
    else:
        save_with_handle(collection, stem_of(collection.title, FALLBACK_HANDLE))
    _finish(collection, parts, actor=actor, at=at)
    record_event("collections/create", collection, actor=actor, at=at)
    return collection


@transaction.atomic
def update_collection(
    collection: Collection, attrs: Attrs, parts: CollectionParts, *, actor: str, at: datetime
) -> Collection:
    """Change a collection; products that the body does not name stay in it.

    Raises:
        Gone: It was deleted meanwhile.
        ProductNotFound: A product that is to be put in does not exist.
    """
    row = lock_collection(collection.pk)
    changes = assign(row, attrs)
    columns = [*changes, *(NO_PICTURE if _set_picture(row, parts, at) else ())]
    filled = _finish(row, parts, actor=actor, at=at)
    if not row.handle:
        save_with_handle(row, stem_of(row.title, FALLBACK_HANDLE), update_fields=[*columns, "handle"])
    elif columns or filled:
        row.save(update_fields=columns)
    else:
        return row
    record_event("collections/update", row, actor=actor, at=at, changes=changes)
    return row


def _set_picture(collection: Collection, parts: CollectionParts, at: datetime) -> bool:
    """Put the picture on the row or take it off; returns whether it did."""
    if parts.picture is None and not (parts.drops_picture and collection.image_key):
        return False
    delete_later(collection.shop_id, [collection.image_key])
    values: dict[str, object] = dict(NO_PICTURE)
    if picture := parts.picture:
        picture.kept = True
        values |= {"image_key": picture.key, "image_name": picture.name, "image_alt": collection.image_alt}
        values |= {"image_width": picture.width, "image_height": picture.height, "image_created_at": at}
    for name, value in values.items():
        setattr(collection, name, value)
    return True


def _finish(collection: Collection, parts: CollectionParts, *, actor: str, at: datetime) -> bool:
    """Put products in and set metafields; returns whether anything changed."""
    placed = bool(parts.placements) and collects.place(collection, parts.placements, at=at)
    return bool(metafields.set_many(collection, parts.metafields, actor=actor, at=at)) or placed


@transaction.atomic
def delete_collection(collection: Collection, *, actor: str, at: datetime) -> None:
    """Delete a collection and its picture; the products stay.

    Raises:
        Gone: It was deleted meanwhile.
    """
    row = lock_collection(collection.pk)
    record_event("collections/delete", row, actor=actor, at=at)
    delete_later(row.shop_id, [row.image_key])
    row.delete()


@transaction.atomic
def set_order(
    collection: Collection,
    *,
    sort_order: str | None = None,
    product_ids: Sequence[int] = (),
    actor: str,
    at: datetime,
) -> None:
    """Say how a collection is sorted and, for an order by hand, which products come first.

    Raises:
        Gone: It was deleted meanwhile.
        UnknownProducts: A product is not in the collection.
    """
    row = lock_collection(collection.pk)
    changes = assign(row, {} if sort_order is None else {"sort_order": sort_order})
    moved = bool(product_ids) and _order_by_hand(row, list(dict.fromkeys(product_ids)))
    if changes or moved:
        row.save(update_fields=["sort_order"])
        record_event("collections/update", row, actor=actor, at=at, changes=changes)


def _order_by_hand(collection: Collection, product_ids: list[int]) -> bool:
    """Put products first; returns whether that moved any."""
    if products_of(collection).filter(pk__in=product_ids).count() != len(product_ids):
        raise UnknownProducts("are not all in the collection")
    if not collection.is_smart:
        return collects.reorder(collection, product_ids)
    places = ManualPlace.objects.filter(collection=collection)
    if list(places.order_by("position").values_list("product_id", flat=True)) == product_ids:
        return False
    places.delete()
    ManualPlace.objects.bulk_create(
        ManualPlace(shop_id=collection.shop_id, collection=collection, product_id=product_id, position=position)
        for position, product_id in enumerate(product_ids, start=1)
    )
    return True


def open_with_frontpage(shop: Shop, at: datetime) -> None:
    """Give a new shop the collection of its home page. Rule: spec part A, CustomCollection."""
    CustomCollection.objects.create(
        shop=shop,
        kind=Collection.Kind.CUSTOM,
        title="Home page",
        handle="frontpage",
        created_at=at,
        published_at=at,
    )
