"""The units of fulfillment orders: which are named, how many remain, and how they go from one to another.

No unit is ever made or lost here: what leaves one fulfillment order arrives in another. Everybody holds the order.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from apps.fulfillment.domain.states import Place, place_of
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError, Gone
from apps.ground.phrases import INVALID, TAKEN, at_least
from apps.ground.tenancy import current_shop
from apps.inventory.models import Location
from apps.orders.domain.loading import lock
from apps.orders.models import Order

Units = dict[FulfillmentOrderLine, int]
LINES = "fulfillment_order_line_items"
# What a fulfillment order hands on to those that its units go to.
_HANDED_ON = (
    "order_id",
    "fulfill_at",
    "fulfill_by",
    "method_type",
    "presented_name",
    "service_code",
    "source_reference",
)


class UnitsRefused(DomainError):
    """The units that are named are not there."""

    code = "units_refused"
    field = LINES


def hold(fulfillment_order: FulfillmentOrder) -> FulfillmentOrder:
    """The fulfillment order as it is now, its order held until the transaction ends.

    Raises:
        Gone: It was deleted meanwhile, with its order.
    """
    order = lock(Order(pk=fulfillment_order.order_id))
    return read(order, [fulfillment_order.pk])[0]


def read(order: Order, pks: Sequence[int]) -> list[FulfillmentOrder]:
    """Fulfillment orders of an order that is held, by ids.

    Raises:
        Gone: One is none of the order's.
    """
    rows = FulfillmentOrder.objects.filter(order=order, pk__in=pks).select_related("assigned_location__service")
    found = list(rows.order_by("pk"))
    if len(found) < len(set(pks)):
        raise Gone
    for row in found:
        row.order = order
    return found


def place(fulfillment_order: FulfillmentOrder) -> Place:
    """Who manages its location."""
    return place_of(at_service=fulfillment_order.assigned_location.legacy)


def lines_of(fulfillment_order: FulfillmentOrder) -> list[FulfillmentOrderLine]:
    """Its lines in their order."""
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order=fulfillment_order).order_by("pk")
    return list(rows.select_related("line_item"))


def remaining(fulfillment_order: FulfillmentOrder) -> Units:
    """All units that are yet to be sent, by line."""
    return remaining_of([fulfillment_order])[fulfillment_order.pk]


def remaining_of(fulfillment_orders: Sequence[FulfillmentOrder]) -> dict[int, Units]:
    """All units of several that are yet to be sent, by fulfillment order and line; one statement."""
    found: dict[int, Units] = {row.pk: {} for row in fulfillment_orders}
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__in=list(found), fulfillable_quantity__gt=0)
    for line in rows.order_by("fulfillment_order", "pk").select_related("line_item"):
        found[line.fulfillment_order_id][line] = line.fulfillable_quantity
    return found


def named(fulfillment_order: FulfillmentOrder, given: Sequence[Given] | None) -> Units:
    """The units that a body names of a fulfillment order that is held; see ``named_of``."""
    return named_of(remaining(fulfillment_order), given)


def named_of(left: Units, given: Sequence[Given] | None, *, path: str = LINES) -> Units:
    """The units that a body names: ``id`` of a line and ``quantity``, all of the line without it.

    Args:
        left: What remains of the fulfillment order, which is held.
        given: None or empty for all that remain.
        path: Where the body has them, for the messages.

    Raises:
        UnitsRefused: A line is none of its, is named twice, or fewer remain.
    """
    if not given:
        return left
    by_id = {line.pk: line for line in left}
    units: Units = {}
    errors: Errors = {}
    for index, row in enumerate(given):
        line, quantity = by_id.get(row["id"]), row.get("quantity")
        if line is None:
            errors[f"{path}.{index}.id"] = [INVALID]
        elif line in units:
            errors[f"{path}.{index}.id"] = [TAKEN]
        elif quantity is not None and quantity < 1:
            errors[f"{path}.{index}.quantity"] = [at_least(1)]
        elif quantity is not None and quantity > left[line]:
            errors[f"{path}.{index}.quantity"] = [f"is more than remains ({left[line]})"]
        else:
            units[line] = left[line] if quantity is None else quantity
    if errors:
        raise UnitsRefused(errors)
    return units


def rest(fulfillment_order: FulfillmentOrder, units: Units) -> Units:
    """What remains besides some units."""
    return without(remaining(fulfillment_order), units)


def without(left: Units, units: Units) -> Units:
    """Units less others."""
    counts = {line: count - units.get(line, 0) for line, count in left.items()}
    return {line: count for line, count in counts.items() if count}


def hand_on(
    fulfillment_order: FulfillmentOrder,
    units: Units,
    *,
    at: datetime,
    location: Location | None = None,
    status: Status = Status.OPEN,
    request: RequestStatus = RequestStatus.UNSUBMITTED,
) -> FulfillmentOrder | None:
    """Let units that were not sent go to a new fulfillment order; None where there are none.

    Args:
        fulfillment_order: Whose they are; a line of which nothing is left goes.
        units: How many of each line.
        at: When.
        location: Of the new one; the same where omitted.
        status: Of the new one; on hold, it waits for the same reasons.
        request: The status of its request.
    """
    if not units:
        return None
    location = location or fulfillment_order.assigned_location
    made = beside(fulfillment_order, location, at=at, status=status, request=request)
    for line, count in units.items():
        line.quantity -= count
        line.fulfillable_quantity -= count
    save_lines(units)
    add_lines(made, {line.line_item_id: count for line, count in units.items()}, at=at)
    if status == Status.ON_HOLD:
        _copy_holds(fulfillment_order, made)
    return made


def split_off(fulfillment_order: FulfillmentOrder, units: Units, *, at: datetime) -> FulfillmentOrder | None:
    """Let units go to a new fulfillment order in the same state."""
    status, request = Status(fulfillment_order.status), RequestStatus(fulfillment_order.request_status)
    return hand_on(fulfillment_order, units, at=at, status=status, request=request)


def _copy_holds(fulfillment_order: FulfillmentOrder, made: FulfillmentOrder) -> None:
    """Let a new one wait for the same reasons as another."""
    holds = FulfillmentHold.objects.filter(fulfillment_order=fulfillment_order).order_by("pk")
    FulfillmentHold.objects.bulk_create(
        [
            FulfillmentHold(
                shop_id=made.shop_id,
                fulfillment_order=made,
                reason=row.reason,
                reason_notes=row.reason_notes,
                actor=row.actor,
                created_at=row.created_at,
            )
            for row in holds
        ]
    )


def save_lines(lines: Sequence[FulfillmentOrderLine] | Units) -> None:
    """Save changed lines; those without a unit go."""
    kept = [line for line in lines if line.quantity]
    gone = [line.pk for line in lines if not line.quantity]
    if gone:
        FulfillmentOrderLine.objects.filter(pk__in=gone).delete()
    if kept:
        FulfillmentOrderLine.objects.bulk_update(kept, ["quantity", "fulfilled_quantity", "fulfillable_quantity"])


def add_lines(fulfillment_order: FulfillmentOrder, counts: Mapping[int, int], *, at: datetime) -> None:
    """Give a new fulfillment order its lines: units by line item."""
    add_all_lines([(fulfillment_order, counts)], at=at)


def add_all_lines(given: Sequence[tuple[FulfillmentOrder, Mapping[int, int]]], *, at: datetime) -> None:
    """Give new fulfillment orders their lines."""
    FulfillmentOrderLine.objects.bulk_create(
        [
            FulfillmentOrderLine(
                shop_id=made.shop_id,
                fulfillment_order=made,
                line_item_id=line_item,
                quantity=count,
                fulfillable_quantity=count,
                created_at=at,
            )
            for made, counts in given
            for line_item, count in counts.items()
        ]
    )


def beside(
    fulfillment_order: FulfillmentOrder,
    location: Location,
    *,
    at: datetime,
    status: Status = Status.OPEN,
    request: RequestStatus = RequestStatus.UNSUBMITTED,
) -> FulfillmentOrder:
    """A new fulfillment order of the same order, without lines yet."""
    made: FulfillmentOrder = FulfillmentOrder.objects.create(
        shop=current_shop(),
        assigned_location=location,
        status=status,
        request_status=request,
        created_at=at,
        **{name: getattr(fulfillment_order, name) for name in _HANDED_ON},
    )
    return made
