"""Select the tests of ``make test-quick``: the main flows of each app, and checks of the code's structure and texts.

The selection takes about three minutes on two cores, a sixth of the suite. It leaves out tests that start processes or
browsers, that try every route or page, that race, or that need many rows.
"""

from pathlib import Path

TESTS = Path(__file__).parents[1]
PATHS_BY_SUBJECT = {
    "structure and texts": """
        test_architecture.py test_messages.py test_prose.py test_quick_run.py test_race_controls.py
        test_registry.py test_reliability_page.py test_second_database.py
    """,
    "installation": """
        startup/test_addresses.py startup/test_containers.py startup/test_installation.py startup/test_settings.py
    """,
    "REST and GraphQL": """
        api/test_access.py api/test_conditional.py api/test_idempotency.py api/test_openapi.py api/test_paging.py
        api/test_reference.py api/test_throttling.py api/test_unchanged.py graphql query/test_query_parser.py
    """,
    "panel": """
        panel/test_customers.py panel/test_inventory.py panel/test_login.py panel/test_markup.py panel/test_orders.py
        panel/test_products.py panel/test_registrations.py panel/test_templates.py
    """,
    "shops and apps": "shops/test_commands.py shops/test_oauth.py shops/test_purchases.py",
    "catalog and inventory": """
        catalog/test_collections.py catalog/test_products.py catalog/test_variants.py inventory/test_levels_api.py
        inventory/test_locations.py inventory/test_stock.py metafields/test_api.py
    """,
    "content": "content/test_articles.py content/test_script_tags.py content/test_themes.py media/test_names.py",
    "customers": "customers/test_addresses_api.py customers/test_customers_api.py",
    "orders": "orders/test_editing.py orders/test_imports.py orders/test_orders.py orders/test_transactions.py",
    "fulfillment, refunds, payments": """
        draft_orders/test_draft_orders.py draft_orders/test_completion.py
        discounts/test_calculation.py discounts/test_codes.py discounts/test_price_rules.py discounts/test_uses.py
        gift_cards/test_gift_cards.py gift_cards/test_ledger.py gift_cards/test_payments.py
        fulfillment/test_fulfillment_orders.py fulfillment/test_fulfillments.py fulfillment/test_routing.py
        payments/test_payment_handlers.py payments/test_profile.py refunds/test_duties.py refunds/test_refunds.py
    """,
    "background work": """
        bulk_edits imports_exports jobs/test_jobs.py webhooks/test_subscriptions.py webhooks/test_topics.py
    """,
}
PATHS = [path for paths in PATHS_BY_SUBJECT.values() for path in paths.split()]


def is_in_quick_run(path: Path) -> bool:
    """Return True for a selected file, for files in a selected folder, and for folders that contain one."""
    relative = path.relative_to(TESTS)
    is_selected = any(str(part) in PATHS for part in (relative, *relative.parents))
    return is_selected or any(relative in Path(selected).parents for selected in PATHS)
