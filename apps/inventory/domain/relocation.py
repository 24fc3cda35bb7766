"""Move items between fulfillment services and the shop's own locations."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache

from django.db import transaction

from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryLevel, Location


@transaction.atomic
def relocate_items(service_location_ids: Mapping[int, int | None], *, actor: str, at: datetime) -> None:
    """Stock items at the location of a fulfillment service, or at the shop's own locations if there is no service.

    ``service_location_ids`` is keyed by item. An item is disconnected from locations that can no longer fulfill it or
    share it. Levels with stock that can share the item remain. The number of statements does not depend on the number
    of items.
    """
    stock.lock_items(service_location_ids)
    levels_by_item: dict[int, list[InventoryLevel]] = defaultdict(list)
    levels = InventoryLevel.objects.select_for_update().filter(item__in=service_location_ids)
    for level in levels.order_by("item_id", "location_id"):
        levels_by_item[level.item_id].append(level)
    locations = Location.objects.in_bulk()
    primary = cache(stock.get_primary_location)
    removed: list[InventoryLevel] = []
    connections: list[StockChange] = []
    for item_id, service_location_id in sorted(service_location_ids.items()):
        own_levels = levels_by_item[item_id]
        pk = service_location_id or _find_own_location(own_levels, locations) or primary().pk
        is_connected = any(level.location_id == pk for level in own_levels)
        for level in own_levels:
            other = locations[level.location_id]
            is_shareable = is_connected or (locations[pk].permits_sku_sharing and other.permits_sku_sharing)
            is_obsolete = (service_location_id is not None or other.legacy) and not level.available
            if level.location_id != pk and (is_obsolete or not is_shareable):
                removed.append(level)
        if not is_connected:
            connections.append(StockChange(item_id, pk, 0, connect=True))
    stock.remove_levels(removed, actor=actor, at=at)
    movements.connect_missing(connections, actor=actor, at=at)
    movements.lock_active_locations(change.location_id for change in connections)


def _find_own_location(levels: Sequence[InventoryLevel], locations: Mapping[int, Location]) -> int | None:
    """Return the first of the shop's own locations that stock the item, or None."""
    return next((level.location_id for level in levels if not locations[level.location_id].legacy), None)
