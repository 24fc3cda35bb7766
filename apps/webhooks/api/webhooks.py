"""The REST resources for the webhook subscriptions of the calling app, and for their deliveries."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from apps.core.http.ssrf_guard import URL_MAX_LENGTH
from apps.core.i18n.error_messages import INVALID
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.reading import keyset_pagination
from apps.core.rest.requests.authentication import ScopeMissing
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import (
    ApiField,
    ChoiceField,
    ComputedField,
    DateTimeField,
    ModelDerivedField,
    ReadOnlyColumn,
    TextField,
)
from apps.core.rest.resources.filters import ChoiceFilter, ResourceFilter, TextFilter, apply_filters
from apps.core.rest.resources.nested_objects import ObjectField, validate_members
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.webhooks.domain import delivery_tests, replay, subscriptions
from apps.webhooks.domain.errors import SubscriptionRefused, TopicScopeMissing
from apps.webhooks.models import Attempt, Delivery, Subscription
from apps.webhooks.models.subscriptions import decode_warnings

T = TypeVar("T")
_NULLABLE_TEXT = {"type": ["string", "null"]}
# The body of ``replay``.
_REPLAY = {"since": DateTimeField(), "until": DateTimeField(required=False, allow_null=True)}
_MOMENT = {"type": "string", "format": "date-time"}
# Maps field names of ``domain.subscriptions`` to the field names of this resource.
FIELD_NAMES = {"uri": "address", "include_fields": "fields"}


class StringListField(ApiField):
    """A list of strings; ``domain.subscription_fields`` validates the entries."""

    schema = {"type": "array", "items": {"type": "string"}}

    def to_internal_value(self, data: object) -> list[str]:
        if not isinstance(data, list) or not all(isinstance(entry, str) for entry in data):
            raise serializers.ValidationError(INVALID)
        return data


class WebhookSerializer(ResourceSerializer[Subscription]):
    address = TextField(source="uri", max_length=URL_MAX_LENGTH, allow_blank=True)
    topic = TextField(max_length=100, allow_blank=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    format = ChoiceField(choices=Subscription.Format.choices, required=False)
    fields = StringListField(source="include_fields", required=False)  # type: ignore[assignment]
    metafield_namespaces = StringListField(required=False)
    api_version = ReadOnlyColumn()
    private_metafield_namespaces = StringListField(required=False)
    filter = TextField(required=False, allow_blank=True, allow_null=True)
    name = TextField(required=False, allow_null=True)
    warnings = ComputedField(lambda _context, warnings: decode_warnings(warnings), "warnings", schema={})
    state = ReadOnlyColumn()
    state_reason = ComputedField(lambda _context, reason: reason or None, "reason", schema=_NULLABLE_TEXT)
    state_changed_at = DateTimeField(read_only=True)

    class Meta:
        model = Subscription


class WebhookFilterSet(ResourceFilter):
    address = TextFilter("uri")
    topic = TextFilter("topic")


class WebhookViewSet(ShopViewSet[Subscription]):
    """``/webhooks``: the calling app's subscriptions. The app's scopes decide which topics are allowed."""

    model = Subscription
    serializer_class = WebhookSerializer
    filterset_class = WebhookFilterSet
    singular = "webhook"
    locks_in_service = True
    plural = "webhooks"
    version_columns: ClassVar[tuple[str, ...]] = ("version",)
    request_bodies: ClassVar = {"replay": {"replay": ObjectField(_REPLAY, required=True, allow_null=False)}}
    responses: ClassVar = {
        "replay": {
            "type": "object",
            "required": ["replay"],
            "properties": {
                "replay": {
                    "type": "object",
                    "required": ["since", "until", "deliveries"],
                    "properties": {"since": _MOMENT, "until": _MOMENT, "deliveries": {"type": "integer"}},
                }
            },
        },
    }
    success_statuses: ClassVar = {"replay": 202}

    def get_queryset(self) -> QuerySet[Subscription]:
        return subscriptions.get_api_subscriptions(self.shop, self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> Subscription:
        return _run_change(
            lambda: subscriptions.create_subscription(
                self.access.installation, {"api_version": self.version, **attrs}, actor=self.actor, at=self.at
            )
        )

    def perform_update(self, instance: Subscription, attrs: Attrs) -> None:
        """Change the fields in the body. The API version changes only if the body contains it."""
        _run_change(lambda: subscriptions.update_subscription(instance, attrs, actor=self.actor, at=self.at))

    def perform_destroy(self, instance: Subscription) -> None:
        subscriptions.delete_subscription(instance, actor=self.actor, at=self.at)

    def replay(self, request: Request, **_: int) -> HttpResponse:
        """Replay the deliveries of a time span that failed or were held."""
        attrs = validate_members(_REPLAY, dict(self.unwrap_body("replay")))
        since, until = attrs["since"], attrs.get("until")
        with transaction.atomic():
            subscription = self.get_object()
            count = _run_change(
                lambda: replay.request_replay(
                    subscription, self.access.installation, since=since, until=until, actor=self.actor, at=self.at
                )
            )
        moments = {
            name: at.astimezone(self.shop.tzinfo).isoformat(timespec="seconds")
            for name, at in (("since", since), ("until", until or self.at))
        }
        return self.json_response({"replay": {**moments, "deliveries": count}}, 202)


class AttemptSerializer(ResourceSerializer[Attempt]):
    id = None
    number = ReadOnlyColumn()
    status = ReadOnlyColumn()
    error = ComputedField(lambda _context, error: error or None, "error", schema=_NULLABLE_TEXT)
    started_at = DateTimeField(source="created_at", read_only=True)
    total_ms = ReadOnlyColumn()

    class Meta:
        model = Attempt


class DeliverySerializer(ResourceSerializer[Delivery]):
    webhook_id = ComputedField(lambda _context, key: str(key), "key", schema={"type": "string", "format": "uuid"})
    event_id = ComputedField(
        lambda _context, group: str(group) if group else None, "event__group", schema=_NULLABLE_TEXT
    )
    topic = ReadOnlyColumn()
    api_version = ReadOnlyColumn()
    kind = ReadOnlyColumn()
    state = ReadOnlyColumn()
    error = ComputedField(lambda _context, error: error or None, "error", schema=_NULLABLE_TEXT)
    redelivery = ReadOnlyColumn()
    triggered_at = DateTimeField(read_only=True)
    finished_at = DateTimeField(read_only=True)
    next_attempt_at = ComputedField(
        lambda context, state, at: (
            at.astimezone(context.tz).isoformat(timespec="seconds")
            if state in {Delivery.State.DUE, Delivery.State.RETRY}
            else None
        ),
        "state",
        "next_at",
        schema={"type": ["string", "null"], "format": "date-time"},
    )
    attempts = NestedRows(AttemptSerializer, "log", order=("number", "pk"))

    class Meta:
        model = Delivery


class DeliveryFilterSet(ResourceFilter):
    state = ChoiceFilter("state", words=Delivery.State.values)


class WebhookDeliveryViewSet(ShopViewSet[Delivery]):
    """``/webhooks/{id}/deliveries``: the deliveries of a subscription of the calling app, latest first."""

    model = Delivery
    serializer_class = DeliverySerializer
    filterset_class = DeliveryFilterSet
    singular = "delivery"
    plural = "deliveries"
    order = ("-id",)
    parents: ClassVar = {"subscription_id": Subscription}
    request_bodies: ClassVar = {"resend": {"type": "object"}, "send_test": {"type": "object"}}
    responses: ClassVar = {"resend": ONE, "send_test": ONE}
    success_statuses: ClassVar = {"resend": 202, "send_test": 202}

    def load_parents(self) -> None:
        own = subscriptions.get_api_subscriptions(self.shop, self.access.installation.app_id)
        subscription = own.filter(pk=self.kwargs["subscription_id"]).first()
        if subscription is None:
            raise Http404
        self.subscription = subscription

    def list(self, request: Request, **_: int) -> HttpResponse:
        """List deliveries. One query per state follows an index, however many deliveries there are."""
        page = keyset_pagination.parse_page_request(self.query, shop_id=self.shop.pk, route=self.list_name)
        order = page.order or self.get_order(page.filters)
        rows = apply_filters(self.filterset_class, dict(page.filters), self.get_queryset())
        return self.render_page([rows.filter(state=state) for state in Delivery.State], page, order)

    def resend(self, request: Request, **_: int) -> HttpResponse:
        """Send a delivery again immediately."""
        with transaction.atomic():
            delivery = self.get_object()
            _run_change(
                lambda: replay.resend_delivery(delivery, self.subscription, self.access.installation, at=self.at)
            )
            return self.render_object(delivery.pk, 202)

    def send_test(self, request: Request, **_: int) -> HttpResponse:
        """Send a test delivery, even if the subscription is paused or disabled."""
        with transaction.atomic():
            delivery = _run_change(
                lambda: delivery_tests.request_test_delivery(self.subscription, self.access.installation, at=self.at)
            )
            return self.render_object(delivery.pk, 202)


def _run_change(work: Callable[[], T]) -> T:
    """Run a change, and convert domain errors to REST errors with the field names of this resource."""
    try:
        return work()
    except TopicScopeMissing as error:
        raise ScopeMissing(error.scope) from error
    except SubscriptionRefused as error:
        raise Unprocessable({FIELD_NAMES.get(field, field): texts for field, texts in error.errors.items()}) from error
