"""Topics for the inventory app."""

from typing import cast

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.webhook_topics import DEFAULT_LABELS, register_resource_topics
from apps.events.domain import topics
from apps.inventory.api.items import InventoryItemSerializer
from apps.inventory.api.levels import InventoryLevelSerializer
from apps.inventory.api.locations import LocationSerializer
from apps.inventory.models import InventoryLevel

_LOCATION = DEFAULT_LABELS | {
    "activate": gettext_noop("Location activated"),
    "deactivate": gettext_noop("Location deactivated"),
}
_LEVEL = {"connect": gettext_noop("Inventory level created"), "update": gettext_noop("Inventory level changed")}


def register_inventory_topics() -> None:
    """Register the topics for locations, inventory items and inventory levels."""
    register_resource_topics(
        "locations", gettext_noop("Location"), LocationSerializer, scope="read_locations", verbs=_LOCATION
    )
    register_resource_topics(
        "inventory_items", gettext_noop("Inventory item"), InventoryItemSerializer, scope="read_inventory"
    )
    register_resource_topics(
        "inventory_levels",
        gettext_noop("Inventory level"),
        InventoryLevelSerializer,
        scope="read_inventory",
        verbs=_LEVEL,
    )
    topics.register_topic(
        "inventory_levels/disconnect",
        scope="read_inventory",
        render=_render_disconnected,
        label=gettext_noop("Inventory level deleted"),
        example=InventoryLevel,
        shape=_get_disconnected_schema,
    )


def _render_disconnected(instance: Model, version: str) -> dict[str, int]:
    level = cast(InventoryLevel, instance)
    return {"inventory_item_id": level.item_id, "location_id": level.location_id}


def _get_disconnected_schema(_version: str) -> dict[str, object]:
    integer = {"type": "integer"}
    return {"type": "object", "properties": {"inventory_item_id": integer, "location_id": integer}}
