"""The topics that existing API clients know, including topics that Backoffice does not support.

If a topic in the catalog is not registered, Backoffice does not have the feature. If a registered topic is not in the
catalog, the topic is an extension.
"""

from collections.abc import Mapping

_PLAIN = ("create", "update", "delete")
# Maps each topic family (the part before the slash) to the possible parts after the slash.
_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "app": ("uninstalled", "scopes_update"),
    "app_purchases_one_time": ("update",),
    "app_subscriptions": ("update", "approaching_capped_amount"),
    "bulk_operations": ("finish",),
    "carts": ("create", "update"),
    "checkouts": _PLAIN,
    "collections": _PLAIN,
    "collection_listings": ("add", "remove", "update"),
    "collection_publications": _PLAIN,
    "customers": (*_PLAIN, "enable", "disable", "merge", "purchasing_summary", "data_request", "redact"),
    "customer_groups": _PLAIN,
    "customers_email_marketing_consent": ("update",),
    "customers_marketing_consent": ("update",),
    "customers_whats_app_marketing_consent": ("update",),
    "customer_account_settings": ("update",),
    "customer_payment_methods": ("create", "update", "revoke"),
    "draft_orders": _PLAIN,
    "domains": ("create", "update", "destroy"),
    "fulfillments": ("create", "update"),
    "fulfillment_events": ("create", "delete"),
    "fulfillment_holds": ("added", "released"),
    "fulfillment_orders": (
        "order_routing_complete",
        "fulfillment_request_submitted",
        "fulfillment_request_accepted",
        "fulfillment_request_rejected",
        "cancellation_request_submitted",
        "cancellation_request_accepted",
        "cancellation_request_rejected",
        "cancelled",
        "placed_on_hold",
        "hold_released",
        "moved",
        "split",
        "merged",
        "rescheduled",
        "scheduled_fulfillment_order_ready",
        "fulfillment_service_failed_to_complete",
        "line_items_prepared_for_local_delivery",
        "line_items_prepared_for_pickup",
        "progress_reported",
        "manually_reported_progress_stopped",
    ),
    "inventory_items": _PLAIN,
    "inventory_levels": ("connect", "update", "disconnect"),
    "locations": (*_PLAIN, "activate", "deactivate"),
    "locales": ("create", "update", "destroy"),
    "metafield_definitions": _PLAIN,
    "metaobjects": _PLAIN,
    "orders": (
        "create",
        "updated",
        "delete",
        "cancelled",
        "edited",
        "fulfilled",
        "partially_fulfilled",
        "paid",
        "risk_assessment_changed",
        "link_requested",
    ),
    "order_transactions": ("create",),
    "products": _PLAIN,
    "product_listings": ("add", "remove", "update"),
    "product_publications": _PLAIN,
    "profiles": _PLAIN,
    "refunds": ("create",),
    "returns": ("request", "approve", "decline", "update", "cancel", "close", "reopen", "process"),
    "shop": ("update", "redact"),
    "tender_transactions": ("create",),
    "themes": (*_PLAIN, "publish"),
    "variants": ("in_stock", "out_of_stock"),
}
_DOTTED = ("customer.tags_added", "customer.tags_removed", "customer.joined_segment", "customer.left_segment")

CATALOG = frozenset({f"{family}/{verb}" for family, verbs in _FAMILIES.items() for verb in verbs} | {*_DOTTED})
