"""The input and payload types of the webhook mutations."""

from enum import Enum

import strawberry

from apps.core.graphql import registry
from apps.core.graphql.types import ARN, URL
from apps.webhooks.graphql.types import (
    BY_URI,
    SINCE_URI,
    WebhookDeliveryType,
    WebhookSubscriptionFormat,
    WebhookSubscriptionType,
)


@strawberry.input(description="A metafield included in payloads.")
class HasMetafieldsMetafieldIdentifierInput:
    namespace: str
    key: str


@strawberry.input
class _SubscriptionFields:
    format: WebhookSubscriptionFormat | None = strawberry.UNSET
    filter: str | None = strawberry.UNSET
    include_fields: list[str] | None = strawberry.UNSET
    metafield_namespaces: list[str] | None = strawberry.UNSET
    metafields: list[HasMetafieldsMetafieldIdentifierInput] | None = strawberry.field(
        default=strawberry.UNSET, metadata=registry.version_metadata(since="2025-01")
    )
    name: str | None = strawberry.field(default=strawberry.UNSET, metadata=registry.version_metadata(since="2026-04"))


@strawberry.input(description="The values of a webhook subscription.")
class WebhookSubscriptionInput(_SubscriptionFields):
    """Input for a subscription; in an update, omitted fields do not change."""

    uri: str | None = strawberry.field(default=strawberry.UNSET, metadata=registry.version_metadata(since=SINCE_URI))
    callback_url: URL | None = strawberry.field(default=strawberry.UNSET, metadata=BY_URI)


@strawberry.input(description="The values of a webhook subscription to Google Cloud Pub/Sub.")
class PubSubWebhookSubscriptionInput(_SubscriptionFields):
    pub_sub_project: str
    pub_sub_topic: str


@strawberry.input(description="The values of a webhook subscription to Amazon EventBridge.")
class EventBridgeWebhookSubscriptionInput(_SubscriptionFields):
    arn: ARN


Input = WebhookSubscriptionInput | PubSubWebhookSubscriptionInput | EventBridgeWebhookSubscriptionInput


@strawberry.type(description="An error that prevented a mutation.")
class UserError:
    field: list[str] | None
    message: str


@strawberry.type
class WebhookSubscriptionCreatePayload:
    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[UserError]


@strawberry.type
class WebhookSubscriptionUpdatePayload(WebhookSubscriptionCreatePayload):
    pass


@strawberry.type
class WebhookSubscriptionDeletePayload:
    deleted_webhook_subscription_id: strawberry.ID | None
    user_errors: list[UserError]


@strawberry.type
class WebhookSubscriptionReplayPayload:
    webhook_subscription: WebhookSubscriptionType | None
    delivery_count: int | None = strawberry.field(description="The number of deliveries to replay, at most 10,000.")
    user_errors: list[UserError]


@strawberry.type
class WebhookSubscriptionTestPayload:
    webhook_delivery: WebhookDeliveryType | None
    user_errors: list[UserError]


@strawberry.type
class WebhookDeliveryResendPayload(WebhookSubscriptionTestPayload):
    pass


@strawberry.type
class EventBridgeWebhookSubscriptionCreatePayload(WebhookSubscriptionCreatePayload):
    pass


@strawberry.type
class EventBridgeWebhookSubscriptionUpdatePayload(WebhookSubscriptionCreatePayload):
    pass


@strawberry.enum
class PubSubWebhookSubscriptionCreateUserErrorCode(Enum):
    INVALID_PARAMETERS = "invalid_parameters"
    TAKEN = "taken"


@strawberry.enum
class PubSubWebhookSubscriptionUpdateUserErrorCode(Enum):
    INVALID_PARAMETERS = "invalid_parameters"
    TAKEN = "taken"


@strawberry.type
class PubSubWebhookSubscriptionCreateUserError:
    code: PubSubWebhookSubscriptionCreateUserErrorCode | None
    field: list[str] | None
    message: str


@strawberry.type
class PubSubWebhookSubscriptionUpdateUserError:
    code: PubSubWebhookSubscriptionUpdateUserErrorCode | None
    field: list[str] | None
    message: str


@strawberry.type
class PubSubWebhookSubscriptionCreatePayload:
    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[PubSubWebhookSubscriptionCreateUserError]


@strawberry.type
class PubSubWebhookSubscriptionUpdatePayload:
    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[PubSubWebhookSubscriptionUpdateUserError]
