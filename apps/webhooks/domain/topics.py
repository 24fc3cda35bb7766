"""The topics that existing API clients know, including topics that Backoffice does not support.

If a topic in the catalog is not registered, Backoffice does not have the feature. If a registered topic is not in the
catalog, the topic is an extension.
"""

from collections.abc import Collection, Mapping

from apps.core.events.topics import AudienceCheck, Topic, get_all_topics, topics

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


# Privacy topics that the law requires. Only a configuration file can subscribe to these topics.
SHOP_REDACT = "shop/redact"
COMPLIANCE_TOPICS = frozenset({"customers/data_request", "customers/redact", SHOP_REDACT})
# Topics that an app still receives after it was uninstalled.
TOPICS_AFTER_UNINSTALL = COMPLIANCE_TOPICS | {"app/uninstalled"}
# Topics about an app installation. Only the installed app receives these events.
INSTALLATION_TOPICS = frozenset({"app/uninstalled", "app/scopes_update", SHOP_REDACT})


def get_offered_topics() -> tuple[Topic, ...]:
    """Return all topics that an app can subscribe to through the API, sorted by name."""
    return tuple(topic for topic in get_all_topics() if topic.is_subscribable and topic.name not in COMPLIANCE_TOPICS)


def is_offered(name: str) -> bool:
    """Return True if an app can subscribe to the topic through the API."""
    return name in topics and name not in COMPLIANCE_TOPICS and topics[name].is_subscribable


def get_missing_scope(name: str, granted: Collection[str]) -> str:
    """Return the scope that an app lacks for a topic, or "" if the app may receive the topic."""
    topic = topics[name]
    return topic.scopes[0] if topic.scopes and not topic.is_readable_with(granted) else ""


def get_receive_check(name: str) -> AudienceCheck | None:
    """Return the function that decides which apps may receive an event, or None if the scope is enough."""
    return topics[name].is_allowed


def keeps_every_event(name: str) -> bool:
    """Return True if all events of a topic are sent, even if one action causes several for the same resource."""
    return topics[name].is_cumulative


def get_payload_schema(name: str, version: str) -> Mapping[str, object] | None:
    """Return the JSON schema of a topic's payload in an API version, or None if the schema is unknown."""
    shape = topics[name].get_schema
    return None if shape is None else shape(version)
