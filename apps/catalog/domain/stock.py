"""What the catalog shows of the stock, kept in step with it in the transaction of the movement.

Products are locked first and in the order of their ids, as in every other change of the catalog.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from apps.catalog.domain.options import COLUMNS
from apps.catalog.models import Product, Variant
from apps.events.domain.recording import Happening, is_heard, record_aspects
from apps.ground.batches import Batch
from apps.ground.lookups import SHORTEST_PART, among
from apps.ground.rows import fresh_version
from apps.ground.sql import Call
from apps.ground.statements import Statement, any_of, bind_ids
from apps.ground.tenancy import current_shop

_PRODUCTS: Statement[tuple[int]] = Statement(
    lambda items: (
        Product.objects.select_for_update(no_key=True)
        .filter(pk__in=Variant.objects.filter(inventory_item_id__any=items).values("product_id"))
        .order_by("pk")
        .values_list("pk")
    ),
    list,
)
_TOUCH = (
    "UPDATE catalog_product SET updated_at = CASE WHEN updated_at >= %s THEN updated_at ELSE %s END, version = %s "
    "WHERE shop_id = %s AND id IN (SELECT product_id FROM catalog_variant WHERE inventory_item_id {})"
)
_ADD = (
    "UPDATE catalog_variant SET inventory_quantity = inventory_quantity + %s, updated_at = %s "
    "WHERE shop_id = %s AND inventory_item_id = %s"
)
# Of products with a frequent word in their titles the items of so many are found.
FOLLOWED = 1_000
IN_STOCK, OUT_OF_STOCK = "variants/in_stock", "variants/out_of_stock"


def follow_stock(deltas: Mapping[int, int], *, batch: Batch, actor: str, at: datetime) -> None:
    """Add to the quantities of the variants whose items moved, by item id; their products' versions move."""
    _touch(sorted(deltas), batch)
    shop_id, now = current_shop().pk, connection.ops.adapt_datetimefield_value(timezone.now())
    for item_id in sorted(deltas):
        batch.add(Call(_ADD, [deltas[item_id], now, shop_id, item_id]))
    if is_heard(IN_STOCK) or is_heard(OUT_OF_STOCK):
        batch.then(partial(_tell_turns, deltas, actor=actor, at=at))


def _touch(item_ids: Sequence[int], batch: Batch) -> None:
    """Hold the products that show these items, move their versions, and say when.

    Moments are shown and compared in whole seconds. Where the second is the one that the row has already, the row's
    moment stays: then no index learns of the change, and writers of one product's stock cost each other less.
    """
    if len(item_ids) > 1:
        # An UPDATE of several would hold them in no order.
        batch.add(_PRODUCTS.call(item_ids))
    now, shop_id = timezone.now(), current_shop().pk
    second, moment = (connection.ops.adapt_datetimefield_value(each) for each in (now.replace(microsecond=0), now))
    ids = bind_ids(item_ids)
    batch.add(Call(_TOUCH.format(any_of()), [second, moment, fresh_version(), shop_id, ids]))


def _tell_turns(deltas: Mapping[int, int], *, actor: str, at: datetime) -> None:
    """Tell which variants came into stock and which ran out, by the sum of all locations; untracked ones never do."""
    counted = Variant.objects.filter(inventory_item_id__in=list(deltas), inventory_item__tracked=True).order_by("pk")
    turns = []
    for variant in counted.select_related("product"):
        before = variant.inventory_quantity - deltas[variant.inventory_item_id]
        if (before > 0) != (variant.inventory_quantity > 0):
            turns.append(Happening(IN_STOCK if variant.inventory_quantity > 0 else OUT_OF_STOCK, variant))
    record_aspects(turns, actor=actor, at=at)


def follow_items(item_ids: Sequence[int]) -> None:
    """Move the versions of the products that show these items, e.g. their SKUs."""
    Product.objects.filter(pk__in=_lock_products(item_ids)).update()


def _lock_products(item_ids: Iterable[int]) -> list[int]:
    return [pk for (pk,) in _PRODUCTS.fetch(list(item_ids))]


def names_of_items(item_ids: Sequence[int]) -> dict[int, str]:
    """What staff call items: the product, and the variant where it has more than one form."""
    columns = ("inventory_item", "product", "title", *COLUMNS, "product__title")
    rows = Variant.objects.filter(inventory_item_id__in=list(item_ids)).select_related("product").only(*columns)
    return {row.inventory_item_id: row.full_name for row in rows}


def matching_items(term: str, most: int) -> list[Q]:
    """The items of products whose title has a word, the newest of these, or of variants with a barcode.

    Of fewer letters than an index of parts knows, the titles that begin with them.
    """
    part = "contains" if len(term) >= SHORTEST_PART else "startswith"
    titled = Product.objects.filter(**{f"title_key__{part}": term}).order_by("-pk").values("pk")[: min(most, FOLLOWED)]
    coded = Variant.objects.filter(barcode=term).order_by().values("inventory_item_id")[:most]
    return [among(titled, "variant__product"), among(coded)]
