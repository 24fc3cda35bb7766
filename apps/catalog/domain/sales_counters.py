"""Count the units sold per product, for the best-selling sort order.

The orders app calls ``add_units_sold`` when an order is paid, and with negative numbers when a paid order is deleted.
Products with equal sales are sorted by id.
"""

from collections.abc import Iterable, Mapping

from apps.catalog.models import Product
from apps.core.db.prepared_sql import execute_many
from apps.core.tenancy.scope import get_current_shop


def lock_sold_products(product_ids: Iterable[int]) -> None:
    """Lock all products of a sale together, in id order.

    Otherwise, the stock change would lock only some of the products. The others would be locked later, when their sales
    are counted, and could cause a deadlock.
    """
    products = Product.objects.select_for_update(no_key=True).filter(pk__in=set(product_ids)).order_by("pk")
    list(products.values_list("pk", flat=True))


def add_units_sold(units: Mapping[int, int]) -> None:
    """Add the units sold, keyed by product id. Negative numbers subtract units. Product versions do not change."""
    shop_id = get_current_shop().pk
    execute_many(
        "UPDATE catalog_product SET units_sold = CASE WHEN units_sold + %s > 0 THEN units_sold + %s ELSE 0 END "
        "WHERE shop_id = %s AND id = %s",
        [(units[pk], units[pk], shop_id, pk) for pk in sorted(units) if units[pk]],
    )
