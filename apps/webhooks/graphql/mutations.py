"""Making, changing and ending subscriptions by GraphQL.

Refusals of values are ``userErrors``: whole sentences, each with the path of its field in the arguments. A scope that
is missing, and what is no value at all, is an error of the request.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any

import strawberry

from apps.graphql import registry
from apps.graphql.errors import ACCESS_DENIED, refusal
from apps.graphql.ids import number_of
from apps.graphql.info import Info
from apps.graphql.scalars import ARN, URL
from apps.ground.attrs import Attrs
from apps.ground.errors import Gone
from apps.ground.phrases import TAKEN
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.refusals import NO_SUCH_SUBSCRIPTION, ScopeNeeded, SubscriptionRefused, full_message
from apps.webhooks.graphql.types import (
    BY_URI,
    KIND,
    SINCE_URI,
    WebhookSubscriptionFormat,
    WebhookSubscriptionTopic,
    WebhookSubscriptionType,
    find,
    shown,
)
from apps.webhooks.models import Subscription

INPUT = "webhookSubscription"
SPECIFIC = registry.deprecated(
    SINCE_URI, "Use `webhookSubscriptionCreate` or `webhookSubscriptionUpdate` with a `uri` instead."
)
# The service's names of fields, as clients find them in ``userErrors``.
_NAMES = {
    "uri": "callbackUrl",
    "include_fields": "includeFields",
    "metafield_namespaces": "metafieldNamespaces",
    "private_metafield_namespaces": "privateMetafieldNamespaces",
}
_since_uri = registry.gated(since=SINCE_URI)
_since_metafields = registry.gated(since="2025-01")
_since_name = registry.gated(since="2026-04")

Refusals = list[tuple[list[str], str]]


@strawberry.input(description="A metafield that goes along with a payload.")
class HasMetafieldsMetafieldIdentifierInput:
    """A metafield by its names."""

    namespace: str
    key: str


@strawberry.input
class _Wanted:
    """What is wanted, wherever it goes."""

    format: WebhookSubscriptionFormat | None = strawberry.UNSET
    filter: str | None = strawberry.UNSET
    include_fields: list[str] | None = strawberry.UNSET
    metafield_namespaces: list[str] | None = strawberry.UNSET
    metafields: list[HasMetafieldsMetafieldIdentifierInput] | None = strawberry.field(
        default=strawberry.UNSET, metadata=_since_metafields
    )
    name: str | None = strawberry.field(default=strawberry.UNSET, metadata=_since_name)


@strawberry.input(description="What a subscription is made of.")
class WebhookSubscriptionInput(_Wanted):
    """What a subscription is made of; what is not given stays."""

    uri: str | None = strawberry.field(default=strawberry.UNSET, metadata=_since_uri)
    callback_url: URL | None = strawberry.field(default=strawberry.UNSET, metadata=BY_URI)


@strawberry.input(description="What a subscription to Google Cloud Pub/Sub is made of.")
class PubSubWebhookSubscriptionInput(_Wanted):
    """What a subscription is made of, and the topic of Google Cloud Pub/Sub."""

    pub_sub_project: str
    pub_sub_topic: str


@strawberry.input(description="What a subscription to Amazon EventBridge is made of.")
class EventBridgeWebhookSubscriptionInput(_Wanted):
    """What a subscription is made of, and the event source of Amazon EventBridge."""

    arn: ARN


Input = WebhookSubscriptionInput | PubSubWebhookSubscriptionInput | EventBridgeWebhookSubscriptionInput


@strawberry.type(description="Why a mutation did nothing.")
class UserError:
    """Why a mutation did nothing."""

    field: list[str] | None
    message: str


@strawberry.type
class WebhookSubscriptionCreatePayload:
    """What a create gives."""

    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[UserError]


@strawberry.type
class WebhookSubscriptionUpdatePayload:
    """What an update gives."""

    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[UserError]


@strawberry.type
class WebhookSubscriptionDeletePayload:
    """What a deletion gives."""

    deleted_webhook_subscription_id: strawberry.ID | None
    user_errors: list[UserError]


@strawberry.type
class EventBridgeWebhookSubscriptionCreatePayload:
    """What a create gives."""

    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[UserError]


@strawberry.type
class EventBridgeWebhookSubscriptionUpdatePayload:
    """What an update gives."""

    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[UserError]


@strawberry.enum
class PubSubWebhookSubscriptionCreateUserErrorCode(Enum):
    """Why a create did nothing."""

    INVALID_PARAMETERS = "invalid_parameters"
    TAKEN = "taken"


@strawberry.enum
class PubSubWebhookSubscriptionUpdateUserErrorCode(Enum):
    """Why an update did nothing."""

    INVALID_PARAMETERS = "invalid_parameters"
    TAKEN = "taken"


@strawberry.type
class PubSubWebhookSubscriptionCreateUserError:
    """Why a create did nothing."""

    code: PubSubWebhookSubscriptionCreateUserErrorCode | None
    field: list[str] | None
    message: str


@strawberry.type
class PubSubWebhookSubscriptionUpdateUserError:
    """Why an update did nothing."""

    code: PubSubWebhookSubscriptionUpdateUserErrorCode | None
    field: list[str] | None
    message: str


@strawberry.type
class PubSubWebhookSubscriptionCreatePayload:
    """What a create gives."""

    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[PubSubWebhookSubscriptionCreateUserError]


@strawberry.type
class PubSubWebhookSubscriptionUpdatePayload:
    """What an update gives."""

    webhook_subscription: WebhookSubscriptionType | None
    user_errors: list[PubSubWebhookSubscriptionUpdateUserError]


Topic = Annotated[WebhookSubscriptionTopic, strawberry.argument(description="What to be told of.")]


@registry.mutation
@strawberry.type
class WebhookMutations:
    """What an app can do with its subscriptions."""

    @strawberry.mutation(description="Subscribe the calling app to a topic of the shop.")
    def webhook_subscription_create(
        self, info: Info, topic: Topic, webhook_subscription: WebhookSubscriptionInput
    ) -> WebhookSubscriptionCreatePayload | None:
        """Subscribe."""
        made, wrong = _create(info, topic.value, webhook_subscription)
        return WebhookSubscriptionCreatePayload(webhook_subscription=made, user_errors=_user_errors(wrong))

    @strawberry.mutation(description="Change a subscription, also to another kind of destination.")
    def webhook_subscription_update(
        self, info: Info, id: strawberry.ID, webhook_subscription: WebhookSubscriptionInput
    ) -> WebhookSubscriptionUpdatePayload | None:
        """Change it; what is not given stays."""
        changed, wrong = _update(info, id, webhook_subscription)
        return WebhookSubscriptionUpdatePayload(webhook_subscription=changed, user_errors=_user_errors(wrong))

    @strawberry.mutation(description="End a subscription.")
    def webhook_subscription_delete(self, info: Info, id: strawberry.ID) -> WebhookSubscriptionDeletePayload | None:
        """End it."""

        def work(row: Subscription) -> None:
            subscriptions.delete_subscription(row, actor=info.context.actor, at=info.context.at)

        gone, wrong = _with_row(info, id, work)
        return WebhookSubscriptionDeletePayload(
            deleted_webhook_subscription_id=None if gone is None else gone.id, user_errors=_user_errors(wrong)
        )

    @strawberry.mutation(description="Subscribe the calling app, by Google Cloud Pub/Sub.", metadata=SPECIFIC)
    def pub_sub_webhook_subscription_create(
        self, info: Info, topic: Topic, webhook_subscription: PubSubWebhookSubscriptionInput
    ) -> PubSubWebhookSubscriptionCreatePayload | None:
        """Subscribe."""
        made, wrong = _create(info, topic.value, webhook_subscription)
        codes = PubSubWebhookSubscriptionCreateUserErrorCode
        errors = [
            PubSubWebhookSubscriptionCreateUserError(code=codes(_code(text)), field=field, message=text)
            for field, text in wrong
        ]
        return PubSubWebhookSubscriptionCreatePayload(webhook_subscription=made, user_errors=errors)

    @strawberry.mutation(description="Change a subscription, to Google Cloud Pub/Sub.", metadata=SPECIFIC)
    def pub_sub_webhook_subscription_update(
        self, info: Info, id: strawberry.ID, webhook_subscription: PubSubWebhookSubscriptionInput
    ) -> PubSubWebhookSubscriptionUpdatePayload | None:
        """Change it; what is not given stays."""
        changed, wrong = _update(info, id, webhook_subscription)
        codes = PubSubWebhookSubscriptionUpdateUserErrorCode
        errors = [
            PubSubWebhookSubscriptionUpdateUserError(code=codes(_code(text)), field=field, message=text)
            for field, text in wrong
        ]
        return PubSubWebhookSubscriptionUpdatePayload(webhook_subscription=changed, user_errors=errors)

    @strawberry.mutation(description="Subscribe the calling app, by Amazon EventBridge.", metadata=SPECIFIC)
    def event_bridge_webhook_subscription_create(
        self, info: Info, topic: Topic, webhook_subscription: EventBridgeWebhookSubscriptionInput
    ) -> EventBridgeWebhookSubscriptionCreatePayload | None:
        """Subscribe."""
        made, wrong = _create(info, topic.value, webhook_subscription)
        return EventBridgeWebhookSubscriptionCreatePayload(webhook_subscription=made, user_errors=_user_errors(wrong))

    @strawberry.mutation(description="Change a subscription, to Amazon EventBridge.", metadata=SPECIFIC)
    def event_bridge_webhook_subscription_update(
        self, info: Info, id: strawberry.ID, webhook_subscription: EventBridgeWebhookSubscriptionInput
    ) -> EventBridgeWebhookSubscriptionUpdatePayload | None:
        """Change it; what is not given stays."""
        changed, wrong = _update(info, id, webhook_subscription)
        return EventBridgeWebhookSubscriptionUpdatePayload(
            webhook_subscription=changed, user_errors=_user_errors(wrong)
        )


def _create(info: Info, topic: str, given: Input) -> tuple[WebhookSubscriptionType | None, Refusals]:
    caller = info.context
    values = {"api_version": caller.version, "uri": "", **_values(given), "topic": topic}
    installation = caller.access.installation
    return _done(
        lambda: subscriptions.create_subscription(installation, values, actor=caller.actor, at=caller.at), info
    )


def _update(info: Info, id: str, given: Input) -> tuple[WebhookSubscriptionType | None, Refusals]:
    def work(row: Subscription) -> None:
        subscriptions.update_subscription(row, _values(given), actor=info.context.actor, at=info.context.at)

    return _with_row(info, id, work)


def _with_row(
    info: Info, id: str, work: Callable[[Subscription], None]
) -> tuple[WebhookSubscriptionType | None, Refusals]:
    """Work on the caller's subscription of a global id, and show it."""
    row = find(info, number_of(id, KIND))
    if row is None:
        return None, [(["id"], NO_SUCH_SUBSCRIPTION)]

    def worked() -> Subscription:
        work(row)
        return row

    return _done(worked, info)


def _done(work: Callable[[], Subscription], info: Info) -> tuple[WebhookSubscriptionType | None, Refusals]:
    """What some work gives, or why it was refused.

    Raises:
        GraphQLError: The app lacks the scope of the topic.
    """
    try:
        return shown(work()), []
    except SubscriptionRefused as error:
        return None, [(_path(field), text) for field, text in error.full_messages]
    except Gone:
        return None, [(["id"], NO_SUCH_SUBSCRIPTION)]
    except ScopeNeeded as error:
        raise refusal(
            f"Access denied for {info.field_name} field. Required access: `{error.scope}` access scope.",
            ACCESS_DENIED,
            requiredAccess=f"`{error.scope}` access scope.",
        ) from error


def _values(given: Input) -> Attrs:
    """What was given, by the service's names."""
    return dict(_given(given))


def _given(given: Input) -> Iterator[tuple[str, Any]]:
    if isinstance(given, PubSubWebhookSubscriptionInput):
        yield "uri", f"pubsub://{given.pub_sub_project}:{given.pub_sub_topic}"
    elif isinstance(given, EventBridgeWebhookSubscriptionInput):
        yield "uri", given.arn
    else:
        for address in (given.callback_url, given.uri):
            if address is not strawberry.UNSET:
                yield "uri", address
    for name in ("filter", "include_fields", "metafield_namespaces", "name"):
        if (value := getattr(given, name)) is not strawberry.UNSET:
            yield name, value
    if isinstance(given.format, WebhookSubscriptionFormat):
        yield "format", given.format.value
    if isinstance(given.metafields, list):
        yield "metafields", [{"namespace": each.namespace, "key": each.key} for each in given.metafields]
    elif given.metafields is None:
        yield "metafields", None


def _path(field: str) -> list[str]:
    """Where in the arguments a field of the service stands."""
    return [field] if field in {"topic", "id"} else [INPUT, _NAMES.get(field, field)]


def _user_errors(wrong: Refusals) -> list[UserError]:
    return [UserError(field=field, message=text) for field, text in wrong]


def _code(text: str) -> str:
    return "taken" if text == full_message("uri", f"for this topic {TAKEN}") else "invalid_parameters"
