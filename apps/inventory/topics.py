"""The topics that inventory publishes."""

from typing import cast

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.topics import PLAIN, register_resource
from apps.events.domain import topics
from apps.inventory.api.items import InventoryItemSerializer
from apps.inventory.api.levels import InventoryLevelSerializer
from apps.inventory.api.locations import LocationSerializer
from apps.inventory.models import InventoryLevel

_LOCATION = PLAIN | {"activate": gettext_noop("Location activated"), "deactivate": gettext_noop("Location deactivated")}
_LEVEL = {"connect": gettext_noop("Inventory level connected"), "update": gettext_noop("Inventory level changed")}


def register_all() -> None:
    """Add the topics."""
    register_resource(
        "locations", gettext_noop("Location"), LocationSerializer, scope="read_locations", verbs=_LOCATION
    )
    register_resource(
        "inventory_items", gettext_noop("Inventory item"), InventoryItemSerializer, scope="read_inventory"
    )
    register_resource(
        "inventory_levels",
        gettext_noop("Inventory level"),
        InventoryLevelSerializer,
        scope="read_inventory",
        verbs=_LEVEL,
    )
    topics.register(
        "inventory_levels/disconnect",
        scope="read_inventory",
        render=_disconnected,
        label=gettext_noop("Inventory level disconnected"),
        example=InventoryLevel,
        shape=_disconnected_shape,
    )


def _disconnected(instance: Model, version: str) -> dict[str, int]:
    level = cast(InventoryLevel, instance)
    return {"inventory_item_id": level.item_id, "location_id": level.location_id}


def _disconnected_shape(_version: str) -> dict[str, object]:
    whole = {"type": "integer"}
    return {"type": "object", "properties": {"inventory_item_id": whole, "location_id": whole}}
