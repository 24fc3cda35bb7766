"""Route orders: choose a location for each line, and create the fulfillment orders.

An order ships from as few locations as possible. ``choose_locations`` is pure: it returns the same result for the same
stock.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product

from django.db import transaction
from django.db.models import Exists, OuterRef, Sum

from apps.catalog.domain.fulfillment_service_choices import get_service_locations
from apps.core.events.recording import EventInput, record_events
from apps.core.exceptions import RowDeleted
from apps.core.jobs.queue import enqueue
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import get_current_shop, shop_scope
from apps.fulfillment.domain.fulfillment_orders import moves, quantities, transitions
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.fulfillment.models.orders import Status
from apps.inventory.domain.movements import lock_active_locations
from apps.inventory.models import InventoryLevel, Location
from apps.orders.domain.selectors import get_line_items, lock_order
from apps.orders.models import LineItem, Order, ShippingLine

# Available quantities, keyed by location and then by item. Items that a location does not stock have no entry.
Stock = Mapping[int, Mapping[int, int]]
Method = FulfillmentOrder.Method
ROUTE_TASK = "fulfillment.route_order"
# An order without fulfillment orders is routed again after this time.
_RETRY_AFTER = timedelta(hours=6)
_MAX_ORDERS = 10_000


@dataclass(frozen=True, slots=True)
class LineRequest:
    """A quantity that needs a location. ``item`` is None if the line can ship from any location."""

    line: int
    item: int | None
    units: int


def choose_locations(line_requests: Sequence[LineRequest], locations: Sequence[int], stock: Stock) -> dict[int, int]:
    """Choose a location for each line, from candidates sorted by priority.

    The location with enough stock for the most lines is chosen first, then the best location for the remaining lines.
    If several locations are equally good, the first is chosen. If no location has enough stock for a line, the location
    with the most stock ships the line, preferably a location that already ships other lines of the order.
    """
    location_by_line: dict[int, int] = {}
    remaining = list(line_requests)
    open_locations = list(locations)
    while remaining and open_locations:
        covered = {location: _get_covered_lines(remaining, stock.get(location, {})) for location in open_locations}
        best = max(open_locations, key=lambda location: len(covered[location]))
        if not covered[best]:
            break
        location_by_line |= dict.fromkeys(covered[best], best)
        remaining = [line_request for line_request in remaining if line_request.line not in covered[best]]
        open_locations.remove(best)
    shipping_locations = set(location_by_line.values())
    for line_request in remaining:
        location_by_line[line_request.line] = max(
            locations,
            key=lambda location: (
                stock.get(location, {}).get(line_request.item or 0, -(10**12)),
                location in shipping_locations,
            ),
        )
    return location_by_line


def _get_covered_lines(line_requests: Sequence[LineRequest], stock: Mapping[int, int]) -> set[int]:
    """Return the lines that a location has enough stock for. Small quantities are served first, to cover more lines."""
    available = dict(stock)
    lines = set()
    for line_request in sorted(line_requests, key=lambda line_request: line_request.units):
        if line_request.item is None:
            lines.add(line_request.line)
        elif available.get(line_request.item, 0) >= line_request.units:
            available[line_request.item] -= line_request.units
            lines.add(line_request.line)
    return lines


@dataclass(frozen=True, slots=True)
class Share:
    line: LineItem
    location: int
    units: int


@transaction.atomic
def route_order(order_id: int, *, at: datetime, fulfill_at: datetime | None = None) -> list[FulfillmentOrder]:
    """Create fulfillment orders for all unrouted quantities of an order, unless the order was deleted.

    The fulfillment orders are scheduled for ``fulfill_at``, by default for the time of the order.
    """
    try:
        order = lock_order(Order(pk=order_id))
    except RowDeleted:
        return []
    unrouted = _get_unrouted(order)
    if not unrouted or order.cancelled_at is not None:
        return []
    shares = _assign_locations(unrouted)
    fulfillment_orders = _create_fulfillment_orders(order, shares, at=at, fulfill_at=fulfill_at)
    lock_active_locations({share.location for share in shares})
    events = [EventInput("fulfillment_orders/order_routing_complete", row) for row in fulfillment_orders]
    record_events(events, actor="system", at=at)
    return fulfillment_orders


def enqueue_missing_routing(at: datetime) -> int:
    """Enqueue routing of open orders with fulfillable items but no fulfillment order, in all shops.

    These orders were created before routing was introduced, or their routing job failed permanently.
    """
    routed = FulfillmentOrder.objects.filter(order=OuterRef("pk"))
    sendable = LineItem.objects.filter(order=OuterRef("pk"), fulfillable_quantity__gt=0)
    waiting = Order.objects.filter(writable_shops(), status=Order.Status.OPEN, created_at__lt=at - _RETRY_AFTER)
    missing = waiting.filter(~Exists(routed), Exists(sendable)).select_related("shop").order_by("pk")
    orders = list(missing[:_MAX_ORDERS])
    for order in orders:
        with shop_scope(order.shop):
            enqueue(ROUTE_TASK, order_id=order.pk)
    return len(orders)


def _get_unrouted(order: Order) -> dict[LineItem, int]:
    """Return the fulfillable quantities that are not in a fulfillment order."""
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__order=order).order_by()
    routed = dict(rows.values_list("line_item_id").annotate(Sum("fulfillable_quantity")))
    remaining = {line: line.fulfillable_quantity - routed.get(line.pk, 0) for line in get_line_items(order)}
    return {line: count for line, count in remaining.items() if count > 0}


def _assign_locations(unrouted: dict[LineItem, int]) -> list[Share]:
    locations = {row.pk: row for row in Location.objects.filter(active=True)}
    services = get_service_locations(line.fulfillment_service for line in unrouted)
    merchant = sorted((row.priority, row.pk) for row in locations.values() if not row.legacy)
    shares: list[Share] = []
    open_requests: dict[int, tuple[LineItem, LineRequest]] = {}
    for line, count in unrouted.items():
        service_location = services.get(line.fulfillment_service)
        if service_location in locations:
            shares.append(Share(line, service_location, count))
            continue
        remaining = count
        for location in sorted(map(int, line.taken_from)):
            active_location = locations.get(location)
            quantity = min(remaining, line.taken_from[str(location)])
            if quantity and active_location is not None and not active_location.legacy:
                shares.append(Share(line, location, quantity))
                remaining -= quantity
        if remaining:
            item = line.variant.inventory_item if line.variant else None
            tracked_item = item.pk if item is not None and item.tracked else None
            open_requests[line.pk] = line, LineRequest(line.pk, tracked_item, remaining)
    if open_requests:
        candidates = [pk for _, pk in merchant] or sorted(locations)
        line_requests = [line_request for _, line_request in open_requests.values()]
        location_by_line = choose_locations(line_requests, candidates, _get_stock(line_requests, candidates))
        shares += [
            Share(line, location_by_line[pk], line_request.units) for pk, (line, line_request) in open_requests.items()
        ]
    return shares


def _get_stock(line_requests: Sequence[LineRequest], locations: Sequence[int]) -> dict[int, dict[int, int]]:
    items = {line_request.item for line_request in line_requests if line_request.item is not None}
    available_by_location: dict[int, dict[int, int]] = {}
    if items:
        levels = InventoryLevel.objects.filter(item_id__in=items, location_id__in=locations).order_by()
        for location, item, available in levels.values_list("location_id", "item_id", "available"):
            available_by_location.setdefault(location, {})[item] = available
    return available_by_location


def _create_fulfillment_orders(
    order: Order, shares: Sequence[Share], *, at: datetime, fulfill_at: datetime | None
) -> list[FulfillmentOrder]:
    groups: dict[tuple[int, str], dict[int, int]] = {}
    for share in shares:
        method = Method.SHIPPING if share.line.requires_shipping else Method.NONE
        counts = groups.setdefault((share.location, method), {})
        counts[share.line.pk] = counts.get(share.line.pk, 0) + share.units
    shipping_line = ShippingLine.objects.filter(order=order, is_removed=False).order_by("pk").first()
    delivery = (
        {
            "presented_name": shipping_line.title,
            "service_code": shipping_line.code,
            "source_reference": shipping_line.source,
        }
        if shipping_line
        else {}
    )
    scheduled_for = fulfill_at or order.created_at
    status = Status.SCHEDULED if scheduled_for > at else Status.OPEN
    fulfillment_orders = FulfillmentOrder.objects.bulk_create(
        [
            FulfillmentOrder(
                shop=get_current_shop(),
                order=order,
                assigned_location_id=location,
                status=status,
                fulfill_at=scheduled_for,
                created_at=at,
                method_type=method,
                **(delivery if method == Method.SHIPPING else {}),
            )
            for location, method in groups
        ]
    )
    quantities.add_lines(list(zip(fulfillment_orders, groups.values(), strict=True)), at=at)
    _shift_stock(order, shares, at=at)
    if status == Status.SCHEDULED:
        for row in fulfillment_orders:
            transitions.enqueue_opening(row)
    return fulfillment_orders


def _shift_stock(order: Order, shares: Sequence[Share], *, at: datetime) -> None:
    """Transfer stock reservations of locations that can't fulfill the items, for example if they became inactive."""
    shares_by_line: dict[LineItem, Counter[int]] = {}
    for share in shares:
        shares_by_line.setdefault(share.line, Counter())[share.location] += share.units
    shifts: list[tuple[LineItem, int, int, int]] = []
    for line, needed in shares_by_line.items():
        taken = Counter({int(location): units for location, units in line.taken_from.items()})
        missing, spare = needed - taken, taken - needed
        for target, source in product(missing, spare):
            if count := min(missing[target], spare[source]):
                shifts.append((line, source, target, count))
                missing[target] -= count
                spare[source] -= count
    if shifts:
        moves.shift_stock(order, shifts, actor="system", at=at)
