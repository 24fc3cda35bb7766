"""The events of a fulfillment over REST."""

from django.db.models import QuerySet
from django.http import Http404

from apps.api.requests.deprecations import Deprecation
from apps.api.resources.fields import ChoiceField, Column, DateTimeField, FloatField, FromModel, GlobalId
from apps.api.resources.serializers import ResourceSerializer, read_body
from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.fulfillment.domain import tracking
from apps.fulfillment.models import Fulfillment, FulfillmentEvent
from apps.orders.api.fields import text


class FulfillmentEventSerializer(ResourceSerializer[FulfillmentEvent]):
    """What happened to a parcel."""

    fulfillment_id = Column()
    status = ChoiceField(choices=FulfillmentEvent.Status.choices)
    message = text(1000)
    happened_at = DateTimeField(required=False, allow_null=True)
    city = text()
    province = text()
    country = text()
    zip = text(50)
    address1 = text()
    latitude = FloatField(required=False, allow_null=True, min_value=-90, max_value=90)
    longitude = FloatField(required=False, allow_null=True, min_value=-180, max_value=180)
    shop_id = Column()
    created_at = FromModel()
    updated_at = FromModel()
    estimated_delivery_at = DateTimeField(required=False, allow_null=True)
    order_id = Column("fulfillment__order_id")
    admin_graphql_api_id = GlobalId("FulfillmentEvent")

    class Meta:
        model = FulfillmentEvent


_DEPRECATED = Deprecation("fulfillment-event")


class FulfillmentEventViewSet(ShopViewSet[FulfillmentEvent]):
    """``/orders/{order_id}/fulfillments/{fulfillment_id}/events``."""

    scope = "orders"
    model = FulfillmentEvent
    serializer_class = FulfillmentEventSerializer
    singular = "fulfillment_event"
    plural = "fulfillment_events"
    body_name = "event"
    deprecated = {"retrieve": _DEPRECATED, "destroy": _DEPRECATED}

    @property
    def is_plain(self) -> bool:
        """The rows are those of the path's fulfillment."""
        return False

    def open(self) -> None:
        """The fulfillment must be the path's order's."""
        if not self._fulfillments().exists():
            raise Http404

    def _fulfillments(self) -> QuerySet[Fulfillment]:
        return Fulfillment.objects.filter(pk=self.kwargs["fulfillment_id"], order=self.kwargs["order_id"])

    def get_queryset(self) -> QuerySet[FulfillmentEvent]:
        """The events of the path's fulfillment."""
        return FulfillmentEvent.objects.filter(fulfillment__in=self._fulfillments())

    def attributes(self, instance: FulfillmentEvent | None = None) -> Attrs:
        """The body, checked; it stands below either name."""
        name = self.singular if isinstance(self.body, dict) and self.singular in self.body else self.body_name
        return read_body(self.serializer_class, self.version, self.unwrapped(name))

    def perform_create(self, attrs: Attrs) -> FulfillmentEvent:
        """Note what happened to the parcel."""
        return tracking.add_event(self._fulfillments().get(), attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: FulfillmentEvent) -> None:
        """Take the event back."""
        tracking.delete_event(instance, actor=self.actor, at=self.at)
