from django.db.models import QuerySet
from django.http import Http404

from apps.core.rest.requests.deprecations import Deprecation
from apps.core.rest.resources.fields import (
    ChoiceField,
    DateTimeField,
    FloatField,
    ModelDerivedField,
    ReadOnlyColumn,
    global_id_field,
)
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.fulfillment.domain import tracking
from apps.fulfillment.models import Fulfillment, FulfillmentEvent
from apps.orders.api.fields import blank_as_null_text


class FulfillmentEventSerializer(ResourceSerializer[FulfillmentEvent]):
    fulfillment_id = ReadOnlyColumn()
    status = ChoiceField(choices=FulfillmentEvent.Status.choices)
    message = blank_as_null_text(1000)
    happened_at = DateTimeField(required=False, allow_null=True)
    city = blank_as_null_text()
    province = blank_as_null_text()
    country = blank_as_null_text()
    zip = blank_as_null_text(50)
    address1 = blank_as_null_text()
    latitude = FloatField(required=False, allow_null=True, min_value=-90, max_value=90)
    longitude = FloatField(required=False, allow_null=True, min_value=-180, max_value=180)
    shop_id = ReadOnlyColumn()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    estimated_delivery_at = DateTimeField(required=False, allow_null=True)
    order_id = ReadOnlyColumn("fulfillment__order_id")
    admin_graphql_api_id = global_id_field("FulfillmentEvent")


_DEPRECATED = Deprecation("fulfillment-event")


class FulfillmentEventViewSet(ShopViewSet[FulfillmentEvent]):
    """``/orders/{order_id}/fulfillments/{fulfillment_id}/events``."""

    scope = "orders"
    serializer_class = FulfillmentEventSerializer
    singular = "fulfillment_event"
    body_name = "event"
    deprecated = {"retrieve": _DEPRECATED, "destroy": _DEPRECATED}

    @property
    def shows_all_shop_rows(self) -> bool:
        """Return False, because the rows depend on the fulfillment in the path."""
        return False

    def load_parents(self) -> None:
        if not self._fulfillments().exists():
            raise Http404

    def _fulfillments(self) -> QuerySet[Fulfillment]:
        return Fulfillment.objects.filter(pk=self.kwargs["fulfillment_id"], order=self.kwargs["order_id"])

    def get_queryset(self) -> QuerySet[FulfillmentEvent]:
        return FulfillmentEvent.objects.filter(fulfillment__in=self._fulfillments())

    def get_validated_attributes(self, instance: FulfillmentEvent | None = None) -> Attrs:
        """Validate the body. Its members are nested under ``fulfillment_event`` or ``event``."""
        name = self.singular if isinstance(self.body, dict) and self.singular in self.body else self.body_name
        return validate_body(self.serializer_class, self.version, self.unwrap_body(name))

    def perform_create(self, attrs: Attrs) -> FulfillmentEvent:
        return tracking.add_event(self._fulfillments().get(), attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: FulfillmentEvent) -> None:
        tracking.delete_event(instance, actor=self.actor, at=self.at)
