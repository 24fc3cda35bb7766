from collections.abc import Mapping
from typing import TypeVar

from django.db import models, transaction
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.db.compiled_queries import get_row
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import BooleanField, ComputedField, IntegerField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.filters import IdsFilter, ResourceFilter
from apps.core.rest.resources.nested_objects import validate_members
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import RequestData
from apps.inventory.domain import stock
from apps.inventory.domain.movements import NotStocked
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location

M = TypeVar("M", bound=ShopOwned)
WITHOUT_PARAMETERS = "inventory_item_ids or location_ids must be given"


def _global_id(context: RenderContext, pk: int, item_id: int) -> str:
    return f"gid://{context.brand}/InventoryLevel/{pk}?inventory_item_id={item_id}"


class InventoryLevelSerializer(ResourceSerializer[InventoryLevel]):
    id = None
    inventory_item_id = ReadOnlyColumn("item_id")
    location_id = ReadOnlyColumn()
    available = ReadOnlyColumn()
    updated_at = ModelDerivedField(read_only=True)
    admin_graphql_api_id = ComputedField(_global_id, "pk", "item_id")


class InventoryLevelFilter(ResourceFilter):
    inventory_item_ids = IdsFilter("item_id")
    location_ids = IdsFilter("location_id")


_ID = IntegerField(min_value=1)
_SET = {
    "location_id": _ID,
    "inventory_item_id": _ID,
    "available": IntegerField(min_value=0, max_value=MAX_AVAILABLE),
    "disconnect_if_necessary": BooleanField(required=False, default=False),
}
_ADJUST = {
    "location_id": _ID,
    "inventory_item_id": _ID,
    "available_adjustment": IntegerField(min_value=-MAX_AVAILABLE, max_value=MAX_AVAILABLE),
}
_CONNECT = {
    "location_id": _ID,
    "inventory_item_id": _ID,
    "relocate_if_necessary": BooleanField(required=False, default=False),
}
_DISCONNECT = {"location_id": _ID, "inventory_item_id": _ID}


class InventoryLevelViewSet(ShopViewSet[InventoryLevel]):
    scope = "inventory"
    serializer_class = InventoryLevelSerializer
    filterset_class = InventoryLevelFilter
    singular = "inventory_level"
    version_columns = ("version",)
    request_bodies = {"set": _SET, "adjust": _ADJUST, "connect": _CONNECT, "disconnect": _DISCONNECT}
    responses = {"set": ONE, "adjust": ONE, "connect": ONE, "disconnect": {"type": "object", "maxProperties": 0}}
    success_statuses = {"connect": 201}

    def filter_rows(self, filters: Mapping[str, str]) -> models.QuerySet[InventoryLevel] | type[InventoryLevel]:
        """Reject requests without item or location ids, because listing all levels of a shop is not supported."""
        if not filters.keys() & {"inventory_item_ids", "location_ids"}:
            raise Unprocessable({"base": [WITHOUT_PARAMETERS]})
        return super().filter_rows(filters)

    def set(self, request: Request) -> HttpResponse:
        """Set the available quantity of an inventory item at a location."""
        params = validate_members(_SET, self.body)
        item, location = self._get_item_and_location(params)
        relocate = params["disconnect_if_necessary"]
        return self._respond(
            stock.set_available(item, location, params["available"], actor=self.actor, at=self.at, relocate=relocate)
        )

    def adjust(self, request: Request) -> HttpResponse:
        """Adjust the available quantity of an inventory item at a location."""
        params = validate_members(_ADJUST, self.body)
        ids = params["inventory_item_id"], params["location_id"]
        try:
            level = stock.adjust_available(*ids, params["available_adjustment"], actor=self.actor, at=self.at)
        except NotStocked:
            # Respond with 404 if the item or the location does not exist.
            self._get_item_and_location(params)
            raise
        return self._respond(level)

    def connect(self, request: Request) -> HttpResponse:
        """Connect an inventory item to a location."""
        params = validate_members(_CONNECT, self.body)
        item, location = self._get_item_and_location(params)
        relocate = params["relocate_if_necessary"]
        level = stock.connect_item(item, location, actor=self.actor, at=self.at, relocate=relocate)
        return self._respond(level, 201)

    def disconnect(self, request: Request) -> HttpResponse:
        """Disconnect an inventory item from a location."""
        return self._disconnect(validate_members(_DISCONNECT, self.body))

    def destroy(self, request: Request, **_: int) -> HttpResponse:
        """Disconnect an item from a location."""
        return self._disconnect(validate_members(_DISCONNECT, self.query))

    def _disconnect(self, params: RequestData) -> HttpResponse:
        with transaction.atomic():
            item, location = self._get_item_and_location(params)
            if not InventoryLevel.objects.filter(item=item, location=location).exists():
                raise Http404
            stock.disconnect_item(item, location, actor=self.actor, at=self.at)
        return self.json_response({})

    def _respond(self, level: InventoryLevel, status: int = 200) -> HttpResponse:
        """Render the level that the domain function returned, because a reloaded row could contain a later change."""
        return self.json_response({self.singular: self.get_read_plan().render_instance(level, self.context)}, status)

    def _get_item_and_location(self, params: RequestData) -> tuple[InventoryItem, Location]:
        return _get_or_404(InventoryItem, params["inventory_item_id"]), _get_or_404(Location, params["location_id"])


def _get_or_404(model: type[M], pk: int) -> M:
    row = get_row(model, pk)
    if row is None:
        raise Http404
    return row
