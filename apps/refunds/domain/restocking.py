"""Remove refunded items from their order and restock them."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from django.utils.translation import gettext as _

from apps.core.i18n.error_messages import BLANK, INVALID
from apps.core.types import Errors
from apps.inventory.domain.movements import StockChange
from apps.inventory.domain.stock import get_primary_location
from apps.inventory.models import InventoryLevel, Location
from apps.orders.models import LineItem
from apps.refunds.domain import calculation
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
                location = _default_location(refund_line.line, active, services, primary)
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
) -> Location:
    """Return the location of the item's fulfillment service, of most taken items, or the primary location."""
    if service := services.get(_inventory_item_id(line)):
        return service
    sources = [(units, int(pk)) for pk, units in line.taken_from.items() if int(pk) in active]
    return active[max(sources)[1]] if sources else primary()


def get_restock_choices(lines: Sequence[LineItem]) -> dict[int, list[Location]]:
    """Return lists of possible restock locations, keyed by line ID. Each list begins with the default location."""
    active = {row.pk: row for row in Location.objects.filter(active=True).order_by("name", "pk")}
    services = _get_service_locations(lines)
    primary = cache(get_primary_location)
    own = [row for row in active.values() if not row.legacy]
    stocked = _get_stocked_pairs(lines) if len(own) > MANY_LOCATIONS else None
    choices = {}
    for line in lines:
        default = _default_location(line, active, services, primary)
        alternatives = [] if _inventory_item_id(line) in services else [row for row in own if row.pk != default.pk]
        if stocked is not None:
            alternatives = [row for row in alternatives if (_inventory_item_id(line), row.pk) in stocked]
        choices[line.pk] = [default, *alternatives]
    return choices


def _get_stocked_pairs(lines: Iterable[LineItem]) -> set[tuple[int | None, int]]:
    items = {_inventory_item_id(line) for line in lines} - {None}
    return set(InventoryLevel.objects.filter(item_id__in=items).values_list("item_id", "location_id"))


def remove_from_order(refund_lines: Sequence[RefundLine], locations: Sequence[Location | None]) -> list[StockChange]:
    """Update the lines of refunded items without saving them, and return the inventory changes to apply.

    Untracked items and items of deleted variants cause no inventory changes.
    """
    calculation.reduce_quantities([(refund_line.line, refund_line.quantity) for refund_line in refund_lines])
    moves: dict[tuple[int, int], int] = {}
    for refund_line, restock_location in zip(refund_lines, locations, strict=True):
        line = refund_line.line
        if refund_line.restock_type == RestockType.CANCEL:
            line.fulfillable_quantity -= refund_line.quantity
        elif refund_line.restock_type == RestockType.NO_RESTOCK:
            line.unrestocked_quantity += refund_line.quantity
        if restock_location is None:
            continue
        _reduce_taken_from(line, refund_line.quantity, str(restock_location.pk))
        if line.variant is not None and line.variant.inventory_item.tracked:
            key = (line.variant.inventory_item_id, restock_location.pk)
            moves[key] = moves.get(key, 0) + refund_line.quantity
    return [StockChange(item, location, units, connect=True) for (item, location), units in moves.items()]


def _reduce_taken_from(line: LineItem, units: int, first: str) -> None:
    """Reduce ``taken_from`` by restocked items, so that a later cancellation does not restock the items again."""
    remaining = dict(line.taken_from)
    for location in sorted(remaining, key=lambda pk: (pk != first, int(pk))):
        returned = min(units, remaining[location])
        remaining[location] -= returned
        units -= returned
    line.taken_from = {location: quantity for location, quantity in remaining.items() if quantity}
