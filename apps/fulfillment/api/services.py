"""REST endpoints for fulfillment services. Apps can read all services of a shop, but only change their own services."""

from collections.abc import Mapping

from django.db.models import Model, QuerySet

from apps.core.i18n.error_messages import MUST_EXIST
from apps.core.rest.resources.fields import (
    ChoiceField,
    ConstantField,
    IntegerField,
    ModelDerivedField,
    ReadOnlyColumn,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.filters import ChoiceFilter, ResourceFilter, apply_filters
from apps.core.rest.resources.nested_objects import validate_members
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.fulfillment.domain.services import changes
from apps.fulfillment.domain.services.changes import DestinationRefused, InventoryAction
from apps.fulfillment.models import FulfillmentService
from apps.inventory.models import Location

_OWN, _ALL = "current_client", "all"
_DELETE = {
    "inventory_action": ChoiceField(choices=InventoryAction.choices, required=False),
    "location_id": IntegerField(required=False, min_value=1),
}


class FulfillmentServiceSerializer(ResourceSerializer[FulfillmentService]):
    name = ModelDerivedField()
    email = ConstantField(None)
    service_name = ReadOnlyColumn("name")
    handle = ReadOnlyColumn()
    fulfillment_orders_opt_in = ConstantField(True)
    include_pending_stock = ConstantField(False)
    provider_id = ConstantField(None)
    location_id = ReadOnlyColumn()
    # The field accepts any text, because ``check_url`` validates the URL.
    callback_url = TextField(max_length=2048)
    tracking_support = ModelDerivedField()
    inventory_management = ModelDerivedField()
    admin_graphql_api_id = global_id_field("FulfillmentService")
    permits_sku_sharing = ModelDerivedField(until="2026-04")
    requires_shipping_method = ModelDerivedField()


class OwnerFilter(ChoiceFilter):
    """The ``scope`` filter: the calling app's services or all services. The viewset applies the filter."""

    def __init__(self) -> None:
        super().__init__("app", words=(_OWN, _ALL))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs


class FulfillmentServiceFilter(ResourceFilter):
    scope = OwnerFilter()


class FulfillmentServiceViewSet(ShopViewSet[FulfillmentService]):
    scope = "fulfillments"
    serializer_class = FulfillmentServiceSerializer
    filterset_class = FulfillmentServiceFilter
    singular = "fulfillment_service"
    version_columns = ("version",)
    query_parameters = {"destroy": tuple(_DELETE)}

    def get_queryset(self) -> QuerySet[FulfillmentService]:
        if self.action in {"list", "retrieve"}:
            return FulfillmentService.objects.all()
        return self._get_own_services()

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[FulfillmentService]:
        rows = apply_filters(self.filterset_class, dict(filters), self.get_queryset())
        return rows if filters.get("scope") == _ALL else rows & self._get_own_services()

    def _get_own_services(self) -> QuerySet[FulfillmentService]:
        return FulfillmentService.objects.filter(app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> FulfillmentService:
        app = self.access.installation.app
        return changes.create_service(attrs, app=app, actor=self.actor, at=self.at)

    def perform_update(self, instance: FulfillmentService, attrs: Attrs) -> None:
        changes.change_service(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: FulfillmentService) -> None:
        """Delete the service, and handle inventory and fulfillment orders as the query parameters specify."""
        options = validate_members(_DELETE, self.query)
        destination = None
        if "location_id" in options:
            destination = Location.objects.filter(pk=options["location_id"]).first()
            if destination is None:
                raise DestinationRefused(MUST_EXIST)
        changes.delete_service(
            instance,
            actor=self.actor,
            at=self.at,
            inventory_action=options.get("inventory_action", InventoryAction.DELETE),
            destination=destination,
        )
