"""Collects: which products are in a custom collection, and at which place."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F

from apps.catalog.domain.locks import lock_collection
from apps.catalog.domain.places import arranged, renumber
from apps.catalog.models import Collect, Collection, CustomCollection, Product
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, MUST_EXIST

MAX_PLACEMENTS = 2500
_BATCH = 500


class ProductNotFound(DomainError):
    """The shop has no such product."""

    code = "product_not_found"
    field = "product_id"


class CollectionNotFound(DomainError):
    """The shop has no such custom collection."""

    code = "collection_not_found"
    field = "collection_id"


@dataclass(slots=True)
class Placement:
    """A product that a body puts into a collection, or a collect that it moves.

    Attributes:
        product_id: The product; None where ``id`` says which.
        position: Its place; None for the end, or for where it is.
        id: A collect that exists.
    """

    product_id: int | None = None
    position: int | None = None
    id: int | None = None


@transaction.atomic
def add_collect(*, collection_id: int, product_id: int, position: int | None, actor: str, at: datetime) -> Collect:
    """Put a product into a custom collection; its being there already is refused by the database.

    Raises:
        CollectionNotFound: There is no such custom collection.
        ProductNotFound: There is no such product.
    """
    if not CustomCollection.objects.filter(pk=collection_id).exists():
        raise CollectionNotFound(MUST_EXIST)
    collection = lock_collection(collection_id)
    _must_exist([product_id])
    made = _insert(collection, product_id, position, at=at)
    Collection.objects.filter(pk=collection.pk).update()
    record_event("collections/update", collection, actor=actor, at=at)
    return made


@transaction.atomic
def remove_collect(collect: Collect, *, actor: str, at: datetime) -> None:
    """Take a product out of a custom collection; those behind it move up."""
    collection = lock_collection(collect.collection_id)
    row = Collect.objects.filter(pk=collect.pk).first()
    if row is None:
        return
    row.delete()
    Collect.objects.filter(collection=collection, position__gt=row.position).update(position=F("position") - 1)
    Collection.objects.filter(pk=collection.pk).update()
    record_event("collections/update", collection, actor=actor, at=at)


def lock_collections_with(product_id: int) -> None:
    """Hold the custom collections that have a product, before the product itself is locked."""
    held = Collection.objects.select_for_update(of=("self",), no_key=True).filter(collects__product_id=product_id)
    list(held.order_by("pk").values_list("pk", flat=True))


def take_out(product: Product) -> None:
    """Take a product that goes out of all custom collections; those behind it move up. The caller holds all of them."""
    for row in Collect.objects.filter(product=product).order_by("collection_id"):
        row.delete()
        behind = Collect.objects.filter(collection_id=row.collection_id, position__gt=row.position)
        behind.update(position=F("position") - 1)
        Collection.objects.filter(pk=row.collection_id).update()


def place(collection: Collection, placements: Sequence[Placement], *, at: datetime) -> bool:
    """Put products in, or move those that are in; the caller holds the collection. Returns whether anything changed.

    Raises:
        ProductNotFound: A product does not exist.
    """
    _must_exist([item.product_id for item in placements if item.product_id is not None])
    rows = list(Collect.objects.filter(collection=collection).order_by("position", "id"))
    by_id = {row.pk: row for row in rows}
    asked: dict[int, tuple[Collect, int, int | None]] = {}
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
            asked[id(row)] = (row, item.position, row.position if row.pk else None)
    return _number(arranged(rows, asked.values()))


@transaction.atomic
def append(collection_id: int, product_ids: Sequence[int], *, actor: str, at: datetime) -> list[int]:
    """Put products at the end of a custom collection, in their order; returns those that were not in it.

    Raises:
        Gone: The collection was deleted meanwhile.
        ProductNotFound: A product does not exist.
    """
    collection = lock_collection(collection_id)
    _must_exist(product_ids)
    rows = Collect.objects.filter(collection=collection)
    present = set(rows.filter(product_id__in=product_ids).values_list("product_id", flat=True))
    new = [pk for pk in dict.fromkeys(product_ids) if pk not in present]
    if not new:
        return []
    last = rows.order_by("-position").values_list("position", flat=True).first() or 0
    Collect.objects.bulk_create(
        Collect(shop_id=collection.shop_id, collection=collection, product_id=pk, position=place, created_at=at)
        for place, pk in enumerate(new, last + 1)
    )
    Collection.objects.filter(pk=collection.pk).update()
    record_event("collections/update", collection, actor=actor, at=at)
    return new


def reorder(collection: Collection, product_ids: Sequence[int]) -> bool:
    """Put products first, in the order of a list; the others follow. The caller holds the collection.

    Returns:
        Whether anything changed.
    """
    rows = list(Collect.objects.filter(collection=collection).order_by("position", "id"))
    wanted = {product_id: place for place, product_id in enumerate(product_ids)}
    return _number(sorted(rows, key=lambda row: wanted.get(row.product_id, len(wanted))))


def _insert(collection: Collection, product_id: int, position: int | None, *, at: datetime) -> Collect:
    rows = Collect.objects.filter(collection=collection)
    last = rows.order_by("-position").values_list("position", flat=True).first() or 0
    place = last + 1 if position is None else min(max(position, 1), last + 1)
    rows.filter(position__gte=place).update(position=F("position") + 1)
    made: Collect = Collect.objects.create(
        shop_id=collection.shop_id, collection=collection, product_id=product_id, position=place, created_at=at
    )
    return made


def _number(rows: Sequence[Collect]) -> bool:
    moved, new = renumber(rows), [row for row in rows if row.pk is None]
    Collect.objects.bulk_update(moved, ["position"], batch_size=_BATCH)
    Collect.objects.bulk_create(new, batch_size=_BATCH)
    return bool(moved or new)


def _must_exist(product_ids: Sequence[int]) -> None:
    # Held, so that none of them goes before the collects are committed.
    held = Product.objects.select_for_update(no_key=True).filter(pk__in=product_ids).order_by("pk")
    if len(held.values_list("pk", flat=True)) != len(set(product_ids)):
        raise ProductNotFound(MUST_EXIST)
