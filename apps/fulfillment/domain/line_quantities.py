"""Parse and count the quantities of fulfillment orders, and move quantities to other fulfillment orders.

Functions that move quantities do not change the total: the quantity removed from one fulfillment order is added to
another. Callers must lock the order.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from apps.fulfillment.domain.states import ManagedBy, get_manager
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.ground.error_messages import INVALID, TAKEN, at_least
from apps.ground.exceptions import DomainError, RowDeleted
from apps.ground.tenancy import get_current_shop
from apps.ground.types import Errors, ReadOnlyAttrs
from apps.inventory.models import Location
from apps.orders.domain.selectors import lock_order
from apps.orders.models import Order

LineQuantities = dict[FulfillmentOrderLine, int]
LINES = "fulfillment_order_line_items"
# The fields that are copied to the new fulfillment order when items are moved.
_COPIED_FIELDS = (
    "order_id",
    "fulfill_at",
    "fulfill_by",
    "method_type",
    "presented_name",
    "service_code",
    "source_reference",
)


class QuantitiesRefused(DomainError):
    """Raised when lines or quantities are invalid."""

    code = "units_refused"
    field = LINES


def lock_fulfillment_order(fulfillment_order: FulfillmentOrder) -> FulfillmentOrder:
    """Lock the order and return the reloaded fulfillment order.

    Raises:
        RowDeleted: If the order was deleted in the meantime.
    """
    order = lock_order(Order(pk=fulfillment_order.order_id))
    return load_fulfillment_orders(order, [fulfillment_order.pk])[0]


def load_fulfillment_orders(order: Order, pks: Sequence[int]) -> list[FulfillmentOrder]:
    """Load fulfillment orders of a locked order by id.

    Raises:
        RowDeleted: If one of the ids is not a fulfillment order of this order.
    """
    rows = FulfillmentOrder.objects.filter(order=order, pk__in=pks).select_related("assigned_location__service")
    fulfillment_orders = list(rows.order_by("pk"))
    if len(fulfillment_orders) < len(set(pks)):
        raise RowDeleted
    for row in fulfillment_orders:
        row.order = order
    return fulfillment_orders


def get_location_manager(fulfillment_order: FulfillmentOrder) -> ManagedBy:
    """Return the party that manages the fulfillment order's location."""
    return get_manager(at_service=fulfillment_order.assigned_location.legacy)


def get_fulfillment_order_lines(fulfillment_order: FulfillmentOrder) -> list[FulfillmentOrderLine]:
    """List the lines of a fulfillment order, sorted by id."""
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order=fulfillment_order).order_by("pk")
    return list(rows.select_related("line_item"))


def get_remaining(fulfillment_order: FulfillmentOrder) -> LineQuantities:
    """Return the quantities that are still to be fulfilled, keyed by line."""
    return get_remaining_of_many([fulfillment_order])[fulfillment_order.pk]


def get_remaining_of_many(fulfillment_orders: Sequence[FulfillmentOrder]) -> dict[int, LineQuantities]:
    """Return the remaining quantities of several fulfillment orders, with one query."""
    remaining_by_pk: dict[int, LineQuantities] = {row.pk: {} for row in fulfillment_orders}
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__in=list(remaining_by_pk), fulfillable_quantity__gt=0)
    for line in rows.order_by("fulfillment_order", "pk").select_related("line_item"):
        remaining_by_pk[line.fulfillment_order_id][line] = line.fulfillable_quantity
    return remaining_by_pk


def parse_quantities(fulfillment_order: FulfillmentOrder, rows: Sequence[ReadOnlyAttrs] | None) -> LineQuantities:
    """Parse the selected quantities of a locked fulfillment order (see ``parse_quantities_of``)."""
    return parse_quantities_of(get_remaining(fulfillment_order), rows)


def parse_quantities_of(
    available: LineQuantities, rows: Sequence[ReadOnlyAttrs] | None, *, path: str = LINES
) -> LineQuantities:
    """Parse selected quantities, each with a line ``id`` and an optional ``quantity`` (by default the whole line).

    Args:
        available: The remaining quantities of the locked fulfillment order.
        rows: The rows in the body. If there are none, all remaining quantities are selected.
        path: The path in the body, for error messages.

    Raises:
        QuantitiesRefused: If a line is unknown or duplicate, or a quantity exceeds the remaining quantity.
    """
    if not rows:
        return available
    by_id = {line.pk: line for line in available}
    units: LineQuantities = {}
    errors: Errors = {}
    for index, row in enumerate(rows):
        line, quantity = by_id.get(row["id"]), row.get("quantity")
        if line is None:
            errors[f"{path}.{index}.id"] = [INVALID]
        elif line in units:
            errors[f"{path}.{index}.id"] = [TAKEN]
        elif quantity is not None and quantity < 1:
            errors[f"{path}.{index}.quantity"] = [at_least(1)]
        elif quantity is not None and quantity > available[line]:
            errors[f"{path}.{index}.quantity"] = [f"is more than the remaining quantity ({available[line]})"]
        else:
            units[line] = available[line] if quantity is None else quantity
    if errors:
        raise QuantitiesRefused(errors)
    return units


def get_unselected(fulfillment_order: FulfillmentOrder, units: LineQuantities) -> LineQuantities:
    """Return the remaining quantities that are not selected."""
    return subtract_quantities(get_remaining(fulfillment_order), units)


def subtract_quantities(minuend: LineQuantities, units: LineQuantities) -> LineQuantities:
    """Subtract quantities from other quantities. Lines with a difference of zero are omitted."""
    counts = {line: count - units.get(line, 0) for line, count in minuend.items()}
    return {line: count for line, count in counts.items() if count}


def move_to_new_fulfillment_order(
    fulfillment_order: FulfillmentOrder,
    units: LineQuantities,
    *,
    at: datetime,
    location: Location | None = None,
    status: Status = Status.OPEN,
    request: RequestStatus = RequestStatus.UNSUBMITTED,
) -> FulfillmentOrder | None:
    """Move unfulfilled quantities to a new fulfillment order. Return None if there are no quantities.

    Args:
        fulfillment_order: The source. Lines that become empty are deleted.
        units: The quantities to move, keyed by line.
        at: The current time.
        location: The location of the new fulfillment order. The default is the source's location.
        status: The status of the new fulfillment order. If the status is "on hold", the holds are copied, too.
        request: The request status of the new fulfillment order.
    """
    if not units:
        return None
    location = location or fulfillment_order.assigned_location
    new_order = create_fulfillment_order_like(fulfillment_order, location, at=at, status=status, request=request)
    for line, count in units.items():
        line.quantity -= count
        line.fulfillable_quantity -= count
    save_lines(units)
    add_lines(new_order, {line.line_item_id: count for line, count in units.items()}, at=at)
    if status == Status.ON_HOLD:
        _copy_holds(fulfillment_order, new_order)
    return new_order


def split_off(fulfillment_order: FulfillmentOrder, units: LineQuantities, *, at: datetime) -> FulfillmentOrder | None:
    """Move quantities to a new fulfillment order with the same statuses."""
    status, request = Status(fulfillment_order.status), RequestStatus(fulfillment_order.request_status)
    return move_to_new_fulfillment_order(fulfillment_order, units, at=at, status=status, request=request)


def _copy_holds(fulfillment_order: FulfillmentOrder, new_order: FulfillmentOrder) -> None:
    """Copy holds to a new fulfillment order."""
    holds = FulfillmentHold.objects.filter(fulfillment_order=fulfillment_order).order_by("pk")
    FulfillmentHold.objects.bulk_create(
        [
            FulfillmentHold(
                shop_id=new_order.shop_id,
                fulfillment_order=new_order,
                reason=row.reason,
                reason_notes=row.reason_notes,
                actor=row.actor,
                created_at=row.created_at,
            )
            for row in holds
        ]
    )


def save_lines(lines: Sequence[FulfillmentOrderLine] | LineQuantities) -> None:
    """Save changed lines and delete lines with quantity 0."""
    changed = [line for line in lines if line.quantity]
    deleted_ids = [line.pk for line in lines if not line.quantity]
    if deleted_ids:
        FulfillmentOrderLine.objects.filter(pk__in=deleted_ids).delete()
    if changed:
        FulfillmentOrderLine.objects.bulk_update(changed, ["quantity", "fulfilled_quantity", "fulfillable_quantity"])


def add_lines(fulfillment_order: FulfillmentOrder, counts: Mapping[int, int], *, at: datetime) -> None:
    """Create the lines of a new fulfillment order from quantities keyed by line item."""
    add_lines_to_many([(fulfillment_order, counts)], at=at)


def add_lines_to_many(counts_by_order: Sequence[tuple[FulfillmentOrder, Mapping[int, int]]], *, at: datetime) -> None:
    """Create the lines of new fulfillment orders."""
    FulfillmentOrderLine.objects.bulk_create(
        [
            FulfillmentOrderLine(
                shop_id=fulfillment_order_row.shop_id,
                fulfillment_order=fulfillment_order_row,
                line_item_id=line_item,
                quantity=count,
                fulfillable_quantity=count,
                created_at=at,
            )
            for fulfillment_order_row, counts in counts_by_order
            for line_item, count in counts.items()
        ]
    )


def create_fulfillment_order_like(
    fulfillment_order: FulfillmentOrder,
    location: Location,
    *,
    at: datetime,
    status: Status = Status.OPEN,
    request: RequestStatus = RequestStatus.UNSUBMITTED,
) -> FulfillmentOrder:
    """Create a fulfillment order for the same order and with the same delivery method, but without lines."""
    new_order: FulfillmentOrder = FulfillmentOrder.objects.create(
        shop=get_current_shop(),
        assigned_location=location,
        status=status,
        request_status=request,
        created_at=at,
        **{name: getattr(fulfillment_order, name) for name in _COPIED_FIELDS},
    )
    return new_order
