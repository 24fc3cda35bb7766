"""How much of each product was sold, which is what "best selling" goes by.

The counting belongs to the orders: they call ``count_units`` when an order is paid, and with negative numbers when
one is undone. Until something is sold, ties go by id.
"""

from collections.abc import Mapping

from django.db.models import F
from django.db.models.functions import Greatest

from apps.catalog.models import Product


def count_units(units: Mapping[int, int]) -> None:
    """Add units sold, by product id, in the transaction of the sale; nothing that a product shows changes by it."""
    for product_id in sorted(units):
        if units[product_id]:
            Product.objects.filter(pk=product_id).update(
                units_sold=Greatest(F("units_sold") + units[product_id], 0),
                updated_at=F("updated_at"),
                version=F("version"),
            )
