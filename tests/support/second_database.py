"""Select the tests that CI runs a second time, on PostgreSQL.

The first run, on SQLite, executes the whole suite. The second run (``--second-database``) executes tests of code that
can behave differently on PostgreSQL: locks and races, query plans, search, migrations, constraints, sums of amounts,
counters, and code with different SQL for each database. Every route of the API and every page of the panel is requested
once. A test is in the second run if

- the test has a marker from ``MARKERS``, or
- the test uses the database, and the test, its file or its folder is listed in ``PATHS``.

If code depends on the database, add a test of the code to ``PATHS_BY_REASON``, or mark the test with
``both_databases``. The second run fails if it has not executed a function that depends on the database
(``tests/support/databases/database_code.py``). Other tests find the same on every database: calculations, validation,
HTML, messages, permissions. ``DATABASE_URL=postgres://… make test`` runs the whole suite on PostgreSQL.
"""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MARKERS = ("both_databases", "deadlocks", "own_sessions", "postgres", "race")
# The folders, files and tests below tests/ that can behave differently on another database, by reason.
PATHS_BY_REASON = {
    "versions are counted by the database; with Redis as the cache": "api/test_conditional.py",
    "comparison of timestamps with microseconds": "api/test_dates.py",
    "unique keys inside a transaction that goes on; filters and aggregates": """
        api/test_idempotency.py catalog/test_products.py
    """,
    "server-side cursors": "api/test_large_pages.py",
    "keyset conditions, NULLs in the order of rows": """
        api/test_filtered_pages.py api/test_paging.py panel/test_activity.py
    """,
    "clock of the database": "panel/test_missing_workers.py",
    "with Redis as the cache": "api/test_throttling.py shops/test_cache_away.py",
    "dump, restore and move rows with the tools of each database": "backups",
    "leases and claims": """
        bulk_edits/test_bulk_edits.py jobs orders/test_export_parts.py orders/test_import_kills.py
        refunds/test_kills.py store_imports/test_panel.py
        webhooks/engine/test_claims.py webhooks/test_copies.py webhooks/test_delivery.py
        webhooks/engine/test_rate_limits.py webhooks/test_queues.py webhooks/test_update_events.py
    """,
    "counters and positions": "catalog/test_collections.py",
    "comparisons and conditions as SQL": """
        catalog/test_rules.py panel/test_typed_filters.py query/test_query_database.py
    """,
    "decimals and numbers at the limits of their columns": """
        catalog/test_presentment_prices.py orders/test_extreme_values.py orders/test_round_trip.py
        imports_exports/test_exported_orders.py imports_exports/test_order_histories.py
    """,
    "locks": """
        catalog/test_races.py content/test_assets.py::test_unused_contents_are_cleared content/test_races.py
        customers/test_races.py imports_exports/test_inventory_files.py imports_exports/test_metafield_files.py
        fulfillment/test_pulls.py::test_requested_stock_is_set
        fulfillment/test_fulfillment_orders.py fulfillment/test_fulfillments.py fulfillment/test_races.py
        fulfillment/test_order_changes.py fulfillment/test_service_stock.py orders/test_races.py
        payments/test_races.py refunds/test_gateways.py refunds/test_races.py shops/test_purchases.py
        test_lock_order.py test_concurrent_changes.py
    """,
    "counters and sums of documents": "documents",
    "balances of gift cards": "gift_cards",
    "totals and completion of draft orders": "draft_orders",
    "limits of discount codes": "discounts",
    "server-side cursors, and comparison of stored terms with files": "panel/test_discount_files.py",
    "forms of the panel that lock rows": """
        panel/test_bulk_edits.py::test_rows_found_by_a_list_are_edited
        panel/test_bulk_edits.py::test_variants_of_one_product_are_changed_independently
        panel/test_edit_conflicts.py::test_concurrently_reordered_images_keep_their_order
        panel/test_edit_conflicts.py::test_saving_a_product_keeps_an_apps_changes_to_variants
        panel/test_fulfillment_forms.py::test_one_fulfillment_takes_several_orders
        panel/test_inventory.py::test_the_grid_keeps_oversold_cells_until_they_are_counted
        panel/test_inventory.py::test_the_grid_saves_all_or_nothing
        panel/test_order_editing.py::test_the_second_editor_sees_a_conflict_and_overwrites_only_on_request
        panel/test_refunds.py::test_a_refund_is_worked_out_looked_at_and_made_once
        panel/test_settings.py::test_the_currency_stays_once_there_are_orders
        panel/test_variant_grid.py::test_a_count_does_not_overwrite_a_concurrent_stock_change
    """,
    "columns maintained by triggers; collation, NULLs in the order of rows": """
        catalog/test_sorting.py customers/test_search_table.py
    """,
    "filters and order on many rows": "catalog/test_scale.py",
    "constraints and unique keys": """
        catalog/test_variants.py content/test_articles.py
        content/test_comments.py content/test_mobile_platform_applications.py content/test_pages.py
        content/test_redirects.py content/test_script_tags.py content/test_themes.py
        catalog/test_listings.py shops/test_feedback.py shops/test_marketing.py shops/test_credits.py
        api/test_deprecated_calls.py
        customers/test_addresses_api.py customers/test_consents.py customers/test_customers_api.py
        fulfillment/test_services.py metafields/test_api.py shops/test_shop_countries.py payments/test_redemption.py
        webhooks/test_disabled_subscriptions.py webhooks/test_subscriptions.py
    """,
    "one whole installation: server, dispatcher and worker on one database": "client/test_fulfillment.py",
    "where the database keeps deleted text": "customers/test_erasure.py",
    "updates of many tables in one transaction": "customers/test_merge.py",
    "JSON columns": "customers/test_personal_data.py orders/test_events.py",
    "query plans": """
        customers/test_plans.py orders/test_plans.py panel/test_filtered_pagination.py panel/test_search.py
        refunds/test_tax_plans.py orders/test_tender_transactions.py
        panel/test_fulfillment_queue_plans.py panel/test_suggestions.py
    """,
    "full-text search": """
        customers/test_search.py
        panel/test_lists.py::test_search_finds_pages_and_rows
        panel/test_lists.py::test_search_keeps_to_the_shop_and_forgets_at_once
        panel/test_lists.py::test_search_knows_the_case_of_every_script
    """,
    "values that only PostgreSQL refuses": "panel/test_lists.py::test_strange_questions_are_answered_except_a_nul",
    "bulk inserts with conflicts, savepoints, server-side cursors": """
        imports_exports orders/test_exchange.py orders/test_import_batches.py orders/test_imports.py
        panel/test_content_files.py
        store_imports/test_import_store.py::test_an_import_killed_at_any_request_loses_and_doubles_nothing
        store_imports/test_import_store.py::test_a_failure_while_a_page_is_saved_saves_nothing_of_the_page
        store_imports/test_orders.py
    """,
    "outages, locks, kills and restarts of the database": "faults",
    "aggregates and counters": """
        fulfillment/test_histories.py fulfillment/test_routing.py panel/test_deletion.py
        panel/test_home.py::test_large_numbers_are_not_counted
        panel/test_home.py::test_the_list_says_how_much_of_what_waits
        panel/test_lists.py::test_lists_never_count_a_whole_table
        startup/test_monitoring.py webhooks/test_metrics.py
    """,
    "stock counters, row locks and the ledger": "inventory",
    "generic references without foreign keys": "metafields/test_owners.py",
    "sums of money": """
        model
        orders/test_editing.py orders/test_histories.py orders/test_orders.py orders/test_transactions.py
        panel/test_discount_report.py panel/test_refund_report.py panel/test_sales.py panel/test_sales_report.py
        panel/test_tax_report.py
        refunds/test_refunds.py refunds/test_tax_lines.py refunds/test_tax_repair.py refunds/test_tax_report.py
        refunds/test_golden_rest.py::test_random_splits_add_up_through_rest
    """,
    "the nightly checks' SQL": "orders/test_repair_candidates.py fulfillment/test_stock_model.py",
    "triggers that protect the trail": "panel/test_audit_trail.py",
    "batches of updates": "panel/test_erasure.py",
    "a column computed by the database": "panel/test_low_stock.py",
    "order and filters of the work list": """
        panel/test_fulfillment_queue.py::test_views_filters_and_search_narrow_it
        panel/test_fulfillment_queue.py::test_work_that_is_due_first_is_listed_first
    """,
    "batches of notifications, marks that only move forward": "notifications",
    "number of queries": "performance/test_costs.py performance/test_largest_bodies.py",
    "sequences; bulk inserts of every column type": "shops/test_rows.py",
    "catalog of the server": "test_distribution.py",
    "migrations": "test_migrations.py",
    "a database that is away": "test_readiness.py",
    "traces of statements": "startup/test_traces.py::test_traces_contain_no_personal_data",
    "a database written by the last release": "upgrades",
}
PATHS = [path for paths in PATHS_BY_REASON.values() for path in paths.split()]


_MARKER = re.compile(rf"mark\.({'|'.join(MARKERS)})\b")


def may_hold_tests(path: Path) -> bool:
    """Return False for test files without any test of the second run, so that pytest does not import them."""
    if not path.name.startswith("test_") or path.is_dir():
        return True
    files = {listed.partition("::")[0] for listed in PATHS}
    relative = path.relative_to(TESTS)
    is_listed = any(str(part) in files for part in (relative, *relative.parents))
    return is_listed or _MARKER.search(path.read_text()) is not None


def is_in_second_run(item: pytest.Item) -> bool:
    # The first run tests every broker. A broker does not depend on the database, so one broker is enough here.
    if "[filesystem" in item.name or "[rabbitmq" in item.name:
        return False
    if any(item.get_closest_marker(name) for name in MARKERS):
        return True
    path = item.path.relative_to(TESTS)
    test = f"{path}::{item.name.partition('[')[0]}"
    is_listed = any(str(part) in PATHS for part in (test, path, *path.parents))
    return is_listed and uses_database(item) and item.get_closest_marker("browser") is None


def uses_database(item: pytest.Item) -> bool:
    """Return True if the test uses the database. pytest-django blocks database access in all other tests."""
    names = set(getattr(item, "fixturenames", ()))
    return bool(names & {"db", "transactional_db", "live_server"}) or item.get_closest_marker("django_db") is not None
