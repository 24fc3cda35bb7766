"""Check that every inventory level equals the sum of its inventory changes."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

from apps.inventory.models import InventoryLevel, StockMovement


@dataclass(frozen=True, slots=True)
class Difference:
    shop_id: int
    item_id: int
    location_id: int
    available: int
    ledger: int

    def __str__(self) -> str:
        return (
            f"Shop {self.shop_id}, item {self.item_id} at location {self.location_id}: "
            f"{self.available} available, {self.ledger} according to the ledger"
        )


# The query reads both tables once. A level without inventory changes must be 0. Inventory changes without a level must
# add up to 0, because disconnecting an item also records an inventory change that removes the remaining quantity.
_SQL = f"""
SELECT shop_id, item_id, location_id, SUM(available), SUM(delta)
FROM (
    SELECT shop_id, item_id, location_id, available, 0 AS delta FROM {InventoryLevel._meta.db_table}
    UNION ALL
    SELECT shop_id, item_id, location_id, 0, delta FROM {StockMovement._meta.db_table}
) AS books
GROUP BY shop_id, item_id, location_id
HAVING SUM(available) <> SUM(delta)
ORDER BY shop_id, item_id, location_id
"""  # noqa: S608 - the names of our own tables


def find_differences() -> Iterator[Difference]:
    """Yield the differences in all shops. A single query reads all data, so concurrent changes cause no differences."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL)
        for row in cursor.fetchall():
            yield Difference(*map(int, row))
