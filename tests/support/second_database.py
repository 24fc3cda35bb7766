"""Select the tests that CI runs a second time, on PostgreSQL.

The first run, on SQLite, executes the whole suite. The second run (``--second-database``) executes tests of code that
can behave differently on PostgreSQL: locks and races, query plans, search, migrations, constraints, sums of amounts,
counters, and code with different SQL for each database. A test is in the second run if

- the test has a marker from ``MARKERS``, or
- the test uses the database, and the test's file or folder is listed in ``PATHS``.

If code depends on the database, add the test file to ``PATHS_BY_REASON``, or mark single tests with ``both_databases``.
``DATABASE_URL=postgres://… make test`` runs the whole suite on PostgreSQL.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MARKERS = ("both_databases", "deadlocks", "own_sessions", "postgres", "race")
# The paths below tests/ with tests that can behave differently on another database, by reason.
PATHS_BY_REASON = {
    "versions are counted by the database; with Redis as the cache": "api/test_conditional.py",
    "comparison of timestamps with microseconds": "api/test_dates.py",
    "unique keys inside a transaction that goes on; filters and aggregates": """
        api/test_idempotency.py catalog/test_products.py
    """,
    "server-side cursors": "api/test_large_pages.py",
    "keyset conditions, NULLs in the order of rows": "api/test_filtered_pages.py api/test_paging.py",
    "with Redis as the cache": "api/test_throttling.py shops/test_cache_away.py",
    "dump, restore and move rows with the tools of each database": "backups",
    "leases and claims": """
        bulk_edits/test_bulk_edits.py jobs orders/test_export_parts.py orders/test_import_kills.py
        refunds/test_kills.py webhooks/engine/test_claims.py webhooks/test_delivery.py
        webhooks/engine/test_rate_limits.py webhooks/test_queues.py
    """,
    "counters and positions": "catalog/test_collections.py",
    "comparisons and conditions as SQL": """
        catalog/test_rules.py panel/test_typed_filters.py query/test_query_database.py
    """,
    "decimals and numbers at the limits of their columns": """
        catalog/test_presentment_prices.py orders/test_extreme_values.py orders/test_round_trip.py
    """,
    "locks": """
        catalog/test_races.py content/test_races.py customers/test_races.py
        fulfillment/test_fulfillment_orders.py fulfillment/test_fulfillments.py fulfillment/test_races.py
        fulfillment/test_order_changes.py orders/test_races.py panel/test_bulk_edits.py
        panel/test_fulfillment_forms.py panel/test_edit_conflicts.py panel/test_single_use_forms.py
        panel/test_order_editing.py panel/test_variant_grid.py panel/test_refunds.py panel/test_inventory.py
        payments/test_races.py refunds/test_gateways.py refunds/test_races.py shops/test_purchases.py
        test_lock_order.py test_concurrent_changes.py
    """,
    "columns maintained by triggers; collation, NULLs in the order of rows": """
        catalog/test_sorting.py customers/test_search_table.py
    """,
    "filters and order on many rows": "catalog/test_scale.py",
    "constraints and unique keys": """
        catalog/test_variants.py content/test_articles.py
        content/test_mobile_platform_applications.py content/test_script_tags.py content/test_themes.py
        customers/test_addresses_api.py customers/test_consents.py customers/test_customers_api.py
        fulfillment/test_services.py metafields/test_api.py payments/test_redemption.py
        webhooks/test_disabled_subscriptions.py webhooks/test_subscriptions.py
    """,
    "one whole installation: server, dispatcher and worker on one database": "client/test_fulfillment.py",
    "where the database keeps deleted text": "customers/test_erasure.py",
    "updates of many tables in one transaction": "customers/test_merge.py",
    "JSON columns": "customers/test_personal_data.py orders/test_events.py",
    "query plans": """
        customers/test_plans.py orders/test_plans.py panel/test_filtered_pagination.py panel/test_search.py
        panel/test_fulfillment_queue_plans.py
    """,
    "full-text search": "customers/test_search.py panel/test_lists.py",
    "bulk inserts with conflicts, savepoints, server-side cursors": """
        imports_exports orders/test_exchange.py orders/test_import_batches.py orders/test_imports.py
    """,
    "outages, locks, kills and restarts of the database": "faults",
    "aggregates and counters": """
        fulfillment/test_histories.py fulfillment/test_routing.py panel/test_deletion.py panel/test_home.py
        startup/test_monitoring.py webhooks/test_metrics.py
    """,
    "stock counters, row locks and the ledger": "inventory",
    "generic references without foreign keys": "metafields/test_owners.py",
    "sums of money": """
        orders/test_editing.py orders/test_duties.py orders/test_histories.py orders/test_orders.py
        orders/test_transactions.py panel/test_refund_report.py panel/test_sales.py panel/test_sales_report.py
        refunds/test_calculation.py refunds/test_duties.py refunds/test_golden_rest.py refunds/test_refunds.py
    """,
    "the nightly checks' SQL": "orders/test_repair_candidates.py",
    "triggers that protect the trail": "panel/test_audit_trail.py",
    "batches of updates": "panel/test_erasure.py",
    "a column computed by the database": "panel/test_low_stock.py",
    "order and filters of the work list": "panel/test_fulfillment_queue.py",
    "number of queries": "performance/test_costs.py performance/test_largest_bodies.py",
    "sequences; bulk inserts of every column type": "shops/test_rows.py",
    "catalog of the server": "test_distribution.py",
    "migrations": "test_migrations.py",
    "a database that is away": "test_readiness.py",
    "a database written by the last release": "upgrades",
}
PATHS = [path for paths in PATHS_BY_REASON.values() for path in paths.split()]


def is_in_second_run(item: pytest.Item) -> bool:
    # Installations on PostgreSQL have a broker on a server. The first run tests the embedded broker.
    if "[filesystem" in item.name:
        return False
    if any(item.get_closest_marker(name) for name in MARKERS):
        return True
    path = item.path.relative_to(TESTS)
    is_listed = any(str(part) in PATHS for part in (path, *path.parents))
    return is_listed and uses_database(item) and item.get_closest_marker("browser") is None


def uses_database(item: pytest.Item) -> bool:
    """Return True if the test uses the database. pytest-django blocks database access in all other tests."""
    names = set(getattr(item, "fixturenames", ()))
    return bool(names & {"db", "transactional_db", "live_server"}) or item.get_closest_marker("django_db") is not None
