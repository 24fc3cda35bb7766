"""Fulfillment services over REST: an app changes its own, and may see all of a shop."""

from collections.abc import Mapping

from django.db.models import Model, QuerySet

from apps.api.resources.fields import ChoiceField, Column, Constant, FromModel, GlobalId, IntegerField, TextField
from apps.api.resources.filters import ResourceFilter, WordFilter, apply_filters
from apps.api.resources.members import read_members
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.fulfillment.domain import services
from apps.fulfillment.domain.services import DestinationRefused, InventoryAction
from apps.fulfillment.models import FulfillmentService
from apps.ground.phrases import MUST_EXIST
from apps.inventory.models import Location

_OWN, _ALL = "current_client", "all"
_DELETE = {
    "inventory_action": ChoiceField(choices=InventoryAction.choices, required=False),
    "location_id": IntegerField(required=False, min_value=1),
}


class FulfillmentServiceSerializer(ResourceSerializer[FulfillmentService]):
    """A fulfillment service as the interface shows it."""

    name = FromModel()
    email = Constant(None)
    service_name = Column("name")
    handle = Column()
    fulfillment_orders_opt_in = Constant(True)
    include_pending_stock = Constant(False)
    provider_id = Constant(None)
    location_id = Column()
    # Its form is the guard's matter.
    callback_url = TextField(max_length=2048)
    tracking_support = FromModel()
    inventory_management = FromModel()
    admin_graphql_api_id = GlobalId("FulfillmentService")
    permits_sku_sharing = FromModel(until="2026-04")
    requires_shipping_method = FromModel()

    class Meta:
        model = FulfillmentService


class OwnerFilter(WordFilter):
    """``scope``: the calling app's own services, or all of the shop; the view knows who calls."""

    def __init__(self) -> None:
        """The two words."""
        super().__init__("app", words=(_OWN, _ALL))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """All of them: only the word is checked here."""
        return qs


class FulfillmentServiceFilter(ResourceFilter):
    """How a list of fulfillment services is narrowed."""

    scope = OwnerFilter()


class FulfillmentServiceViewSet(ShopViewSet[FulfillmentService]):
    """``/fulfillment_services``: any app sees those of a shop, and writes its own."""

    scope = "fulfillments"
    model = FulfillmentService
    serializer_class = FulfillmentServiceSerializer
    filterset_class = FulfillmentServiceFilter
    singular = "fulfillment_service"
    plural = "fulfillment_services"
    versions = ("version",)
    queries = {"destroy": tuple(_DELETE)}

    def get_queryset(self) -> QuerySet[FulfillmentService]:
        """For a write, another app's services do not exist."""
        if self.action in {"list", "retrieve"}:
            return FulfillmentService.objects.all()
        return self._own()

    def filtered(self, filters: Mapping[str, str]) -> QuerySet[FulfillmentService]:
        """The app's own, unless all are asked for."""
        rows = apply_filters(self.filterset_class, dict(filters), self.get_queryset())
        return rows if filters.get("scope") == _ALL else rows & self._own()

    def _own(self) -> QuerySet[FulfillmentService]:
        return FulfillmentService.objects.filter(app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> FulfillmentService:
        """The service belongs to the calling app."""
        app = self.access.installation.app
        return services.create_service(attrs, app=app, actor=self.actor, at=self.at)

    def perform_update(self, instance: FulfillmentService, attrs: Attrs) -> None:
        """Change the service."""
        services.change_service(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: FulfillmentService) -> None:
        """Give the service up; the query says what becomes of its stock, and which location takes over."""
        given = read_members(_DELETE, self.query)
        destination = None
        if "location_id" in given:
            destination = Location.objects.filter(pk=given["location_id"]).first()
            if destination is None:
                raise DestinationRefused(MUST_EXIST)
        services.delete_service(
            instance,
            actor=self.actor,
            at=self.at,
            inventory_action=given.get("inventory_action", InventoryAction.DELETE),
            destination=destination,
        )
