"""How much of each product was sold, which is what "best selling" goes by.

The counting belongs to the orders: they call ``count_units`` when an order is paid, and with negative numbers when
one is undone. Until something is sold, ties go by id.
"""

from collections.abc import Iterable, Mapping

from apps.catalog.models import Product
from apps.ground.sql import execute_each
from apps.ground.tenancy import current_shop


def hold_products(product_ids: Iterable[int]) -> None:
    """Hold products whose sales will be counted, before those among them that stock is taken of are."""
    held = Product.objects.select_for_update(no_key=True).filter(pk__in=set(product_ids)).order_by("pk")
    list(held.values_list("pk", flat=True))


def count_units(units: Mapping[int, int]) -> None:
    """Add units sold, by product id, in the transaction of the sale; nothing that a product shows changes by it."""
    shop_id = current_shop().pk
    execute_each(
        "UPDATE catalog_product SET units_sold = CASE WHEN units_sold + %s > 0 THEN units_sold + %s ELSE 0 END "
        "WHERE shop_id = %s AND id = %s",
        [(units[pk], units[pk], shop_id, pk) for pk in sorted(units) if units[pk]],
    )
