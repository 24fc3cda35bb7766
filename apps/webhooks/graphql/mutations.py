"""GraphQL mutations that create, update and delete webhook subscriptions.

Invalid values are returned as ``userErrors``. Each error is a full sentence with the path of the argument. If an access
scope is missing or a value is malformed, the whole request fails.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Annotated, Any, TypeVar

import strawberry

from apps.core.exceptions import RowDeleted
from apps.core.graphql import registry
from apps.core.graphql.errors import ACCESS_DENIED, graphql_error
from apps.core.graphql.types import Info, parse_number_of_type
from apps.core.i18n.error_messages import TAKEN
from apps.webhooks.domain import delivery_tests, replay, subscriptions
from apps.webhooks.domain.errors import (
    NO_SUCH_DELIVERY,
    NO_SUCH_SUBSCRIPTION,
    SubscriptionRefused,
    TopicScopeMissing,
    get_full_message,
)
from apps.webhooks.graphql.mutation_types import (
    EventBridgeWebhookSubscriptionCreatePayload,
    EventBridgeWebhookSubscriptionInput,
    EventBridgeWebhookSubscriptionUpdatePayload,
    Input,
    PubSubWebhookSubscriptionCreatePayload,
    PubSubWebhookSubscriptionCreateUserError,
    PubSubWebhookSubscriptionCreateUserErrorCode,
    PubSubWebhookSubscriptionInput,
    PubSubWebhookSubscriptionUpdatePayload,
    PubSubWebhookSubscriptionUpdateUserError,
    PubSubWebhookSubscriptionUpdateUserErrorCode,
    UserError,
    WebhookDeliveryResendPayload,
    WebhookSubscriptionCreatePayload,
    WebhookSubscriptionDeletePayload,
    WebhookSubscriptionInput,
    WebhookSubscriptionReplayPayload,
    WebhookSubscriptionTestPayload,
    WebhookSubscriptionUpdatePayload,
)
from apps.webhooks.graphql.types import (
    DELIVERY_KIND,
    KIND,
    SINCE_URI,
    WebhookDeliveryType,
    WebhookSubscriptionFormat,
    WebhookSubscriptionTopic,
    WebhookSubscriptionType,
    find_delivery,
    find_subscription,
    to_delivery_type,
    to_subscription_type,
)
from apps.webhooks.models import Delivery, Subscription

DEPRECATED_MUTATION = registry.deprecation_metadata(
    SINCE_URI, "Use `webhookSubscriptionCreate` or `webhookSubscriptionUpdate` with a `uri` instead."
)
# Maps field names of ``domain.subscriptions`` to the names in ``userErrors``.
_ARGUMENT_NAMES = {
    "uri": "callbackUrl",
    "include_fields": "includeFields",
    "metafield_namespaces": "metafieldNamespaces",
    "private_metafield_namespaces": "privateMetafieldNamespaces",
}

T = TypeVar("T")
FieldErrors = list[tuple[list[str], str]]


Topic = Annotated[WebhookSubscriptionTopic, strawberry.argument(description="The topic to subscribe to.")]


@registry.mutations.add
@strawberry.type
class WebhookMutations:
    """Mutations for the subscriptions of the calling app."""

    @strawberry.mutation(description="Subscribe the calling app to a topic of the shop.")
    def webhook_subscription_create(
        self, info: Info, topic: Topic, webhook_subscription: WebhookSubscriptionInput
    ) -> WebhookSubscriptionCreatePayload | None:
        created, errors = _create(info, topic.value, webhook_subscription)
        return WebhookSubscriptionCreatePayload(webhook_subscription=created, user_errors=_user_errors(errors))

    @strawberry.mutation(description="Update a webhook subscription, including the type of its endpoint.")
    def webhook_subscription_update(
        self, info: Info, id: strawberry.ID, webhook_subscription: WebhookSubscriptionInput
    ) -> WebhookSubscriptionUpdatePayload | None:
        updated, errors = _update(info, id, webhook_subscription)
        return WebhookSubscriptionUpdatePayload(webhook_subscription=updated, user_errors=_user_errors(errors))

    @strawberry.mutation(description="Replay the deliveries of a time span that failed or were held.")
    def webhook_subscription_replay(
        self, info: Info, id: strawberry.ID, since: datetime, until: datetime | None = None
    ) -> WebhookSubscriptionReplayPayload | None:
        def work(row: Subscription) -> tuple[WebhookSubscriptionType, int]:
            caller = info.context
            count = replay.request_replay(
                row, caller.access.installation, since=since, until=until, actor=caller.actor, at=caller.at
            )
            return to_subscription_type(row), count

        replayed, errors = _with_row(info, id, work)
        row, count = replayed or (None, None)
        return WebhookSubscriptionReplayPayload(
            webhook_subscription=row, delivery_count=count, user_errors=_user_errors(errors)
        )

    @strawberry.mutation(description="Send a test delivery, even if the subscription is paused or disabled.")
    def webhook_subscription_test(self, info: Info, id: strawberry.ID) -> WebhookSubscriptionTestPayload | None:
        def work(row: Subscription) -> WebhookDeliveryType:
            installation = info.context.access.installation
            return to_delivery_type(delivery_tests.request_test_delivery(row, installation, at=info.context.at))

        delivery, errors = _with_row(info, id, work)
        return WebhookSubscriptionTestPayload(webhook_delivery=delivery, user_errors=_user_errors(errors))

    @strawberry.mutation(description="Send a delivery again immediately.")
    def webhook_delivery_resend(self, info: Info, id: strawberry.ID) -> WebhookDeliveryResendPayload | None:
        row = find_delivery(info, parse_number_of_type(id, DELIVERY_KIND))
        if row is None or row.subscription is None:
            missing = UserError(field=["id"], message=NO_SUCH_DELIVERY)
            return WebhookDeliveryResendPayload(webhook_delivery=None, user_errors=[missing])

        def work(row: Delivery, subscription: Subscription) -> WebhookDeliveryType:
            replay.resend_delivery(row, subscription, info.context.access.installation, at=info.context.at)
            return to_delivery_type(row)

        delivery, errors = _run_change(partial(work, row, row.subscription), info)
        return WebhookDeliveryResendPayload(webhook_delivery=delivery, user_errors=_user_errors(errors))

    @strawberry.mutation(description="Delete a webhook subscription.")
    def webhook_subscription_delete(self, info: Info, id: strawberry.ID) -> WebhookSubscriptionDeletePayload | None:
        def work(row: Subscription) -> strawberry.ID:
            subscriptions.delete_subscription(row, actor=info.context.actor, at=info.context.at)
            return id

        deleted, errors = _with_row(info, id, work)
        return WebhookSubscriptionDeletePayload(
            deleted_webhook_subscription_id=deleted, user_errors=_user_errors(errors)
        )

    @strawberry.mutation(
        description="Subscribe the calling app to a topic, with a Google Cloud Pub/Sub endpoint.",
        metadata=DEPRECATED_MUTATION,
    )
    def pub_sub_webhook_subscription_create(
        self, info: Info, topic: Topic, webhook_subscription: PubSubWebhookSubscriptionInput
    ) -> PubSubWebhookSubscriptionCreatePayload | None:
        created, field_errors = _create(info, topic.value, webhook_subscription)
        codes = PubSubWebhookSubscriptionCreateUserErrorCode
        errors = [
            PubSubWebhookSubscriptionCreateUserError(code=codes(_error_code(text)), field=field, message=text)
            for field, text in field_errors
        ]
        return PubSubWebhookSubscriptionCreatePayload(webhook_subscription=created, user_errors=errors)

    @strawberry.mutation(
        description="Update a webhook subscription with a Google Cloud Pub/Sub endpoint.", metadata=DEPRECATED_MUTATION
    )
    def pub_sub_webhook_subscription_update(
        self, info: Info, id: strawberry.ID, webhook_subscription: PubSubWebhookSubscriptionInput
    ) -> PubSubWebhookSubscriptionUpdatePayload | None:
        updated, field_errors = _update(info, id, webhook_subscription)
        codes = PubSubWebhookSubscriptionUpdateUserErrorCode
        errors = [
            PubSubWebhookSubscriptionUpdateUserError(code=codes(_error_code(text)), field=field, message=text)
            for field, text in field_errors
        ]
        return PubSubWebhookSubscriptionUpdatePayload(webhook_subscription=updated, user_errors=errors)

    @strawberry.mutation(
        description="Subscribe the calling app to a topic, with an Amazon EventBridge endpoint.",
        metadata=DEPRECATED_MUTATION,
    )
    def event_bridge_webhook_subscription_create(
        self, info: Info, topic: Topic, webhook_subscription: EventBridgeWebhookSubscriptionInput
    ) -> EventBridgeWebhookSubscriptionCreatePayload | None:
        created, errors = _create(info, topic.value, webhook_subscription)
        return EventBridgeWebhookSubscriptionCreatePayload(
            webhook_subscription=created, user_errors=_user_errors(errors)
        )

    @strawberry.mutation(
        description="Update a webhook subscription with an Amazon EventBridge endpoint.", metadata=DEPRECATED_MUTATION
    )
    def event_bridge_webhook_subscription_update(
        self, info: Info, id: strawberry.ID, webhook_subscription: EventBridgeWebhookSubscriptionInput
    ) -> EventBridgeWebhookSubscriptionUpdatePayload | None:
        updated, errors = _update(info, id, webhook_subscription)
        return EventBridgeWebhookSubscriptionUpdatePayload(
            webhook_subscription=updated, user_errors=_user_errors(errors)
        )


def _create(info: Info, topic: str, input: Input) -> tuple[WebhookSubscriptionType | None, FieldErrors]:
    caller = info.context
    values = {"api_version": caller.version, "uri": "", **dict(_iterate_values(input)), "topic": topic}
    installation = caller.access.installation

    def work() -> WebhookSubscriptionType:
        row = subscriptions.create_subscription(installation, values, actor=caller.actor, at=caller.at)
        return to_subscription_type(row)

    return _run_change(work, info)


def _update(info: Info, id: str, input: Input) -> tuple[WebhookSubscriptionType | None, FieldErrors]:
    def work(row: Subscription) -> WebhookSubscriptionType:
        subscriptions.update_subscription(
            row, dict(_iterate_values(input)), actor=info.context.actor, at=info.context.at
        )
        return to_subscription_type(row)

    return _with_row(info, id, work)


def _with_row(info: Info, id: str, work: Callable[[Subscription], T]) -> tuple[T | None, FieldErrors]:
    """Change the caller's subscription with this global ID, and return the result or the errors."""
    row = find_subscription(info, parse_number_of_type(id, KIND))
    if row is None:
        return None, [(["id"], NO_SUCH_SUBSCRIPTION)]
    return _run_change(partial(work, row), info)


def _run_change(work: Callable[[], T], info: Info) -> tuple[T | None, FieldErrors]:
    """Run a change, and return the result or the errors. A missing scope raises ``GraphQLError``."""
    try:
        return work(), []
    except SubscriptionRefused as error:
        return None, [(_path(field), text) for field, text in error.full_messages]
    except (replay.ReplayRefused, replay.ResendRefused) as error:
        return None, [
            ([field], get_full_message(field, text)) if field != "base" else (["id"], text)
            for field, texts in error.errors.items()
            for text in texts
        ]
    except RowDeleted:
        return None, [(["id"], NO_SUCH_SUBSCRIPTION)]
    except TopicScopeMissing as error:
        raise graphql_error(
            f"Access denied for {info.field_name} field. Required access: `{error.scope}` access scope.",
            ACCESS_DENIED,
            requiredAccess=f"`{error.scope}` access scope.",
        ) from error


def _iterate_values(input: Input) -> Iterator[tuple[str, Any]]:
    """Yield the values of an input with the field names of ``domain.subscriptions``."""
    if isinstance(input, PubSubWebhookSubscriptionInput):
        yield "uri", f"pubsub://{input.pub_sub_project}:{input.pub_sub_topic}"
    elif isinstance(input, EventBridgeWebhookSubscriptionInput):
        yield "uri", input.arn
    else:
        for address in (input.callback_url, input.uri):
            if address is not strawberry.UNSET:
                yield "uri", address
    for name in ("filter", "include_fields", "metafield_namespaces", "name"):
        if (value := getattr(input, name)) is not strawberry.UNSET:
            yield name, value
    if isinstance(input.format, WebhookSubscriptionFormat):
        yield "format", input.format.value
    if isinstance(input.metafields, list):
        yield "metafields", [{"namespace": metafield.namespace, "key": metafield.key} for metafield in input.metafields]
    elif input.metafields is None:
        yield "metafields", None


def _path(field: str) -> list[str]:
    return [field] if field in {"topic", "id"} else ["webhookSubscription", _ARGUMENT_NAMES.get(field, field)]


def _user_errors(errors: FieldErrors) -> list[UserError]:
    return [UserError(field=field, message=text) for field, text in errors]


def _error_code(text: str) -> str:
    return "taken" if text == get_full_message("uri", f"for this topic {TAKEN}") else "invalid_parameters"
