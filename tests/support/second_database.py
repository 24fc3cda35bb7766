"""Select the tests that CI runs a second time, on PostgreSQL.

The first run, on SQLite, executes the whole suite. The second run (``--second-database``) executes tests of code that
can behave differently on PostgreSQL: locks and races, query plans, search, migrations, constraints, sums of amounts,
counters, and code with different SQL for each database. A test is in the second run if

- the test has a marker from ``MARKERS``, or
- the test uses the database, and the test's file or folder is listed in ``PATHS``.

If code depends on the database, add the test file to ``PATHS``, or mark single tests with ``both_databases``.
``DATABASE_URL=postgres://… make test`` runs the whole suite on PostgreSQL.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MARKERS = ("both_databases", "deadlocks", "own_sessions", "postgres", "race")
# For each path below tests/, the reason why the tests can behave differently on another database.
PATHS = {
    "api/test_conditional.py": "versions are counted by the database; with Redis as the cache",
    "api/test_dates.py": "comparison of timestamps with microseconds",
    "api/test_idempotency.py": "unique keys inside a transaction that goes on",
    "api/test_large_pages.py": "server-side cursors",
    "api/test_filtered_pages.py": "keyset conditions, NULLs in the order of rows",
    "api/test_paging.py": "keyset conditions, NULLs in the order of rows",
    "api/test_throttling.py": "with Redis as the cache",
    "backups": "dump, restore and move rows with the tools of each database",
    "bulk_edits/test_bulk_edits.py": "leases and row locks",
    "catalog/test_collections.py": "counters and positions",
    "catalog/test_rules.py": "comparison without regard to case; conditions of smart collections as SQL",
    "catalog/test_products.py": "unique keys inside a transaction that goes on; filters and aggregates",
    "catalog/test_presentment_prices.py": "decimals",
    "catalog/test_races.py": "row locks",
    "catalog/test_sorting.py": "columns maintained by triggers; collation, NULLs in the order of rows",
    "catalog/test_scale.py": "filters and order on many rows",
    "catalog/test_variants.py": "constraints, positions",
    "client/test_fulfillment.py": "one whole installation: server, dispatcher and worker on one database",
    "content/test_articles.py": "constraints, unique handles",
    "content/test_blogs.py": "constraints",
    "content/test_killed_workers.py": "leases",
    "content/test_mobile_platform_applications.py": "constraints",
    "content/test_races.py": "row locks",
    "content/test_script_tags.py": "constraints",
    "content/test_themes.py": "constraints, partial unique index",
    "customers/test_addresses_api.py": "constraints, one default address",
    "customers/test_consents.py": "constraints",
    "customers/test_customers_api.py": "constraints, unique email and phone",
    "customers/test_erasure.py": "where the database keeps deleted text",
    "customers/test_merge.py": "updates of many tables in one transaction",
    "customers/test_personal_data.py": "JSON columns",
    "customers/test_plans.py": "query plans",
    "customers/test_races.py": "row locks and unique keys",
    "customers/test_search.py": "full-text search",
    "customers/test_search_table.py": "columns maintained by triggers",
    "imports_exports": "bulk inserts with conflicts",
    "faults": "outages, locks, kills and restarts of the database",
    "fulfillment/test_fulfillment_orders.py": "row locks and counters of open units",
    "fulfillment/test_fulfillments.py": "row locks and counters of open units",
    "fulfillment/test_histories.py": "counters of units",
    "fulfillment/test_races.py": "row locks",
    "fulfillment/test_routing.py": "aggregates over stock",
    "fulfillment/test_services.py": "constraints",
    "fulfillment/test_order_changes.py": "row locks and counters of open units",
    "inventory": "stock counters, row locks and the ledger",
    "jobs": "leases, turns and heartbeats",
    "metafields/test_api.py": "constraints",
    "metafields/test_owners.py": "generic references without foreign keys",
    "orders/test_editing.py": "sums of money",
    "orders/test_repair_candidates.py": "the nightly checks' SQL",
    "orders/test_duties.py": "sums of money",
    "orders/test_events.py": "filters on JSON columns",
    "orders/test_exchange.py": "bulk inserts, server-side cursors",
    "orders/test_export_parts.py": "leases, server-side cursors",
    "orders/test_extreme_values.py": "numbers at the limits of their columns",
    "orders/test_histories.py": "sums of money and counters",
    "orders/test_import_batches.py": "bulk inserts with conflicts, savepoints",
    "orders/test_import_kills.py": "leases",
    "orders/test_imports.py": "bulk inserts with conflicts, savepoints",
    "orders/test_order_batches.py": "bulk inserts",
    "orders/test_orders.py": "numbers of orders, constraints, sums of money",
    "orders/test_plans.py": "query plans",
    "orders/test_races.py": "row locks",
    "orders/test_round_trip.py": "numbers and text as they were stored",
    "orders/test_transactions.py": "sums of money",
    "panel/test_audit_trail.py": "triggers that protect the trail",
    "panel/test_bulk_edits.py": "row locks and bulk updates",
    "panel/test_deletion.py": "counts of related rows",
    "panel/test_erasure.py": "batches of updates",
    "panel/test_filtered_pagination.py": "query plans of filtered lists",
    "panel/test_fulfillment_forms.py": "forms that write under row locks",
    "panel/test_home.py": "counts of what waits",
    "panel/test_lists.py": "search and counts of lists",
    "panel/test_low_stock.py": "a column computed by the database",
    "panel/test_edit_conflicts.py": "optimistic locks",
    "panel/test_single_use_forms.py": "unique keys and row locks",
    "panel/test_order_editing.py": "forms that write under row locks",
    "panel/test_variant_grid.py": "forms that write under row locks",
    "panel/test_refund_report.py": "sums of money by day in the shop's time zone",
    "panel/test_refunds.py": "forms that write under row locks",
    "panel/test_sales.py": "sums of money by day in the shop's time zone",
    "panel/test_sales_report.py": "sums of money by day in the shop's time zone",
    "panel/test_search.py": "full-text search and query plans",
    "panel/test_inventory.py": "row locks on stock",
    "panel/test_typed_filters.py": "casts of what was typed",
    "panel/test_fulfillment_queue.py": "order and filters of the work list",
    "panel/test_fulfillment_queue_plans.py": "query plans",
    "payments/test_races.py": "row locks",
    "payments/test_redemption.py": "unique keys",
    "performance/test_costs.py": "number of queries",
    "performance/test_largest_bodies.py": "number of queries",
    "query/test_query_database.py": "conditions as SQL",
    "refunds/test_calculation.py": "sums of money",
    "refunds/test_duties.py": "sums of money",
    "refunds/test_gateways.py": "row locks, leases",
    "refunds/test_golden_rest.py": "sums of money",
    "refunds/test_kills.py": "leases",
    "refunds/test_races.py": "row locks",
    "refunds/test_refunds.py": "sums of money and counters; number of queries",
    "shops/test_cache_away.py": "with Redis as the cache",
    "shops/test_rows.py": "sequences; bulk inserts of every column type",
    "shops/test_purchases.py": "row locks",
    "startup/test_monitoring.py": "figures that the database keeps of itself",
    "test_distribution.py": "catalog of the server",
    "test_lock_order.py": "order of row locks",
    "test_migrations.py": "migrations",
    "test_concurrent_changes.py": "row locks",
    "test_readiness.py": "a database that is away",
    "upgrades": "a database written by the last release",
    "webhooks/test_claims.py": "claims and leases of deliveries",
    "webhooks/test_delivery.py": "claims and leases of deliveries",
    "webhooks/test_metrics.py": "aggregates over deliveries",
    "webhooks/test_rate_limits.py": "claims of several dispatchers",
    "webhooks/test_queues.py": "claims and leases of deliveries",
    "webhooks/test_subscriptions.py": "unique keys, filters on JSON columns",
}


def is_in_second_run(item: pytest.Item) -> bool:
    """Return True if the test is in the second run."""
    if any(item.get_closest_marker(name) for name in MARKERS):
        return True
    path = item.path.relative_to(TESTS)
    is_listed = any(str(part) in PATHS for part in (path, *path.parents))
    return is_listed and uses_database(item) and item.get_closest_marker("browser") is None


def uses_database(item: pytest.Item) -> bool:
    """Return True if the test uses the database. pytest-django blocks database access in all other tests."""
    names = set(getattr(item, "fixturenames", ()))
    return bool(names & {"db", "transactional_db", "live_server"}) or item.get_closest_marker("django_db") is not None
