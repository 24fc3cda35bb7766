"""Who sends what: the background step after an order's commit that makes its fulfillment orders.

A line goes to the location of its variant's fulfillment service; else to the location from whose stock its units were
taken; else to the active merchant locations that have the most of the order. One fulfillment order is made per location
and delivery group. What was routed already is not routed again, so the step may run twice, and later for units that
nobody has yet.
Rule: decisions, Fulfillment (routing).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Sum

from apps.events.domain.recording import Happening, record_events
from apps.fulfillment.domain import choosing, moving, transitions, units
from apps.fulfillment.domain.choosing import Wish
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine, FulfillmentService
from apps.fulfillment.models.orders import Status
from apps.ground.errors import Gone
from apps.ground.tenancy import current_shop, shop_scope
from apps.inventory.domain.movements import hold_active
from apps.inventory.models import InventoryLevel, Location
from apps.jobs.domain.queue import enqueue
from apps.orders.domain.loading import lines_of, lock
from apps.orders.models import LineItem, Order, ShippingLine
from apps.shops.domain.read_only import writable

ROUTE_TASK = "fulfillment.route"
MANUAL = "manual"
# After which an order without fulfillment orders is looked at once more.
_PATIENCE = timedelta(hours=6)
_AT_ONCE = 10_000
Method = FulfillmentOrder.Method


@dataclass(frozen=True, slots=True)
class Share:
    """Units of a line that a location sends."""

    line: LineItem
    location: int
    units: int


@transaction.atomic
def route(order_id: int, *, at: datetime, fulfill_at: datetime | None = None) -> list[FulfillmentOrder]:
    """Make the fulfillment orders of an order, for all units that have none; nothing for an order that is gone.

    Args:
        order_id: Which.
        at: When.
        fulfill_at: Not before this moment; when the order was placed, where omitted.
    """
    try:
        order = lock(Order(pk=order_id))
    except Gone:
        return []
    waiting = _waiting(order)
    if not waiting or order.cancelled_at is not None:
        return []
    shares = _shares(waiting)
    made = _make(order, shares, at=at, fulfill_at=fulfill_at)
    hold_active({share.location for share in shares})
    happened = [Happening("fulfillment_orders/order_routing_complete", row) for row in made]
    record_events(happened, actor="system", at=at)
    return made


def begin_missing(at: datetime) -> int:
    """Ask for the routing of open orders that have units to be sent and no fulfillment order, in every shop.

    Those are orders from before there was routing, and those whose routing was given up. Returns how many.
    """
    routed = FulfillmentOrder.objects.filter(order=OuterRef("pk"))
    sendable = LineItem.objects.filter(order=OuterRef("pk"), fulfillable_quantity__gt=0)
    waiting = Order.objects.filter(writable(), status=Order.Status.OPEN, created_at__lt=at - _PATIENCE)
    missing = waiting.filter(~Exists(routed), Exists(sendable)).select_related("shop").order_by("pk")
    found = list(missing[:_AT_ONCE])
    for order in found:
        with shop_scope(order.shop):
            enqueue(ROUTE_TASK, order_id=order.pk)
    return len(found)


def _waiting(order: Order) -> dict[LineItem, int]:
    """Units of lines that are to be sent and belong to no fulfillment order."""
    rows = FulfillmentOrderLine.objects.filter(fulfillment_order__order=order).order_by()
    routed = dict(rows.values_list("line_item_id").annotate(Sum("fulfillable_quantity")))
    left = {line: line.fulfillable_quantity - routed.get(line.pk, 0) for line in lines_of(order)}
    return {line: count for line, count in left.items() if count > 0}


def _shares(waiting: dict[LineItem, int]) -> list[Share]:
    """Which location sends how many of each line."""
    locations = {row.pk: row for row in Location.objects.filter(active=True)}
    services = _services(waiting, locations)
    merchant = sorted((row.priority, row.pk) for row in locations.values() if not row.legacy)
    shares: list[Share] = []
    open_wishes: dict[int, tuple[LineItem, Wish]] = {}
    for line, count in waiting.items():
        at_service = services.get(line.fulfillment_service)
        if at_service is not None:
            shares.append(Share(line, at_service, count))
            continue
        left = count
        for location in sorted(map(int, line.taken_from)):
            known = locations.get(location)
            taken = min(left, line.taken_from[str(location)])
            if taken and known is not None and not known.legacy:
                shares.append(Share(line, location, taken))
                left -= taken
        if left:
            item = line.variant.inventory_item if line.variant else None
            counted = item.pk if item is not None and item.tracked else None
            open_wishes[line.pk] = line, Wish(line.pk, counted, left)
    if open_wishes:
        order_of = [pk for _, pk in merchant] or sorted(locations)
        wishes = [wish for _, wish in open_wishes.values()]
        chosen = choosing.choose(wishes, order_of, _stock(wishes, order_of))
        shares += [Share(line, chosen[pk], wish.units) for pk, (line, wish) in open_wishes.items()]
    return shares


def _services(waiting: Iterable[LineItem], locations: dict[int, Location]) -> dict[str, int]:
    """The active locations of the fulfillment services that lines name, by handle."""
    handles = {line.fulfillment_service for line in waiting} - {MANUAL, ""}
    if not handles:
        return {}
    rows = FulfillmentService.objects.filter(handle__in=handles).values_list("handle", "location_id")
    return {handle: location for handle, location in rows if location in locations}


def _stock(wishes: Sequence[Wish], locations: Sequence[int]) -> dict[int, dict[int, int]]:
    """What locations have of the items that are counted."""
    items = {wish.item for wish in wishes if wish.item is not None}
    found: dict[int, dict[int, int]] = {}
    if items:
        levels = InventoryLevel.objects.filter(item_id__in=items, location_id__in=locations).order_by()
        for location, item, available in levels.values_list("location_id", "item_id", "available"):
            found.setdefault(location, {})[item] = available
    return found


def _make(
    order: Order, shares: Sequence[Share], *, at: datetime, fulfill_at: datetime | None
) -> list[FulfillmentOrder]:
    """One fulfillment order per location and delivery group, with its lines."""
    groups: dict[tuple[int, str], dict[int, int]] = {}
    for share in shares:
        method = Method.SHIPPING if share.line.requires_shipping else Method.NONE
        counts = groups.setdefault((share.location, method), {})
        counts[share.line.pk] = counts.get(share.line.pk, 0) + share.units
    sent = ShippingLine.objects.filter(order=order, is_removed=False).order_by("pk").first()
    due = fulfill_at or order.created_at
    status = Status.SCHEDULED if due > at else Status.OPEN
    made = FulfillmentOrder.objects.bulk_create(
        [
            FulfillmentOrder(
                shop=current_shop(),
                order=order,
                assigned_location_id=location,
                status=status,
                fulfill_at=due,
                created_at=at,
                method_type=method,
                presented_name=sent.title if sent and method == Method.SHIPPING else "",
                service_code=sent.code if sent and method == Method.SHIPPING else "",
                source_reference=sent.source if sent and method == Method.SHIPPING else "",
            )
            for location, method in groups
        ]
    )
    units.add_all_lines(list(zip(made, groups.values(), strict=True)), at=at)
    _take_over_stock(order, shares, at=at)
    if status == Status.SCHEDULED:
        for row in made:
            transitions.schedule(row)
    return made


def _take_over_stock(order: Order, shares: Sequence[Share], *, at: datetime) -> None:
    """Where the units of a service's lines were taken from other stock than its own, take them from its own."""
    wanted: list[tuple[LineItem, int, int, int]] = []
    for share in shares:
        for location, taken in share.line.taken_from.items():
            if int(location) != share.location and share.line.fulfillment_service != MANUAL:
                wanted.append((share.line, int(location), share.location, min(taken, share.units)))
    if wanted:
        moving.shift(order, wanted, actor="system", at=at)
