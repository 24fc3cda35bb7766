"""Find the products of a collection in sort order, and the smart collections of a product.

Every sort order is a tuple of columns that ends with a unique column, as keyset pagination requires.
"""

from collections.abc import Iterable

from django.db.models import BooleanField, Case, F, FilteredRelation, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from apps.catalog.domain.collections.smart_rules import build_rule_condition
from apps.catalog.models import Collection, Product, SmartCollection

SortOrder = Collection.SortOrder
# The position of products without a manual position. It is the maximum of the column, so these products come last. A
# larger number must not be used: in a comparison with the column, a database may raise an error or match no rows.
LAST_POSITION = 2**31 - 1
_CHUNK_SIZE = 50

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


def get_collection_products(collection: Collection) -> QuerySet[Product, Product]:
    rows: QuerySet[Product, Product] = Product.objects.all()
    if collection.is_smart:
        return rows.filter(build_rule_condition(collection.rules, disjunctive=collection.disjunctive))
    return rows.filter(collects__collection_id=collection.pk)


def annotate_sort_values(
    products: QuerySet[Product, Product], collection: Collection, order: tuple[str, ...]
) -> QuerySet[Product, Product]:
    """Annotate products with the values that a sort order in ``ORDERS`` needs. The caller sorts the products."""
    name = order[0].lstrip("-")
    if name == "alpha":
        return products.annotate(alpha=F("title_key"))
    if name != "place":
        return products
    if not collection.is_smart:
        return products.annotate(place=F("collects__position"))
    manual_places = FilteredRelation("places", condition=Q(places__collection=collection.pk))
    return products.annotate(own_place=manual_places).annotate(
        place=Coalesce(F("own_place__position"), Value(LAST_POSITION))
    )


def find_smart_collections(product_id: int) -> list[int]:
    collections = SmartCollection.objects.order_by("pk").only("pk", "rules", "disjunctive")
    matches: list[int] = []
    for chunk in _split_into_chunks(list(collections)):
        row = (
            Product.objects.filter(pk=product_id)
            .annotate(**{f"in_{collection.pk}": _match_expression(collection) for collection in chunk})
            .values_list(*(f"in_{collection.pk}" for collection in chunk))
            .first()
        )
        matches += [collection.pk for collection, fits in zip(chunk, row or (), strict=False) if fits]
    return matches


def _match_expression(collection: Collection) -> Case:
    rules = build_rule_condition(collection.rules, disjunctive=collection.disjunctive)
    return Case(When(rules, then=Value(True)), default=Value(False), output_field=BooleanField())


def _split_into_chunks(collections: list[SmartCollection]) -> Iterable[list[SmartCollection]]:
    """Split collections into chunks, because databases limit the number of columns per query."""
    return (collections[start : start + _CHUNK_SIZE] for start in range(0, len(collections), _CHUNK_SIZE))
