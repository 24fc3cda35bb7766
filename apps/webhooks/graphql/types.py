"""GraphQL types for webhook subscriptions."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Union

import strawberry

from apps.core.graphql import registry
from apps.core.graphql.schema import ApiVersion, build_api_version
from apps.core.graphql.types import (
    ARN,
    URL,
    Info,
    LegacyInteroperability,
    Node,
    Page,
    PageInfo,
    UnsignedInt64,
    build_global_id,
)
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.topics import get_offered_topics
from apps.webhooks.models import Delivery, Subscription

KIND, DELIVERY_KIND = "WebhookSubscription", "WebhookDelivery"
SINCE_URI = "2025-10"
BY_URI = registry.deprecation_metadata(SINCE_URI, "Use `uri` instead.")


def _constant(topic: str) -> str:
    """Return the GraphQL constant for a topic, e.g. ``PRODUCTS_UPDATE`` for ``products/update``."""
    return topic.replace("/", "_").replace(".", "_").upper()


# Maps GraphQL constants to topic names. Import this module only after all apps have registered their topics.
_TOPICS: Any = {
    _constant(topic.name): strawberry.enum_value(topic.name, description=f"{topic.label}: `{topic.name}`.")
    for topic in get_offered_topics()
}
_make: Any = Enum
WebhookSubscriptionTopic: Any = strawberry.enum(
    _make("WebhookSubscriptionTopic", _TOPICS), description="The topics that an app can subscribe to."
)


@strawberry.enum(description="The format of payloads.")
class WebhookSubscriptionFormat(Enum):
    JSON = "json"
    XML = "xml"


@strawberry.enum(description="Whether a subscription delivers events.")
class WebhookSubscriptionState(Enum):
    LIVE = "live"
    PAUSED = "paused"
    DISABLED = "disabled"


@strawberry.enum(description="The sort keys of subscription lists.")
class WebhookSubscriptionSortKeys(Enum):
    CREATED_AT = "created_at"
    ID = "id"


@strawberry.type(description="A metafield included in payloads.")
class WebhookSubscriptionMetafieldIdentifier:
    namespace: str
    key: str


@strawberry.type(description="Deliveries by HTTPS.")
class WebhookHttpEndpoint:
    callback_url: URL


@strawberry.type(description="Deliveries to Amazon EventBridge.")
class WebhookEventBridgeEndpoint:
    arn: ARN


@strawberry.type(description="Deliveries to Google Cloud Pub/Sub.")
class WebhookPubSubEndpoint:
    pub_sub_project: str
    pub_sub_topic: str


Endpoint = Annotated[
    Union[WebhookHttpEndpoint, WebhookEventBridgeEndpoint, WebhookPubSubEndpoint],  # noqa: UP007
    strawberry.union("WebhookSubscriptionEndpoint", description="The endpoint that receives deliveries."),
]


@strawberry.type(name=KIND, description="A subscription of the calling app to a topic.")
class WebhookSubscriptionType(LegacyInteroperability, Node):
    row: strawberry.Private[Subscription]

    topic: WebhookSubscriptionTopic
    format: WebhookSubscriptionFormat
    filter: str | None
    include_fields: list[str]
    metafield_namespaces: list[str]
    created_at: datetime
    updated_at: datetime
    state: WebhookSubscriptionState = strawberry.field(
        description="`LIVE`, `PAUSED` by staff, or `DISABLED` because deliveries failed. Events are held if not live."
    )
    state_reason: str | None = strawberry.field(description="Why the subscription is paused or disabled.")
    state_changed_at: datetime | None = strawberry.field(description="When the state changed last.")
    uri: str = strawberry.field(metadata=registry.version_metadata(since=SINCE_URI))
    name: str | None = strawberry.field(metadata=registry.version_metadata(since="2026-04"))

    @strawberry.field(metadata=registry.version_metadata(since="2025-01"))
    def metafields(self) -> list[WebhookSubscriptionMetafieldIdentifier]:
        return [WebhookSubscriptionMetafieldIdentifier(**metafield) for metafield in self.row.metafields]

    @strawberry.field
    def api_version(self) -> ApiVersion:
        return build_api_version(self.row.api_version)

    @strawberry.field(metadata=BY_URI)
    def callback_url(self) -> URL:
        return URL(self.row.uri)

    @strawberry.field(metadata=BY_URI)
    def endpoint(self) -> Endpoint:
        return _endpoint(self.row.uri)

    @strawberry.field(deprecation_reason="Private metafields no longer exist.")
    def private_metafield_namespaces(self) -> list[str]:
        """Return the private metafield namespaces as the app saved them. The namespaces have no effect."""
        return list(self.row.private_metafield_namespaces)


@strawberry.enum(description="The state of a delivery.")
class WebhookDeliveryState(Enum):
    DUE = "due"
    RETRY = "retry"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"
    HELD = "held"
    CANCELLED = "cancelled"


@strawberry.type(description="An attempt to send a delivery.")
class WebhookDeliveryAttempt:
    number: int
    status: int | None = strawberry.field(description="The status of the response, if there was one.")
    error: str | None
    started_at: datetime
    total_ms: int = strawberry.field(description="The duration in milliseconds.")


@strawberry.type(name=DELIVERY_KIND, description="A delivery of a subscription of the calling app.")
class WebhookDeliveryType(LegacyInteroperability, Node):
    row: strawberry.Private[Delivery]

    webhook_id: str = strawberry.field(description="The value of the Webhook-Id header.")
    event_id: str | None = strawberry.field(description="The value of the Event-Id header.")
    topic: str
    kind: str = strawberry.field(description="`event`, or `test` for a test delivery.")
    state: WebhookDeliveryState
    error: str | None = strawberry.field(description="The kind of the last failure.")
    redelivery: bool
    triggered_at: datetime
    finished_at: datetime | None
    next_attempt_at: datetime | None = strawberry.field(description="When the delivery is due, if it is waiting.")

    @strawberry.field
    def api_version(self) -> ApiVersion:
        return build_api_version(self.row.api_version)

    @strawberry.field(description="The attempts of the last seven days, in order.")
    def attempts(self) -> list[WebhookDeliveryAttempt]:
        return [
            WebhookDeliveryAttempt(
                number=attempt.number,
                status=attempt.status,
                error=attempt.error or None,
                started_at=attempt.created_at,
                total_ms=attempt.total_ms,
            )
            for attempt in self.row.log.order_by("number", "pk")
        ]


@strawberry.type(description="A subscription and its cursor.")
class WebhookSubscriptionEdge:
    cursor: str
    node: WebhookSubscriptionType


@strawberry.type(description="A page of subscriptions.")
class WebhookSubscriptionConnection:
    edges: list[WebhookSubscriptionEdge]
    nodes: list[WebhookSubscriptionType]
    page_info: PageInfo


def to_subscription_type(row: Subscription) -> WebhookSubscriptionType:
    return WebhookSubscriptionType(
        id=build_global_id(KIND, row.pk),
        legacy_resource_id=UnsignedInt64(row.pk),
        row=row,
        topic=WebhookSubscriptionTopic(row.topic),
        format=WebhookSubscriptionFormat(row.format),
        filter=row.filter or None,
        include_fields=row.include_fields,
        metafield_namespaces=row.metafield_namespaces,
        created_at=row.created_at,
        updated_at=row.updated_at,
        state=WebhookSubscriptionState(row.state),
        state_reason=str(row.reason) or None,
        state_changed_at=row.state_changed_at,
        uri=row.uri,
        name=row.name,
    )


def to_delivery_type(row: Delivery) -> WebhookDeliveryType:
    is_waiting = row.state in {Delivery.State.DUE, Delivery.State.RETRY}
    return WebhookDeliveryType(
        id=build_global_id(DELIVERY_KIND, row.pk),
        legacy_resource_id=UnsignedInt64(row.pk),
        row=row,
        webhook_id=str(row.key),
        event_id=str(row.event.group) if row.event and row.event.group else None,
        topic=row.topic,
        kind=row.kind,
        state=WebhookDeliveryState(row.state),
        error=row.error or None,
        redelivery=row.redelivery,
        triggered_at=row.triggered_at,
        finished_at=row.finished_at,
        next_attempt_at=row.next_at if is_waiting else None,
    )


def to_connection(page: Page[Subscription]) -> WebhookSubscriptionConnection:
    nodes = [to_subscription_type(row) for row in page.rows]
    edges = [
        WebhookSubscriptionEdge(cursor=cursor, node=node) for cursor, node in zip(page.cursors, nodes, strict=True)
    ]
    return WebhookSubscriptionConnection(edges=edges, nodes=nodes, page_info=page.info)


def find_subscription(info: Info, number: int | None) -> Subscription | None:
    """Return the subscription with this ID if the calling app created it, otherwise None."""
    if number is None:
        return None
    caller = info.context
    return subscriptions.get_api_subscriptions(caller.shop, caller.access.installation.app_id).filter(pk=number).first()


def find_delivery(info: Info, number: int | None) -> Delivery | None:
    """Return the delivery with this ID if the calling app created its subscription, otherwise None."""
    if number is None:
        return None
    caller = info.context
    own = subscriptions.get_api_subscriptions(caller.shop, caller.access.installation.app_id)
    rows = Delivery.objects.filter(subscription__in=own, pk=number).select_related("subscription", "event")
    return rows.defer("event__payload", "event__changes").first()


def _endpoint(uri: str) -> WebhookHttpEndpoint | WebhookEventBridgeEndpoint | WebhookPubSubEndpoint:
    if uri.startswith("arn:"):
        return WebhookEventBridgeEndpoint(arn=ARN(uri))
    if uri.startswith("pubsub://"):
        project, _, topic = uri.removeprefix("pubsub://").partition(":")
        return WebhookPubSubEndpoint(pub_sub_project=project, pub_sub_topic=topic)
    return WebhookHttpEndpoint(callback_url=URL(uri))


def _resolve_node(info: Info, number: int) -> WebhookSubscriptionType | None:
    row = find_subscription(info, number)
    return None if row is None else to_subscription_type(row)


def _resolve_delivery(info: Info, number: int) -> WebhookDeliveryType | None:
    row = find_delivery(info, number)
    return None if row is None else to_delivery_type(row)


registry.nodes.register(DELIVERY_KIND, registry.Node(WebhookDeliveryType, _resolve_delivery))
registry.nodes.register(KIND, registry.Node(WebhookSubscriptionType, _resolve_node))
