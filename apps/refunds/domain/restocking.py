"""Remove refunded items from their order and restock them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import product

from django.utils.translation import gettext as _

from apps.core.i18n.error_messages import BLANK, INVALID
from apps.core.types import Errors
from apps.fulfillment.domain.fulfillment_orders import quantities
from apps.fulfillment.domain.fulfillment_orders.quantities import Removal
from apps.inventory.domain.movements import StockChange
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import InventoryLevel, Location
from apps.orders.domain.stock_reservation import release_stock
from apps.orders.models import LineItem, Order
from apps.refunds.domain import refunded_parts
from apps.refunds.domain.stock_sources import StockSources
from apps.refunds.domain.validation import RefundLine, RefundRefused, RefundRequest, RestockType

# If there are more locations than this, only locations that stock an item are offered.
MANY_LOCATIONS = 20
RESTOCK_TYPES = frozenset({RestockType.CANCEL, RestockType.RETURN})


def resolve_restock_locations(
    refund_lines: Sequence[RefundLine], refund_request: RefundRequest
) -> list[Location | None]:
    """Return the restock location of each item, or None for items that are not restocked.

    A location may be missing only if the deprecated ``restock`` is set. The default location is then used.
    """
    restocked = [refund_line for refund_line in refund_lines if refund_line.restock_type in RESTOCK_TYPES]
    if not restocked:
        return [None] * len(refund_lines)
    active = {row.pk: row for row in Location.objects.filter(active=True)}
    services = _get_service_locations([refund_line.line for refund_line in restocked])
    # Query the primary location at most once.
    primary = cache(get_primary_location)
    errors: Errors = {}
    locations: list[Location | None] = []
    for refund_line in refund_lines:
        location = None
        if refund_line.restock_type in RESTOCK_TYPES:
            field = f"refund_line_items.{refund_line.index}.location_id"
            if refund_line.location_id is not None:
                location = active.get(refund_line.location_id)
                if location is None:
                    errors[field] = [INVALID]
            elif refund_request.restock:
                sources = {} if refund_line.source_id is None else {refund_line.source_id: refund_line.quantity}
                location = _default_location(refund_line.line, active, services, primary, sources)
            else:
                errors[field] = [BLANK]
            service = services.get(_inventory_item_id(refund_line.line))
            if location is not None and service is not None and location.pk != service.pk:
                errors[field] = [
                    _("must be {service}, the fulfillment service that stocks the item").format(service=service.name)
                ]
        locations.append(location)
    if errors:
        raise RefundRefused(errors)
    return locations


def _inventory_item_id(line: LineItem) -> int | None:
    return line.variant.inventory_item_id if line.variant is not None else None


def _get_service_locations(lines: Iterable[LineItem]) -> dict[int | None, Location]:
    items = {_inventory_item_id(line) for line in lines} - {None}
    levels = InventoryLevel.objects.filter(item_id__in=items, location__legacy=True).select_related("location")
    return {level.item_id: level.location for level in levels.order_by("-location_id")}


def _default_location(
    line: LineItem,
    active: dict[int, Location],
    services: dict[int | None, Location],
    primary: Callable[[], Location],
    sources: Mapping[int, int],
) -> Location:
    """Return the location of the item's fulfillment service, of most items, or the primary location.

    ``sources`` are the quantities by location that the items were taken from.
    """
    if service := services.get(_inventory_item_id(line)):
        return service
    quantities_by_location = [(units, pk) for pk, units in sources.items() if units and pk in active]
    return active[max(quantities_by_location)[1]] if quantities_by_location else primary()


def get_restock_choices(order: Order, lines: Sequence[LineItem]) -> dict[tuple[int, RestockType], list[Location]]:
    """Return possible restock locations, keyed by line ID and restock type. Each list begins with the default."""
    active = {row.pk: row for row in Location.objects.filter(active=True).order_by("name", "pk")}
    services = _get_service_locations(lines)
    primary = cache(get_primary_location)
    own = [row for row in active.values() if not row.legacy]
    stocked = _get_stocked_pairs(lines) if len(own) > MANY_LOCATIONS else None
    stock_sources = StockSources(order)
    loaders = {RestockType.CANCEL: stock_sources.get_waiting, RestockType.RETURN: stock_sources.get_sent}
    choices = {}
    for line, (kind, get_sources) in product(lines, loaders.items()):
        default = _default_location(line, active, services, primary, get_sources(line))
        alternatives = [] if _inventory_item_id(line) in services else [row for row in own if row.pk != default.pk]
        if stocked is not None:
            alternatives = [row for row in alternatives if (_inventory_item_id(line), row.pk) in stocked]
        choices[line.pk, kind] = [default, *alternatives]
    return choices


def _get_stocked_pairs(lines: Iterable[LineItem]) -> set[tuple[int | None, int]]:
    items = {_inventory_item_id(line) for line in lines} - {None}
    return set(InventoryLevel.objects.filter(item_id__in=items).values_list("item_id", "location_id"))


def remove_from_order(
    order: Order,
    refund_lines: Sequence[RefundLine],
    locations: Sequence[Location | None],
    *,
    actor: str,
    at: datetime,
) -> list[StockChange]:
    """Remove refunded items from the fulfillment orders and the lines, and return the inventory changes to apply.

    Items only go back to stock if the order took them from stock. The caller saves the lines.
    """
    sources = _remove_from_fulfillment_orders(order, refund_lines, locations, actor=actor, at=at)
    stock_sources = StockSources(order)
    moves: dict[tuple[int, int], int] = {}
    rows = list(zip(refund_lines, locations, sources, strict=True))
    # Release the stock of canceled items first. What is left then shows where the returned items were sent from.
    for refund_line, location, removed in sorted(rows, key=lambda row: row[0].restock_type != RestockType.CANCEL):
        line, quantity = refund_line.line, refund_line.quantity
        before = line.current_quantity
        refunded_parts.reduce_quantities([refund_line.units])
        taken = before - line.current_quantity
        if refund_line.restock_type == RestockType.NO_RESTOCK:
            line.unrestocked_quantity += taken
        else:
            # The other items were removed from the order earlier. Of these, items without restocking come back now.
            line.unrestocked_quantity -= min(line.unrestocked_quantity, quantity - taken)
        if location is None:
            continue
        if refund_line.restock_type == RestockType.CANCEL:
            line.fulfillable_quantity -= quantity
            released = release_stock(line, quantity, {**removed, location.pk: removed.get(location.pk, quantity)})
        else:
            sent = stock_sources.get_sent(line)
            released = release_stock(line, quantity, {location.pk: sent.get(location.pk, 0), **sent})
        if line.variant is not None and released:
            key = (line.variant.inventory_item_id, location.pk)
            moves[key] = moves.get(key, 0) + released.total()
    return [StockChange(item, location, units, connect=True) for (item, location), units in moves.items()]


def _remove_from_fulfillment_orders(
    order: Order,
    refund_lines: Sequence[RefundLine],
    locations: Sequence[Location | None],
    *,
    actor: str,
    at: datetime,
) -> list[dict[int, int]]:
    """Remove canceled items from the fulfillment orders, if possible at the location that restocks them.

    Return the removed quantities of each refund line by location. If the order is being canceled, the fulfillment
    orders have already been closed.
    """
    removals = {
        index: Removal(refund_line.line.pk, refund_line.quantity, None if location is None else location.pk)
        for index, (refund_line, location) in enumerate(zip(refund_lines, locations, strict=True))
        if refund_line.restock_type == RestockType.CANCEL
    }
    if not removals or order.cancelled_at is not None:
        return [{} for _refund_line in refund_lines]
    removed = quantities.remove_from_fulfillment_orders(order, list(removals.values()), actor=actor, at=at)
    by_index = dict(zip(removals, removed, strict=True))
    return [by_index.get(index, {}) for index in range(len(refund_lines))]
