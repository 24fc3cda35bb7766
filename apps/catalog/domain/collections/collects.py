"""Add products to custom collections, remove them and change their positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, OuterRef, Subquery

from apps.catalog.domain.locks import lock_collection
from apps.catalog.domain.positions import arrange_rows, renumber_rows
from apps.catalog.models import Collect, Collection, CustomCollection, Product
from apps.core.events.recording import EventInput, record_event, record_events, record_secondary_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, MUST_EXIST

MAX_PLACEMENTS = 2500
_BATCH = 500


class ProductNotFound(DomainError):
    field = "product_id"


class CollectionNotFound(DomainError):
    field = "collection_id"


@dataclass(slots=True)
class Placement:
    """A product to add to a collection, or the ``id`` of a collect to move.

    Without a position, a new product is appended and an existing collect is not moved.
    """

    product_id: int | None = None
    position: int | None = None
    id: int | None = None


@transaction.atomic
def add_collect(*, collection_id: int, product_id: int, position: int | None, actor: str, at: datetime) -> Collect:
    """Add a product to a custom collection.

    Raises:
        CollectionNotFound: The custom collection does not exist.
        ProductNotFound: The product does not exist.
        IntegrityError: The product is already in the collection.
    """
    if not CustomCollection.objects.filter(pk=collection_id).exists():
        raise CollectionNotFound(MUST_EXIST)
    collection = lock_collection(collection_id)
    _lock_existing_products([product_id])
    rows = Collect.objects.filter(collection=collection)
    last = _get_last_position(collection)
    index = last + 1 if position is None else min(max(position, 1), last + 1)
    rows.filter(position__gte=index).update(position=F("position") + 1)
    collect: Collect = rows.create(
        shop_id=collection.shop_id, collection=collection, product_id=product_id, position=index, created_at=at
    )
    _touch_and_record(collection, actor=actor, at=at)
    return collect


@transaction.atomic
def remove_collect(collect: Collect, *, actor: str, at: datetime) -> None:
    collection = lock_collection(collect.collection_id)
    row = Collect.objects.filter(pk=collect.pk).first()
    if row is None:
        return
    _delete_collect(row)
    _touch_and_record(collection, actor=actor, at=at)


def lock_collections_of_product(product_id: int) -> list[int]:
    """Lock the custom collections of a product, and return their IDs. Must be called before the product is locked."""
    collections = Collection.objects.select_for_update(of=("self",), no_key=True).filter(
        collects__product_id=product_id
    )
    return list(collections.order_by("pk").values_list("pk", flat=True))


def append_to_collections(product: Product, collection_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    """Append a new product to custom collections that are locked."""
    last_positions = Collect.objects.filter(collection=OuterRef("pk")).order_by("-position").values("position")[:1]
    collections = Collection.objects.filter(pk__in=collection_ids).order_by("pk")
    rows = list(collections.annotate(last_position=Subquery(last_positions)))
    if not rows:
        return
    Collect.objects.bulk_create(
        Collect(
            shop_id=product.shop_id,
            collection=row,
            product=product,
            position=(row.last_position or 0) + 1,
            created_at=at,
        )
        for row in rows
    )
    Collection.objects.filter(pk__in=[row.pk for row in rows]).update()
    record_events([EventInput("collections/update", row) for row in rows], actor=actor, at=at)


def remove_from_all_collections(product: Product, *, actor: str, at: datetime) -> None:
    """Remove a product from all custom collections before it is deleted, and close the gaps in the positions.

    The caller must already have locked these collections.
    """
    events = []
    for row in Collect.objects.filter(product=product).select_related("collection").order_by("collection_id"):
        _delete_collect(row)
        Collection.objects.filter(pk=row.collection_id).update()
        events.append(EventInput("collections/update", row.collection))
    record_secondary_events(events, actor=actor, at=at)


def _delete_collect(row: Collect) -> None:
    row.delete()
    following = Collect.objects.filter(collection_id=row.collection_id, position__gt=row.position)
    following.update(position=F("position") - 1)


def save_placements(collection: Collection, placements: Sequence[Placement], *, at: datetime) -> bool:
    """Add or move products in a locked collection. Return True if anything changed.

    Raises:
        ProductNotFound: A product does not exist.
    """
    _lock_existing_products([item.product_id for item in placements if item.product_id is not None])
    rows = list(Collect.objects.filter(collection=collection).order_by("position", "id"))
    by_id = {row.pk: row for row in rows}
    requested: dict[int, tuple[Collect, int, int | None]] = {}
    by_product = {row.product_id: row for row in rows}
    for item in placements:
        row = by_id.get(item.id or 0) or by_product.get(item.product_id or 0)
        if row is None:
            if item.product_id is None:
                raise ProductNotFound(BLANK, field="collects")
            row = Collect(
                shop_id=collection.shop_id, collection=collection, product_id=item.product_id, position=0, created_at=at
            )
            by_product[item.product_id] = row
            rows.append(row)
        if item.position is not None:
            requested[id(row)] = (row, item.position, row.position if row.pk else None)
    return _save_positions(arrange_rows(rows, requested.values()))


@transaction.atomic
def append_products(collection_id: int, product_ids: Sequence[int], *, actor: str, at: datetime) -> list[int]:
    """Append products to a custom collection in the given order. Return the ids of the added products.

    Raises:
        RowDeleted: The collection has been deleted.
        ProductNotFound: A product does not exist.
    """
    collection = lock_collection(collection_id)
    _lock_existing_products(product_ids)
    rows = Collect.objects.filter(collection=collection)
    present = set(rows.filter(product_id__in=product_ids).values_list("product_id", flat=True))
    new = [pk for pk in dict.fromkeys(product_ids) if pk not in present]
    if not new:
        return []
    Collect.objects.bulk_create(
        Collect(shop_id=collection.shop_id, collection=collection, product_id=pk, position=position, created_at=at)
        for position, pk in enumerate(new, _get_last_position(collection) + 1)
    )
    _touch_and_record(collection, actor=actor, at=at)
    return new


def reorder_collects(collection: Collection, product_ids: Sequence[int]) -> bool:
    """Move the listed products to the front of a locked collection. Return True if anything changed."""
    rows = list(Collect.objects.filter(collection=collection).order_by("position", "id"))
    positions = {product_id: position for position, product_id in enumerate(product_ids)}
    return _save_positions(sorted(rows, key=lambda row: positions.get(row.product_id, len(positions))))


def _get_last_position(collection: Collection) -> int:
    rows = Collect.objects.filter(collection=collection).order_by("-position")
    return rows.values_list("position", flat=True).first() or 0


def _touch_and_record(collection: Collection, *, actor: str, at: datetime) -> None:
    Collection.objects.filter(pk=collection.pk).update()
    record_event("collections/update", collection, actor=actor, at=at)


def _save_positions(rows: Sequence[Collect]) -> bool:
    moved, new = renumber_rows(rows), [row for row in rows if row.pk is None]
    Collect.objects.bulk_update(moved, ["position"], batch_size=_BATCH)
    Collect.objects.bulk_create(new, batch_size=_BATCH)
    return bool(moved or new)


def _lock_existing_products(product_ids: Sequence[int]) -> None:
    # Lock the products, so that other transactions cannot delete them before the collects are committed.
    products = Product.objects.select_for_update(no_key=True).filter(pk__in=product_ids).order_by("pk")
    if len(products.values_list("pk", flat=True)) != len(set(product_ids)):
        raise ProductNotFound(MUST_EXIST)
