"""The topics that existing API clients know, including topics that Backoffice does not support.

If a topic in the catalog is not registered, Backoffice does not have the feature. If a registered topic is not in the
catalog, the topic is an extension.
"""

from collections.abc import Collection, Mapping

from apps.core.events.topics import Topic, get_all_topics, topics
from apps.core.tenancy.models import Installation
from apps.webhooks.domain.errors import TopicScopeMissing

# The topic families (the parts before the slash), each with the possible parts after the slash.
_FAMILIES = """
app: uninstalled scopes_update
app_purchases_one_time: update
app_subscriptions: update approaching_capped_amount
bulk_operations: finish
carts: create update
checkouts: create update delete
collections: create update delete
collection_listings: add remove update
collection_publications: create update delete
customers: create update delete enable disable merge purchasing_summary data_request redact
customer_groups: create update delete
customers_email_marketing_consent: update
customers_marketing_consent: update
customers_whats_app_marketing_consent: update
customer_account_settings: update
customer_payment_methods: create update revoke
draft_orders: create update delete
domains: create update destroy
fulfillments: create update
fulfillment_events: create delete
fulfillment_holds: added released
fulfillment_orders: order_routing_complete fulfillment_request_submitted fulfillment_request_accepted
fulfillment_orders: fulfillment_request_rejected cancellation_request_submitted cancellation_request_accepted
fulfillment_orders: cancellation_request_rejected cancelled placed_on_hold hold_released moved split merged
fulfillment_orders: rescheduled scheduled_fulfillment_order_ready fulfillment_service_failed_to_complete
fulfillment_orders: line_items_prepared_for_local_delivery line_items_prepared_for_pickup progress_reported
fulfillment_orders: manually_reported_progress_stopped
inventory_items: create update delete
inventory_levels: connect update disconnect
locations: create update delete activate deactivate
locales: create update destroy
metafield_definitions: create update delete
metaobjects: create update delete
orders: create updated delete cancelled edited fulfilled partially_fulfilled paid risk_assessment_changed
orders: link_requested
order_transactions: create
products: create update delete
product_listings: add remove update
product_publications: create update delete
profiles: create update delete
refunds: create
returns: request approve decline update cancel close reopen process
shop: update redact
tender_transactions: create
themes: create update delete publish
variants: in_stock out_of_stock
""".strip()
_DOTTED = ("customer.tags_added", "customer.tags_removed", "customer.joined_segment", "customer.left_segment")
CATALOG = frozenset(_DOTTED) | {
    f"{family}/{verb}"
    for family, verbs in (line.split(": ") for line in _FAMILIES.splitlines())
    for verb in verbs.split()
}

# Privacy topics that the law requires. Only a configuration file can subscribe to these topics.
SHOP_REDACT = "shop/redact"
COMPLIANCE_TOPICS = frozenset({"customers/data_request", "customers/redact", SHOP_REDACT})
# Topics that an app still receives after it was uninstalled.
TOPICS_AFTER_UNINSTALL = COMPLIANCE_TOPICS | {"app/uninstalled"}
# The families of topics about an app's own installation, charges and listings, which the shop's own app never has.
_APP_FAMILIES = frozenset(
    {"app", "app_purchases_one_time", "app_subscriptions", "product_listings", "collection_listings"}
)
# Topics about an app installation. Only the installed app receives these events.
INSTALLATION_TOPICS = frozenset({"app/uninstalled", "app/scopes_update", SHOP_REDACT})


def get_offered_topics() -> tuple[Topic, ...]:
    return tuple(topic for topic in get_all_topics() if is_offered(topic.name))


def is_offered(name: str) -> bool:
    return name in topics and name not in COMPLIANCE_TOPICS and topics[name].is_subscribable


def is_for_staff(name: str) -> bool:
    """Return True if staff can subscribe to a topic for the shop itself."""
    return is_offered(name) and name.partition("/")[0] not in _APP_FAMILIES


def get_missing_scope(name: str, granted: Collection[str]) -> str:
    """Return the scope that an app lacks for a topic, or "" if the app may receive the topic."""
    topic = topics[name]
    return topic.scopes[0] if topic.scopes and not topic.is_readable_with(granted) else ""


def require_topic_scope(installation: Installation, name: str) -> None:
    """Raise ``TopicScopeMissing`` if an app lacks the scope that a topic requires."""
    if scope := get_missing_scope(name, installation.all_scopes):
        raise TopicScopeMissing(scope)


def get_payload_schema(name: str, version: str) -> Mapping[str, object] | None:
    """Return the JSON schema of a topic's payload in an API version, or None if the schema is unknown."""
    shape = topics[name].get_schema
    return None if shape is None else shape(version)
