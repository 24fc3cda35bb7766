"""Update the inventory quantities of variants in the same transaction as the inventory change.

Products are locked first, in id order, as in all other catalog changes.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial, reduce
from operator import or_

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from apps.catalog.domain.notifications.stock_updates import report_products
from apps.catalog.domain.options import COLUMNS
from apps.catalog.models import Product, Variant
from apps.core.db.compiled_queries import CompiledQuery, bind_ids, get_any_operator
from apps.core.db.lookups import MIN_TRIGRAM_LENGTH, in_materialized
from apps.core.db.prepared_sql import StatementCall
from apps.core.db.statement_batches import StatementBatch, collect_statements, should_change_together
from apps.core.events.recording import EventInput, has_audience, record_secondary_events
from apps.core.models import create_version
from apps.core.tenancy.scope import get_current_shop

_PRODUCTS: CompiledQuery[tuple[int]] = CompiledQuery(
    lambda items: (
        Product.objects.select_for_update(no_key=True)
        .filter(pk__among=Variant.objects.filter(inventory_item_id__any=items).values("product_id"))
        .order_by("pk")
        .values_list("pk")
    ),
    list,
)
# ``shop_id + 0`` prevents the use of indexes that begin with the shop, see ``UnindexedExact``.
_TOUCH = (
    "UPDATE catalog_product SET updated_at = CASE WHEN updated_at >= %s THEN updated_at ELSE %s END, version = %s "
    "WHERE shop_id + 0 = %s AND id {}"
)
_ADD = (
    "UPDATE catalog_variant SET inventory_quantity = inventory_quantity + %s, updated_at = %s "
    "WHERE shop_id + 0 = %s AND inventory_item_id = %s"
)
_ADD_TOGETHER = """
UPDATE catalog_variant SET inventory_quantity = inventory_quantity + delta, updated_at = %s
FROM unnest(%s::bigint[], %s::bigint[]) AS c (item, delta)
WHERE shop_id + 0 = %s AND inventory_item_id = item
"""
# The maximum number of products that a search for a common title word includes.
MAX_SEARCHED_PRODUCTS = 1_000
# The maximum number of words that a search uses.
MAX_WORDS = 8
_TITLES = ("title_key", "product__title_key")
IN_STOCK, OUT_OF_STOCK = "variants/in_stock", "variants/out_of_stock"


def sync_inventory_quantities(deltas: Mapping[int, int], *, batch: StatementBatch, actor: str, at: datetime) -> None:
    """Add the changes of the available quantity, keyed by item id, to the variants. Update their products' versions."""
    _touch_products(sorted(deltas), batch)
    shop_id, now = get_current_shop().pk, connection.ops.adapt_datetimefield_value(timezone.now())
    if should_change_together(len(deltas)):
        batch.add(StatementCall(_ADD_TOGETHER, [now, list(deltas), list(deltas.values()), shop_id]))
    else:
        for item_id in sorted(deltas):
            batch.add(StatementCall(_ADD, [deltas[item_id], now, shop_id, item_id]))
    if has_audience(IN_STOCK) or has_audience(OUT_OF_STOCK):
        batch.add_callback(partial(_record_stock_changes, deltas, actor=actor, at=at))
    report_products(sorted(deltas), batch, actor=actor, at=at)


def _touch_products(item_ids: Sequence[int], batch: StatementBatch) -> None:
    """Lock the products of these items and update their versions and timestamps.

    Timestamps are rendered and compared in whole seconds, so a timestamp in the current second is not updated. The
    update then changes no index, and concurrent stock changes of a product block each other for a shorter time.
    """
    if len(item_ids) > 1:
        # Lock the rows first, because an UPDATE of several rows locks them in no particular order.
        batch.add(_PRODUCTS.build_call(item_ids))
    now, shop_id = timezone.now(), get_current_shop().pk
    second, moment = (connection.ops.adapt_datetimefield_value(value) for value in (now.replace(microsecond=0), now))
    keys = f"(SELECT product_id FROM catalog_variant WHERE inventory_item_id {get_any_operator()})"  # noqa: S608
    # On PostgreSQL, the array ensures that the products are found by their ids, as for the lookup ``among``.
    condition = f"= ANY(ARRAY{keys})" if connection.vendor == "postgresql" else f"IN {keys}"
    batch.add(StatementCall(_TOUCH.format(condition), [second, moment, create_version(), shop_id, bind_ids(item_ids)]))


def _record_stock_changes(deltas: Mapping[int, int], *, actor: str, at: datetime) -> None:
    """Record events for tracked variants that sold out, or came back in stock, across all locations."""
    counted = Variant.objects.filter(inventory_item_id__in=list(deltas), inventory_item__tracked=True).order_by("pk")
    events = []
    for variant in counted.select_related("product"):
        before = variant.inventory_quantity - deltas[variant.inventory_item_id]
        if (before > 0) != (variant.inventory_quantity > 0):
            events.append(EventInput(IN_STOCK if variant.inventory_quantity > 0 else OUT_OF_STOCK, variant))
    record_secondary_events(events, actor=actor, at=at)


def touch_products_of_items(item_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    """Update the versions of the products of these items, for example after a SKU changed, and tell apps."""
    Product.objects.filter(pk__in=[pk for (pk,) in _PRODUCTS.fetch(list(item_ids))]).update()
    with collect_statements() as batch:
        report_products(item_ids, batch, actor=actor, at=at)


def get_variant_item_names(item_ids: Sequence[int]) -> dict[int, str]:
    """Return the name of each item: the product title, followed by the variant title if the product has options."""
    columns = ("inventory_item", "product", "title", *COLUMNS, "product__title")
    rows = Variant.objects.filter(inventory_item_id__in=list(item_ids)).select_related("product").only(*columns)
    return {row.inventory_item_id: row.full_name for row in rows}


def find_variant_items(term: str, most: int) -> list[Q]:
    """Return conditions that find items by product title, by exact variant barcode or by several words.

    If too many titles match, only the newest products are found. A term that is too short for the trigram index only
    matches the beginning of a title.
    """
    part = "contains" if len(term) >= MIN_TRIGRAM_LENGTH else "startswith"
    products = Product.objects.filter(**{f"title_key__{part}": term}).order_by("-pk")
    titled = products.values("pk")[: min(most, MAX_SEARCHED_PRODUCTS)]
    return [in_materialized(titled, "variant__product"), *find_barcode_items(term, most), *_find_by_words(term, most)]


def _find_by_words(term: str, most: int) -> list[Q]:
    """Return a condition that finds items by several words: each in the product title, variant title or SKU.

    At least one of the words that are long enough for the trigram index must be in the product title.
    """
    words = term.split()[:MAX_WORDS]
    titles = [Q(title_key__contains=word) for word in words if len(word) >= MIN_TRIGRAM_LENGTH]
    if len(words) < 2 or not titles:
        return []
    products = Product.objects.filter(reduce(or_, titles)).order_by("-pk").values("pk")[:MAX_SEARCHED_PRODUCTS]
    variants = Variant.objects.filter(in_materialized(products, "product"), *map(_match_word, words))
    return [in_materialized(variants.order_by("-pk").values("inventory_item_id")[:most])]


def _match_word(word: str) -> Q:
    """Return a condition for one word of a search. Words of one or two letters only match the beginning of a word."""
    sku = Q(inventory_item__sku__istartswith=word)
    if len(word) >= MIN_TRIGRAM_LENGTH:
        return sku | Q(title_key__contains=word) | Q(product__title_key__contains=word)
    titles = [Q(**{f"{title}__startswith": word}) | Q(**{f"{title}__contains": f" {word}"}) for title in _TITLES]
    return reduce(or_, titles, sku)


def find_barcode_items(code: str, most: int) -> list[Q]:
    """Return a condition that finds items by exact variant barcode."""
    coded = Variant.objects.filter(barcode=code).order_by().values("inventory_item_id")[:most]
    return [in_materialized(coded)]
