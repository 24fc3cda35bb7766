"""Measure the share of heap-only (HOT) updates in the large tables when inventory, orders or customers change."""

import json
from typing import TYPE_CHECKING, Any

from benchmarks.million.ids import ROOT

if TYPE_CHECKING:
    from django.test import Client

TABLES = ("catalog_product", "catalog_variant", "inventory_inventorylevel", "customers_customer", "orders_order")
TIMES = 100
# The number of updated rows and of heap-only updates, by type of write and table.
Shares = dict[str, dict[str, tuple[int, int]]]
MUST = 80


def measure_shares(client: "Client", ids: dict[str, int]) -> Shares:
    """Send writes and count updates. VACUUM runs first, because dead rows take space that heap-only updates need."""
    from django.db import connection

    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM (ANALYZE) {table}")
    results: Shares = {}
    for name, path, method, bodies in _kinds(ids):
        before = _counters()
        for body in bodies:
            response = client.generic(method, f"{ROOT}/{path}", json.dumps(body), content_type="application/json")
            if response.status_code >= 400:
                raise SystemExit(f"{name}: {response.status_code} {response.content[:300]!r}")
        after = _counters()
        results[name] = {
            table: (after[table][0] - before[table][0], after[table][1] - before[table][1])
            for table in TABLES
            if after[table][0] > before[table][0]
        }
    return results


def print_shares(shares: Shares) -> bool:
    """Print a table of the shares; return True if a share is below the goal."""
    print("\n| writes | table | updates | HOT updates | |\n|---|---|---|---|---|")
    short = False
    for name, tables in shares.items():
        for table, (updates, hot) in tables.items():
            share = 100 * hot / updates
            short = short or share < MUST
            print(f"| {name} | {table} | {updates} | {share:.0f} % | {'' if share >= MUST else f'below {MUST} %'} |")
    return short


def _kinds(ids: dict[str, int]) -> list[tuple[str, str, str, list[Any]]]:
    location, item, customer = ids["locations"], ids["inventory_items"], ids["customers"]

    def adjusted(item_id: int) -> dict[str, int]:
        return {"location_id": location, "inventory_item_id": item_id, "available_adjustment": 1}

    lines = [{"title": "Mug", "price": "10.00", "quantity": 1}]
    return [
        ("stock of one product", "inventory_levels/adjust.json", "POST", [adjusted(item)] * TIMES),
        (
            "stock of many products",
            "inventory_levels/adjust.json",
            "POST",
            [adjusted(item + 3 * number) for number in range(TIMES)],
        ),
        (
            "orders of one customer",
            "orders.json",
            "POST",
            [{"order": {"customer": {"id": customer}, "line_items": lines}}] * TIMES,
        ),
        (
            "consents of a customer",
            f"customers/{customer}.json",
            "PUT",
            [
                {"customer": {"id": customer, "email_marketing_consent": {"state": state}}}
                for state in ("subscribed", "unsubscribed") * (TIMES // 2)
            ],
        ),
        (
            "notes of a customer",
            f"customers/{customer}.json",
            "PUT",
            [{"customer": {"id": customer, "note": f"Visit {number}"}} for number in range(TIMES)],
        ),
        (
            "tags of a customer",
            f"customers/{customer}.json",
            "PUT",
            [{"customer": {"id": customer, "tags": f"visit-{number}"}} for number in range(TIMES)],
        ),
        (
            "names of a customer",
            f"customers/{customer}.json",
            "PUT",
            [{"customer": {"id": customer, "last_name": f"Hopper {number}"}} for number in range(TIMES)],
        ),
    ]


def _counters() -> dict[str, tuple[int, int]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = ANY(%s)", [list(TABLES)]
        )
        return {name: (updates, hot) for name, updates, hot in cursor.fetchall()}
