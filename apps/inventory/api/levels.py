"""Inventory levels over REST: listed by items and locations, set, adjusted, connected, deleted."""

from collections.abc import Mapping
from typing import TypeVar

from django.db import models, transaction
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.errors import Unprocessable
from apps.api.requests.views import ONE
from apps.api.resources.fields import BooleanField, Column, Computed, FromModel, IntegerField
from apps.api.resources.filters import IdsFilter, ResourceFilter
from apps.api.resources.members import read_members
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Data
from apps.api.viewsets import ShopViewSet
from apps.ground.rows import ShopOwned
from apps.ground.statements import row_of
from apps.inventory.domain import stock
from apps.inventory.domain.movements import NotStocked
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location

M = TypeVar("M", bound=ShopOwned)
WITHOUT_PARAMETERS = "inventory_item_ids or location_ids must be given"


def _global_id(context: Context, pk: int, item_id: int) -> str:
    return f"gid://{context.brand}/InventoryLevel/{pk}?inventory_item_id={item_id}"


class InventoryLevelSerializer(ResourceSerializer[InventoryLevel]):
    """A level as the interface shows it."""

    id = None
    inventory_item_id = Column("item_id")
    location_id = Column()
    available = Column()
    updated_at = FromModel(read_only=True)
    admin_graphql_api_id = Computed(_global_id, "pk", "item_id")

    class Meta:
        model = InventoryLevel


class InventoryLevelFilter(ResourceFilter):
    """How levels are narrowed: by items and locations, one of which must be given."""

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
_DELETE = {"location_id": _ID, "inventory_item_id": _ID}


class InventoryLevelViewSet(ShopViewSet[InventoryLevel]):
    """``/inventory_levels``: how many of what are where."""

    scope = "inventory"
    model = InventoryLevel
    serializer_class = InventoryLevelSerializer
    filterset_class = InventoryLevelFilter
    singular = "inventory_level"
    plural = "inventory_levels"
    versions = ("version",)
    bodies = {"set": _SET, "adjust": _ADJUST, "connect": _CONNECT}
    answers = {"set": ONE, "adjust": ONE, "connect": ONE}
    statuses = {"connect": 201}

    def filtered(self, filters: Mapping[str, str]) -> models.QuerySet[InventoryLevel] | type[InventoryLevel]:
        """The levels that fit; all levels of a shop at once cannot be asked for."""
        if not filters.keys() & {"inventory_item_ids", "location_ids"}:
            raise Unprocessable({"base": [WITHOUT_PARAMETERS]})
        return super().filtered(filters)

    def set(self, request: Request) -> HttpResponse:
        """Set a level."""
        given = read_members(_SET, self.body)
        item, location = self._item_and_location(given)
        relocate = given["disconnect_if_necessary"]
        return self._shown(
            stock.set_available(item, location, given["available"], actor=self.actor, at=self.at, relocate=relocate)
        )

    def adjust(self, request: Request) -> HttpResponse:
        """Add to a level, or take away."""
        given = read_members(_ADJUST, self.body)
        ids = given["inventory_item_id"], given["location_id"]
        try:
            level = stock.adjust(*ids, given["available_adjustment"], actor=self.actor, at=self.at)
        except NotStocked:
            # Whether there are such an item and such a location matters only here.
            self._item_and_location(given)
            raise
        return self._shown(level)

    def connect(self, request: Request) -> HttpResponse:
        """Let a location stock an item."""
        given = read_members(_CONNECT, self.body)
        item, location = self._item_and_location(given)
        relocate = given["relocate_if_necessary"]
        level = stock.connect(item, location, actor=self.actor, at=self.at, relocate=relocate)
        return self._shown(level, 201)

    def destroy(self, request: Request, **_: int) -> HttpResponse:
        """Let a location stock an item no longer; both are named in the query."""
        given = read_members(_DELETE, self.query)
        with transaction.atomic():
            item, location = self._item_and_location(given)
            if not InventoryLevel.objects.filter(item=item, location=location).exists():
                raise Http404
            stock.disconnect(item, location, actor=self.actor, at=self.at)
        return self.json({})

    def _shown(self, level: InventoryLevel, status: int = 200) -> HttpResponse:
        """A level as its service left it; nobody waits for its row while the answer is made."""
        return self.json({self.singular: self.plan().of(level, self.context)}, status)

    def _item_and_location(self, given: Data) -> tuple[InventoryItem, Location]:
        return _found(InventoryItem, given["inventory_item_id"]), _found(Location, given["location_id"])


def _found(model: type[M], pk: int) -> M:
    """The shop's row with that id."""
    row = row_of(model, pk)
    if row is None:
        raise Http404
    return row
