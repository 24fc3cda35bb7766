"""Subscriptions as GraphQL shows them.

Rule: design, Webhooks (GraphQL), with what each version has.
"""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Union

import strawberry

from apps.graphql import registry
from apps.graphql.connections import Page, PageInfo
from apps.graphql.ids import LegacyInteroperability, Node, global_id
from apps.graphql.info import Info
from apps.graphql.root import ApiVersion, api_version
from apps.graphql.scalars import ARN, URL, UnsignedInt64
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.topics import offered_topics
from apps.webhooks.models import Subscription

KIND = "WebhookSubscription"
SINCE_URI = "2025-10"
BY_URI = registry.deprecated(SINCE_URI, "Use `uri` instead.")


def _constant(topic: str) -> str:
    """``PRODUCTS_UPDATE`` for ``products/update``."""
    return topic.replace("/", "_").replace(".", "_").upper()


# By the constants of GraphQL, the topics of REST; every app has registered its own by now.
_TOPICS: Any = {
    _constant(topic.name): strawberry.enum_value(topic.name, description=f"{topic.label}: `{topic.name}`.")
    for topic in offered_topics()
}
_make: Any = Enum
WebhookSubscriptionTopic: Any = strawberry.enum(
    _make("WebhookSubscriptionTopic", _TOPICS), description="What an app can be told of."
)


@strawberry.enum(description="How payloads are written.")
class WebhookSubscriptionFormat(Enum):
    """How payloads are written."""

    JSON = "json"
    XML = "xml"


@strawberry.enum(description="By what a list of subscriptions is sorted.")
class WebhookSubscriptionSortKeys(Enum):
    """Sort keys, as orderings."""

    CREATED_AT = "created_at"
    ID = "id"


@strawberry.type(description="A metafield that goes along with a payload.")
class WebhookSubscriptionMetafieldIdentifier:
    """A metafield by its names."""

    namespace: str
    key: str


@strawberry.type(description="Deliveries by HTTPS.")
class WebhookHttpEndpoint:
    """A web server."""

    callback_url: URL


@strawberry.type(description="Deliveries to Amazon EventBridge.")
class WebhookEventBridgeEndpoint:
    """An event source of Amazon EventBridge."""

    arn: ARN


@strawberry.type(description="Deliveries to Google Cloud Pub/Sub.")
class WebhookPubSubEndpoint:
    """A topic of Google Cloud Pub/Sub."""

    pub_sub_project: str
    pub_sub_topic: str


Endpoint = Annotated[
    Union[WebhookHttpEndpoint, WebhookEventBridgeEndpoint, WebhookPubSubEndpoint],  # noqa: UP007
    strawberry.union("WebhookSubscriptionEndpoint", description="Where deliveries go."),
]


@strawberry.type(name=KIND, description="A wish of the calling app to be told of a topic.")
class WebhookSubscriptionType(LegacyInteroperability, Node):
    """A subscription that the calling app made for the shop."""

    row: strawberry.Private[Subscription]

    topic: WebhookSubscriptionTopic
    format: WebhookSubscriptionFormat
    filter: str | None
    include_fields: list[str]
    metafield_namespaces: list[str]
    created_at: datetime
    updated_at: datetime
    uri: str = strawberry.field(metadata=registry.gated(since=SINCE_URI))
    name: str | None = strawberry.field(metadata=registry.gated(since="2026-04"))

    @strawberry.field(metadata=registry.gated(since="2025-01"))
    def metafields(self) -> list[WebhookSubscriptionMetafieldIdentifier]:
        """The metafields that go along."""
        return [WebhookSubscriptionMetafieldIdentifier(**each) for each in self.row.metafields]

    @strawberry.field
    def api_version(self) -> ApiVersion:
        """The version in which payloads are written."""
        return api_version(self.row.api_version)

    @strawberry.field(metadata=BY_URI)
    def callback_url(self) -> URL:
        """Where deliveries go."""
        return URL(self.row.uri)

    @strawberry.field(metadata=BY_URI)
    def endpoint(self) -> Endpoint:
        """Where deliveries go."""
        return _endpoint(self.row.uri)

    @strawberry.field(deprecation_reason="Metafields are private no more.")
    def private_metafield_namespaces(self) -> list[str]:
        """As they were given."""
        return list(self.row.private_metafield_namespaces)


@strawberry.type(description="A subscription and its place in a list.")
class WebhookSubscriptionEdge:
    """A row of a list."""

    cursor: str
    node: WebhookSubscriptionType


@strawberry.type(description="A page of subscriptions.")
class WebhookSubscriptionConnection:
    """A page of subscriptions."""

    edges: list[WebhookSubscriptionEdge]
    nodes: list[WebhookSubscriptionType]
    page_info: PageInfo


def shown(row: Subscription) -> WebhookSubscriptionType:
    """A subscription as GraphQL shows it."""
    return WebhookSubscriptionType(
        id=global_id(KIND, row.pk),
        legacy_resource_id=UnsignedInt64(row.pk),
        row=row,
        topic=WebhookSubscriptionTopic(row.topic),
        format=WebhookSubscriptionFormat(row.format),
        filter=row.filter or None,
        include_fields=row.include_fields,
        metafield_namespaces=row.metafield_namespaces,
        created_at=row.created_at,
        updated_at=row.updated_at,
        uri=row.uri,
        name=row.name,
    )


def connection_of(page: Page[Subscription]) -> WebhookSubscriptionConnection:
    """A page as GraphQL shows it."""
    nodes = [shown(row) for row in page.rows]
    edges = [
        WebhookSubscriptionEdge(cursor=cursor, node=node) for cursor, node in zip(page.cursors, nodes, strict=True)
    ]
    return WebhookSubscriptionConnection(edges=edges, nodes=nodes, page_info=page.info)


def find(info: Info, number: int | None) -> Subscription | None:
    """A subscription that the caller made; None where there is none of that number."""
    if number is None:
        return None
    caller = info.context
    return subscriptions.subscriptions_of(caller.shop, caller.access.installation.app_id).filter(pk=number).first()


def _endpoint(uri: str) -> WebhookHttpEndpoint | WebhookEventBridgeEndpoint | WebhookPubSubEndpoint:
    if uri.startswith("arn:"):
        return WebhookEventBridgeEndpoint(arn=ARN(uri))
    if uri.startswith("pubsub://"):
        project, _, topic = uri.removeprefix("pubsub://").partition(":")
        return WebhookPubSubEndpoint(pub_sub_project=project, pub_sub_topic=topic)
    return WebhookHttpEndpoint(callback_url=URL(uri))


def _find_shown(info: Info, number: int) -> WebhookSubscriptionType | None:
    row = find(info, number)
    return None if row is None else shown(row)


registry.node(KIND, WebhookSubscriptionType, _find_shown)
