"""Which products a collection has, in which order, and which collections have a product.

Every order is a tuple of columns whose last is unique, so that pages are found by the values of a row.
"""

from collections.abc import Iterable

from django.db.models import BooleanField, Case, F, FilteredRelation, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from apps.catalog.domain.collections.smart_rules import condition
from apps.catalog.models import Collection, Product, SmartCollection

SortOrder = Collection.SortOrder
# Behind every place that is given; as large as the column allows, for beyond it nothing would be found.
LAST = 2**31 - 1
_CHUNK = 50

ORDERS: dict[str, tuple[str, ...]] = {
    SortOrder.ALPHA_ASC: ("alpha", "id"),
    SortOrder.ALPHA_DESC: ("-alpha", "id"),
    SortOrder.BEST_SELLING: ("-units_sold", "id"),
    SortOrder.CREATED: ("created_at", "id"),
    SortOrder.CREATED_DESC: ("-created_at", "id"),
    SortOrder.MANUAL: ("place", "id"),
    SortOrder.PRICE_ASC: ("lowest_price", "id"),
    SortOrder.PRICE_DESC: ("-lowest_price", "id"),
}


def products_of(collection: Collection) -> QuerySet[Product, Product]:
    """The products of a collection of either kind, in no order."""
    rows: QuerySet[Product, Product] = Product.objects.all()
    if collection.is_smart:
        return rows.filter(condition(collection.rules, disjunctive=collection.disjunctive))
    return rows.filter(collects__collection_id=collection.pk)


def with_order(
    products: QuerySet[Product, Product], collection: Collection, order: tuple[str, ...]
) -> QuerySet[Product, Product]:
    """The products with the values that an order of ``ORDERS`` sorts by; sorting itself is the pager's."""
    name = order[0].lstrip("-")
    if name == "alpha":
        return products.annotate(alpha=F("title_key"))
    if name != "place":
        return products
    if not collection.is_smart:
        return products.annotate(place=F("collects__position"))
    mine = FilteredRelation("places", condition=Q(places__collection=collection.pk))
    return products.annotate(own_place=mine).annotate(place=Coalesce(F("own_place__position"), Value(LAST)))


def smart_collections_with(product_id: int) -> list[int]:
    """The ids of the smart collections whose rules a product fits."""
    collections = SmartCollection.objects.order_by("pk").only("pk", "rules", "disjunctive")
    found: list[int] = []
    for chunk in _chunks(list(collections)):
        row = (
            Product.objects.filter(pk=product_id)
            .annotate(**{f"in_{collection.pk}": _fits(collection) for collection in chunk})
            .values_list(*(f"in_{collection.pk}" for collection in chunk))
            .first()
        )
        found += [collection.pk for collection, fits in zip(chunk, row or (), strict=False) if fits]
    return found


def _fits(collection: Collection) -> Case:
    rules = condition(collection.rules, disjunctive=collection.disjunctive)
    return Case(When(rules, then=Value(True)), default=Value(False), output_field=BooleanField())


def _chunks(collections: list[SmartCollection]) -> Iterable[list[SmartCollection]]:
    """A database takes only so many columns in one query."""
    return (collections[start : start + _CHUNK] for start in range(0, len(collections), _CHUNK))
