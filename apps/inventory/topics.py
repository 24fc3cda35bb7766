from typing import cast

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.rest.webhook_topics import DEFAULT_LABELS, build_resource_topics
from apps.inventory.api.items import InventoryItemSerializer
from apps.inventory.api.levels import InventoryLevelSerializer
from apps.inventory.api.locations import LocationSerializer
from apps.inventory.domain import receipts, transfers
from apps.inventory.models import InventoryLevel

_LOCATION = {
    **DEFAULT_LABELS,
    "activate": gettext_noop("Location activated"),
    "deactivate": gettext_noop("Location deactivated"),
}
_LEVEL = {"connect": gettext_noop("Inventory level created"), "update": gettext_noop("Inventory level changed")}


def _render_disconnected(instance: Model, version: str) -> dict[str, int]:
    level = cast(InventoryLevel, instance)
    return {"inventory_item_id": level.item_id, "location_id": level.location_id}


def _get_disconnected_schema(_version: str) -> dict[str, object]:
    integer = {"type": "integer"}
    return {"type": "object", "properties": {"inventory_item_id": integer, "location_id": integer}}


topics.add(
    *build_resource_topics(
        "locations", gettext_noop("Location"), LocationSerializer, scopes=("read_locations",), verbs=_LOCATION
    )
)
topics.add(
    *build_resource_topics(
        "inventory_items", gettext_noop("Inventory item"), InventoryItemSerializer, scopes=("read_inventory",)
    )
)
topics.add(
    *build_resource_topics(
        "inventory_levels",
        gettext_noop("Inventory level"),
        InventoryLevelSerializer,
        scopes=("read_inventory",),
        verbs=_LEVEL,
    )
)
topics.add(
    Topic(
        name="inventory_levels/disconnect",
        scopes=("read_inventory",),
        render=_render_disconnected,
        label=gettext_noop("Inventory level deleted"),
        example=InventoryLevel,
        get_schema=_get_disconnected_schema,
    )
)
for _name, _text in (
    (receipts.CREATED, gettext_noop("Stock receipt created")),
    (receipts.UPDATED, gettext_noop("Stock receipt changed")),
    (receipts.RECEIVED, gettext_noop("Stock receipt received")),
    (receipts.CANCELED, gettext_noop("Stock receipt canceled")),
    (transfers.CREATED, gettext_noop("Stock transfer created")),
    (transfers.UPDATED, gettext_noop("Stock transfer changed")),
    (transfers.SENT, gettext_noop("Stock transfer sent")),
    (transfers.RECEIVED, gettext_noop("Items of a stock transfer received")),
    (transfers.CANCELED, gettext_noop("Stock transfer canceled")),
):
    topics.add(Topic(name=_name, render=lambda document, _version: {"id": document.pk}, label=_text))
