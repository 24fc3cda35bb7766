"""Parse and count the quantities of fulfillment orders, and move quantities to other fulfillment orders.

Functions that move quantities do not change the total: the quantity removed from one fulfillment order is added to
another. Callers must lock the order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, RowDeleted, TransitionRefused
from apps.core.i18n.error_messages import INVALID, TAKEN, at_least
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Errors, ReadOnlyAttrs
from apps.fulfillment.domain.fulfillment_orders.states import ManagedBy, get_manager
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED, RequestStatus, Status
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
# Request statuses in which items can only be removed after the fulfillment service accepts a cancellation.
ACCEPTED_BY_SERVICE = (
    RequestStatus.ACCEPTED,
    RequestStatus.CANCELLATION_REQUESTED,
    RequestStatus.CANCELLATION_REJECTED,
)
_REMOVAL_ORDER = list(RequestStatus.values)


class QuantitiesRefused(DomainError):
    field = LINES


class AcceptedByService(TransitionRefused):
    pass


def lock_fulfillment_order(fulfillment_order: FulfillmentOrder) -> FulfillmentOrder:
    """Lock the order and return the reloaded fulfillment order, or raise ``RowDeleted``."""
    order = lock_order(Order(pk=fulfillment_order.order_id))
    return load_fulfillment_orders(order, [fulfillment_order.pk])[0]


def load_fulfillment_orders(order: Order, pks: Sequence[int]) -> list[FulfillmentOrder]:
    """Load fulfillment orders of a locked order by id, or raise ``RowDeleted``."""
    rows = FulfillmentOrder.objects.filter(order=order, pk__in=pks).select_related("assigned_location__service")
    fulfillment_orders = list(rows.order_by("pk"))
    if len(fulfillment_orders) < len(set(pks)):
        raise RowDeleted
    for row in fulfillment_orders:
        row.order = order
    return fulfillment_orders


def get_location_manager(fulfillment_order: FulfillmentOrder) -> ManagedBy:
    return get_manager(at_service=fulfillment_order.assigned_location.legacy)


def get_remaining(fulfillment_order: FulfillmentOrder) -> LineQuantities:
    return get_remaining_of_many([fulfillment_order])[fulfillment_order.pk]


def get_remaining_of_many(fulfillment_orders: Sequence[FulfillmentOrder]) -> dict[int, LineQuantities]:
    """Return the quantities that are still to be fulfilled, with one query."""
    remaining_by_pk: dict[int, LineQuantities] = {row.pk: {} for row in fulfillment_orders}
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__in=list(remaining_by_pk), fulfillable_quantity__gt=0)
    for line in rows.order_by("fulfillment_order", "pk").select_related("line_item"):
        remaining_by_pk[line.fulfillment_order_id][line] = line.fulfillable_quantity
    return remaining_by_pk


def parse_quantities(
    available: LineQuantities, rows: Sequence[ReadOnlyAttrs] | None, *, path: str = LINES
) -> LineQuantities:
    """Parse selected quantities, each with a line ``id`` and an optional ``quantity`` (by default the whole line).

    If there are no ``rows``, all remaining quantities are selected. ``path`` is the path in the body, for error
    messages.
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


def split_quantities(
    fulfillment_order: FulfillmentOrder, rows: Sequence[ReadOnlyAttrs] | None
) -> tuple[LineQuantities, LineQuantities]:
    """Parse the selected quantities of a locked fulfillment order, and return them and the other quantities."""
    available = get_remaining(fulfillment_order)
    selected = parse_quantities(available, rows)
    return selected, subtract_quantities(available, selected)


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

    The location is the source's by default. Lines that become empty are deleted. For the status "on hold", the holds
    are copied, too.
    """
    if not units:
        return None
    location = location or fulfillment_order.assigned_location
    new_order = create_fulfillment_order_like(fulfillment_order, location, at=at, status=status, request=request)
    remove_quantities(units)
    add_lines([(new_order, {line.line_item_id: count for line, count in units.items()})], at=at)
    if status == Status.ON_HOLD:
        holds = list(FulfillmentHold.objects.filter(fulfillment_order=fulfillment_order).order_by("pk"))
        for hold in holds:
            hold.pk, hold.fulfillment_order = None, new_order
        FulfillmentHold.objects.bulk_create(holds)
    return new_order


def save_lines(lines: Sequence[FulfillmentOrderLine] | LineQuantities) -> None:
    """Save changed lines and delete lines with quantity 0."""
    changed = [line for line in lines if line.quantity]
    deleted_ids = [line.pk for line in lines if not line.quantity]
    if deleted_ids:
        FulfillmentOrderLine.objects.filter(pk__in=deleted_ids).delete()
    if changed:
        FulfillmentOrderLine.objects.bulk_update(changed, ["quantity", "fulfilled_quantity", "fulfillable_quantity"])


def add_lines(counts_by_order: Sequence[tuple[FulfillmentOrder, Mapping[int, int]]], *, at: datetime) -> None:
    """Create the lines of new fulfillment orders from quantities keyed by line item."""
    FulfillmentOrderLine.objects.bulk_create(
        [
            FulfillmentOrderLine(
                shop_id=row.shop_id,
                fulfillment_order=row,
                line_item_id=line_item,
                quantity=count,
                fulfillable_quantity=count,
                created_at=at,
            )
            for row, counts in counts_by_order
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
    return FulfillmentOrder.objects.create(
        shop=get_current_shop(),
        assigned_location=location,
        status=status,
        request_status=request,
        created_at=at,
        **{name: getattr(fulfillment_order, name) for name in _COPIED_FIELDS},
    )


def remove_quantities(lines: LineQuantities) -> None:
    for line, count in lines.items():
        line.quantity -= count
        line.fulfillable_quantity -= count
    save_lines(lines)


def get_waiting_quantities(order: Order) -> dict[int, dict[int, int]]:
    """Return the quantities in unfinished fulfillment orders, keyed by line item and location."""
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__order=order, fulfillable_quantity__gt=0)
    waiting: dict[int, dict[int, int]] = {}
    for line, location, count in rows.order_by("pk").values_list(
        "line_item_id", "fulfillment_order__assigned_location_id", "fulfillable_quantity"
    ):
        by_location = waiting.setdefault(line, {})
        by_location[location] = by_location.get(location, 0) + count
    return waiting


@dataclass(frozen=True, slots=True)
class Removal:
    """A quantity of a line item to remove from the fulfillment orders, first from those at the location."""

    line_item_id: int
    quantity: int
    location_id: int | None = None


@transaction.atomic
def remove_from_fulfillment_orders(
    order: Order, removals: Sequence[Removal], *, actor: str, at: datetime
) -> list[dict[int, int]]:
    """Remove quantities from a locked order. Call this before changing the line items.

    At each location, quantities that are neither requested nor in progress are removed first. If a fulfillment service
    has accepted some of the quantities, nothing is removed. Return the removed quantities of each removal by location,
    without quantities that were not routed yet.
    """
    rows = (
        FulfillmentOrderLine.objects.filter(fulfillment_order__order=order, fulfillable_quantity__gt=0)
        .filter(line_item_id__in={removal.line_item_id for removal in removals})
        .select_related("fulfillment_order", "line_item")
        .order_by("pk")
    )
    lines = [row for row in rows if row.fulfillment_order.status in UNFINISHED]
    remaining = _subtract_unrouted(lines, removals)
    removable = [row for row in lines if row.fulfillment_order.request_status not in ACCEPTED_BY_SERVICE]
    removable.sort(key=lambda row: (_REMOVAL_ORDER.index(row.fulfillment_order.request_status), row.pk))
    selected: LineQuantities = {}
    removed: list[dict[int, int]] = [{} for _removal in removals]
    for at_location, (index, removal), row in product((True, False), enumerate(removals), removable):
        location = row.fulfillment_order.assigned_location_id
        if row.line_item_id != removal.line_item_id or (at_location and location != removal.location_id):
            continue
        if count := min(remaining[index], row.fulfillable_quantity - selected.get(row, 0)):
            selected[row] = selected.get(row, 0) + count
            removed[index][location] = removed[index].get(location, 0) + count
            remaining[index] -= count
    if any(remaining):
        raise AcceptedByService(
            _("Fulfillment services have already accepted some of the items. Request a cancellation first.")
        )
    remove_quantities(selected)
    for fulfillment_order in {row.fulfillment_order for row in selected}:
        if not get_remaining(fulfillment_order):
            fulfillment_order.status = Status.CLOSED
            fulfillment_order.save(update_fields=["status"])
            FulfillmentHold.objects.filter(fulfillment_order=fulfillment_order).delete()
            record_event("fulfillment_orders/cancelled", fulfillment_order, actor=actor, at=at)
    return removed


def _subtract_unrouted(lines: Sequence[FulfillmentOrderLine], removals: Sequence[Removal]) -> list[int]:
    """Return the quantity of each removal that the lines of fulfillment orders have to give up."""
    unrouted = {row.line_item_id: row.line_item.fulfillable_quantity for row in lines}
    for row in lines:
        unrouted[row.line_item_id] -= row.fulfillable_quantity
    remaining = []
    for removal in removals:
        count = min(removal.quantity, max(unrouted.get(removal.line_item_id, removal.quantity), 0))
        if removal.line_item_id in unrouted:
            unrouted[removal.line_item_id] -= count
        remaining.append(removal.quantity - count)
    return remaining
