"""Tests that inventory changes use heap-only updates in the most frequently updated tables, on PostgreSQL."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.utils import timezone

from apps.catalog.domain import inventory_sync
from apps.ground.tenancy import shop_scope
from apps.inventory.models import Location
from apps.shops.models import Shop
from tests.catalog.factories import make_product
from tests.conftest import ApiClient

TABLES = ("catalog_product", "catalog_variant", "inventory_inventorylevel")
TIMES = 4


def count_updates() -> dict[str, tuple[int, int]]:
    """Return the number of updated rows and of heap-only updates in this transaction, by table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)"
            " FROM pg_class WHERE relname = ANY(%s)",
            [list(TABLES)],
        )
        return {name: (count, in_place) for name, count, in_place in cursor.fetchall()}


@pytest.mark.postgres
def test_movements_touch_no_index_of_what_they_change(
    api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop_scope(shop):
        item, location = make_product().variants.get().inventory_item_id, Location.objects.get().pk
    level = {"inventory_item_id": item, "location_id": location}
    assert api.post("inventory_levels/set.json", {**level, "available": 1}).status_code == 200
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(inventory_sync, "timezone", SimpleNamespace(now=lambda: tomorrow))
    before = count_updates()

    for _ in range(TIMES):
        assert api.post("inventory_levels/adjust.json", {**level, "available_adjustment": 1}).status_code == 200

    moved = {name: (count - before[name][0], hot - before[name][1]) for name, (count, hot) in count_updates().items()}
    assert moved == {
        "catalog_product": (TIMES, TIMES),
        "catalog_variant": (TIMES, TIMES),
        "inventory_inventorylevel": (TIMES, TIMES),
    }
