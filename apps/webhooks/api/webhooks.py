"""The REST resource for the webhook subscriptions of the calling app."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from django.db.models import QuerySet
from rest_framework import serializers

from apps.core.http.ssrf_guard import URL_MAX_LENGTH
from apps.core.i18n.error_messages import INVALID
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.requests.authentication import ScopeMissing
from apps.core.rest.resources.fields import (
    ApiField,
    ChoiceField,
    ComputedField,
    ModelDerivedField,
    ReadOnlyColumn,
    TextField,
)
from apps.core.rest.resources.filters import ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.errors import SubscriptionRefused, TopicScopeMissing
from apps.webhooks.models import Subscription
from apps.webhooks.models.subscriptions import decode_warnings

T = TypeVar("T")
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
    name = TextField(required=False, allow_null=True, allow_blank=True)
    warnings = ComputedField(lambda _context, warnings: decode_warnings(warnings), "warnings", schema={})

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
    plural = "webhooks"
    version_columns: ClassVar[tuple[str, ...]] = ("version",)

    def get_queryset(self) -> QuerySet[Subscription]:
        return subscriptions.get_api_subscriptions(self.shop, self.access.installation.app_id)

    def lock_instance(self, instance: Subscription) -> None:
        """Do nothing, because ``domain.subscriptions`` locks the shop first, then the subscription."""

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


def _run_change(work: Callable[[], T]) -> T:
    """Run a change, and convert domain errors to REST errors with the field names of this resource."""
    try:
        return work()
    except TopicScopeMissing as error:
        raise ScopeMissing(error.scope) from error
    except SubscriptionRefused as error:
        raise Unprocessable({FIELD_NAMES.get(field, field): texts for field, texts in error.errors.items()}) from error
