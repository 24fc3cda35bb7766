"""What becomes of refunded units: they leave the order, and go back to stock where that is asked for."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from django.utils.translation import gettext as _

from apps.ground.attrs import Errors
from apps.ground.phrases import BLANK, INVALID
from apps.inventory.domain.movements import Move
from apps.inventory.domain.stock import primary_location
from apps.inventory.models import InventoryLevel, Location
from apps.orders.models import LineItem
from apps.refunds.domain import calculation
from apps.refunds.domain.requests import Named, RefundRefused, RestockType, Wanted

# Of more locations than these, only those that stock an item are offered for it.
MANY_LOCATIONS = 20
RESTOCKS = frozenset({RestockType.CANCEL, RestockType.RETURN})


def find_places(named: Sequence[Named], wanted: Wanted) -> list[Location | None]:
    """Where each of the units are put; None for those that are not restocked.

    Only the old ``restock`` may leave the location out; the units then go where they were taken.

    Raises:
        RefundRefused: A location is missing, none of the shop's, or not that of the service that stocks the item.
    """
    restocked = [each for each in named if each.restock_type in RESTOCKS]
    if not restocked:
        return [None] * len(named)
    active = {row.pk: row for row in Location.objects.filter(active=True)}
    services = _services([each.line for each in restocked])
    # Asked for once, however many lines were taken from nowhere.
    primary = cache(primary_location)
    errors: Errors = {}
    places: list[Location | None] = []
    for each in named:
        place = None
        if each.restock_type in RESTOCKS:
            field = f"refund_line_items.{each.place}.location_id"
            if each.location_id is not None:
                place = active.get(each.location_id)
                if place is None:
                    errors[field] = [INVALID]
            elif wanted.restock:
                place = _home(each.line, active, services, primary)
            else:
                errors[field] = [BLANK]
            service = services.get(_item(each.line))
            if place is not None and service is not None and place.pk != service.pk:
                errors[field] = [
                    _("must be {service}, the fulfillment service that stocks the item").format(service=service.name)
                ]
        places.append(place)
    if errors:
        raise RefundRefused(errors)
    return places


def _item(line: LineItem) -> int | None:
    return line.variant.inventory_item_id if line.variant is not None else None


def _services(lines: Iterable[LineItem]) -> dict[int | None, Location]:
    """By item, the location of the fulfillment service that stocks it."""
    items = {_item(line) for line in lines} - {None}
    levels = InventoryLevel.objects.filter(item_id__in=items, location__legacy=True).select_related("location")
    return {level.item_id: level.location for level in levels.order_by("-location_id")}


def _home(
    line: LineItem,
    active: dict[int, Location],
    services: dict[int | None, Location],
    primary: Callable[[], Location],
) -> Location:
    """Where units of a line belong: with the service that stocks them, else where most of them were taken."""
    if service := services.get(_item(line)):
        return service
    taken = [(units, int(pk)) for pk, units in line.taken_from.items() if int(pk) in active]
    return active[max(taken)[1]] if taken else primary()


def offers(lines: Sequence[LineItem]) -> dict[int, list[Location]]:
    """Where the units of lines can be put back, by the line's id; where they belong comes first."""
    active = {row.pk: row for row in Location.objects.filter(active=True).order_by("name", "pk")}
    services = _services(lines)
    primary = cache(primary_location)
    own = [row for row in active.values() if not row.legacy]
    stocked = _stocked(lines) if len(own) > MANY_LOCATIONS else None
    found = {}
    for line in lines:
        home = _home(line, active, services, primary)
        others = [] if _item(line) in services else [row for row in own if row.pk != home.pk]
        if stocked is not None:
            others = [row for row in others if (_item(line), row.pk) in stocked]
        found[line.pk] = [home, *others]
    return found


def _stocked(lines: Iterable[LineItem]) -> set[tuple[int | None, int]]:
    """Which items have a level at which location."""
    items = {_item(line) for line in lines} - {None}
    return set(InventoryLevel.objects.filter(item_id__in=items).values_list("item_id", "location_id"))


def leave_order(named: Sequence[Named], places: Sequence[Location | None]) -> list[Move]:
    """Take units out of their lines, which are not saved; what has to be moved in stock.

    What is not tracked, and what no variant stands for any more, moves nothing.
    """
    calculation.take_off([(each.line, each.quantity) for each in named])
    moves: dict[tuple[int, int], int] = {}
    for each, place in zip(named, places, strict=True):
        line = each.line
        if each.restock_type == RestockType.CANCEL:
            line.fulfillable_quantity -= each.quantity
        if place is None:
            continue
        _untake(line, each.quantity, str(place.pk))
        if line.variant is not None and line.variant.inventory_item.tracked:
            key = (line.variant.inventory_item_id, place.pk)
            moves[key] = moves.get(key, 0) + each.quantity
    return [Move(item, location, units, connect=True) for (item, location), units in moves.items()]


def _untake(line: LineItem, units: int, first: str) -> None:
    """Note that units are back, so that a cancellation does not put them back once more."""
    left = dict(line.taken_from)
    for location in sorted(left, key=lambda pk: (pk != first, int(pk))):
        back = min(units, left[location])
        left[location] -= back
        units -= back
    line.taken_from = {location: taken for location, taken in left.items() if taken}
