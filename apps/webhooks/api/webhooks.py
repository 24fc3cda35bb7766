"""Webhook subscriptions over REST: those that the calling app made for the shop."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from django.db.models import QuerySet
from rest_framework import serializers

from apps.api.errors import Unprocessable
from apps.api.requests.access import ScopeMissing
from apps.api.resources.fields import ApiField, ChoiceField, Column, FromModel, TextField
from apps.api.resources.filters import ResourceFilter, TextFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.ground.phrases import INVALID
from apps.outgoing.addresses import URL_MAX_LENGTH
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.refusals import ScopeNeeded, SubscriptionRefused
from apps.webhooks.models import Subscription

T = TypeVar("T")
# The service's names of fields, as this resource calls them.
NAMES = {"uri": "address", "include_fields": "fields"}
_TEXTS = {"type": "array", "items": {"type": "string"}}


class TextsField(ApiField):
    """A list of texts; the service says which."""

    schema = _TEXTS

    def to_internal_value(self, data: object) -> list[str]:
        """The texts."""
        if not isinstance(data, list) or not all(isinstance(each, str) for each in data):
            raise serializers.ValidationError(INVALID)
        return data


class WebhookSerializer(ResourceSerializer[Subscription]):
    """A webhook subscription as the interface shows it."""

    address = TextField(source="uri", max_length=URL_MAX_LENGTH, allow_blank=True)
    topic = TextField(max_length=100, allow_blank=True)
    created_at = FromModel()
    updated_at = FromModel()
    format = ChoiceField(choices=Subscription.Format.choices, required=False)
    fields = TextsField(source="include_fields", required=False)  # type: ignore[assignment]
    metafield_namespaces = TextsField(required=False)
    api_version = Column()
    private_metafield_namespaces = TextsField(required=False)
    filter = TextField(required=False, allow_blank=True, allow_null=True)
    name = TextField(required=False, allow_null=True, allow_blank=True)
    warnings = Column()

    class Meta:
        model = Subscription


class WebhookFilter(ResourceFilter):
    """How a list of subscriptions is narrowed."""

    address = TextFilter("uri")
    topic = TextFilter("topic")


class WebhookViewSet(ShopViewSet[Subscription]):
    """``/webhooks``: the calling app's subscriptions; which topics it may have, its scopes say."""

    model = Subscription
    serializer_class = WebhookSerializer
    filterset_class = WebhookFilter
    singular = "webhook"
    plural = "webhooks"
    versions: ClassVar[tuple[str, ...]] = ("version",)

    def get_queryset(self) -> QuerySet[Subscription]:
        """Another app's subscriptions do not exist for this one, nor those of its own configuration file."""
        return subscriptions.subscriptions_of(self.shop, self.access.installation.app_id)

    def hold(self, instance: Subscription) -> None:
        """The service holds it, after its shop."""

    def perform_create(self, attrs: Attrs) -> Subscription:
        """Subscribe, in the version of the request."""
        return _answered(
            lambda: subscriptions.create_subscription(
                self.access.installation, {"api_version": self.version, **attrs}, actor=self.actor, at=self.at
            )
        )

    def perform_update(self, instance: Subscription, attrs: Attrs) -> None:
        """Change what is named; the version stays where none is."""
        _answered(lambda: subscriptions.update_subscription(instance, attrs, actor=self.actor, at=self.at))

    def perform_destroy(self, instance: Subscription) -> None:
        """End it."""
        subscriptions.delete_subscription(instance, actor=self.actor, at=self.at)


def _answered(work: Callable[[], T]) -> T:
    """Do it; refusals come back in this resource's names."""
    try:
        return work()
    except ScopeNeeded as error:
        raise ScopeMissing(error.scope) from error
    except SubscriptionRefused as error:
        raise Unprocessable({NAMES.get(field, field): texts for field, texts in error.errors.items()}) from error
