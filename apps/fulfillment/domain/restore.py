"""Restore the fulfillment orders and fulfillments of orders that another shop exported. No stock moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.fulfillment.domain.fulfillment_orders.transitions import enqueue_opening
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentLine,
    FulfillmentOrder,
    FulfillmentOrderLine,
    MerchantRequest,
)
from apps.fulfillment.models.orders import Status
from apps.orders.models import LineItem, Order

# The member of ``OrderParts.other_members`` that contains the ``RestoredFulfillment`` of an order.
RESTORED_FULFILLMENT = "restored_fulfillment"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFulfillmentOrder:
    """A fulfillment order as values of columns. ``lines`` have the index of the line item in the order."""

    columns: ReadOnlyAttrs
    lines: Sequence[tuple[int, ReadOnlyAttrs]] = ()
    holds: Sequence[ReadOnlyAttrs] = ()
    requests: Sequence[ReadOnlyAttrs] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredShipment:
    """A fulfillment as values of columns.

    ``lines`` are the index of the line item, the index of the fulfillment order and the quantity.
    """

    columns: ReadOnlyAttrs
    lines: Sequence[tuple[int, int, int]] = ()
    events: Sequence[ReadOnlyAttrs] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFulfillment:
    """The fulfillment orders and fulfillments of an order."""

    fulfillment_orders: Sequence[RestoredFulfillmentOrder] = ()
    shipments: Sequence[RestoredShipment] = ()


def restore_fulfillments(orders: Sequence[tuple[Order, ReadOnlyAttrs]], *, actor: str, at: datetime) -> None:
    """Save the fulfillment of new orders that another shop exported, as a creation hook of ``apps.orders``.

    Items that are in no fulfillment order are routed as for every new order.
    """
    pairs: list[tuple[Order, RestoredFulfillment]] = [
        (order, parts[RESTORED_FULFILLMENT]) for order, parts in orders if parts.get(RESTORED_FULFILLMENT)
    ]
    if not pairs:
        return
    lines: dict[int, list[LineItem]] = {order.pk: [] for order, _ in pairs}
    for line in LineItem.objects.filter(order__in=list(lines)).order_by("order", "position", "pk"):
        lines[line.order_id].append(line)
    fulfillment_orders = _save_fulfillment_orders(pairs, lines, actor=actor, at=at)
    _save_shipments(pairs, lines, fulfillment_orders, at=at)
    for rows in fulfillment_orders.values():
        for row in rows:
            if row.status == Status.SCHEDULED:
                enqueue_opening(row)


def _save_fulfillment_orders(
    pairs: Sequence[tuple[Order, RestoredFulfillment]], lines: dict[int, list[LineItem]], *, actor: str, at: datetime
) -> dict[int, list[FulfillmentOrder]]:
    """Save the fulfillment orders, and return them keyed by order id."""
    common: Attrs = {"shop": get_current_shop()}
    restored_rows = [(order, restored) for order, fulfillment in pairs for restored in fulfillment.fulfillment_orders]
    rows = FulfillmentOrder.objects.bulk_create(
        [FulfillmentOrder(order=order, **common, **{"created_at": at, **item.columns}) for order, item in restored_rows]
    )
    rows_by_order: dict[int, list[FulfillmentOrder]] = {order.pk: [] for order, _ in pairs}
    row_lines: list[FulfillmentOrderLine] = []
    holds: list[FulfillmentHold] = []
    requests: list[MerchantRequest] = []
    for row, (order, item) in zip(rows, restored_rows, strict=True):
        rows_by_order[order.pk].append(row)
        part: Attrs = {**common, "fulfillment_order": row, "created_at": row.created_at}
        row_lines += [
            FulfillmentOrderLine(line_item=lines[order.pk][index], **part, **columns) for index, columns in item.lines
        ]
        holds += [FulfillmentHold(actor=actor, **part, **columns) for columns in item.holds]
        requests += [MerchantRequest(**part, **columns) for columns in item.requests]
    FulfillmentOrderLine.objects.bulk_create(row_lines)
    if holds:
        FulfillmentHold.objects.bulk_create(holds)
    if requests:
        MerchantRequest.objects.bulk_create(requests)
    return rows_by_order


def _save_shipments(
    pairs: Sequence[tuple[Order, RestoredFulfillment]],
    lines: dict[int, list[LineItem]],
    fulfillment_orders: dict[int, list[FulfillmentOrder]],
    *,
    at: datetime,
) -> None:
    common: Attrs = {"shop": get_current_shop()}
    restored_rows = [(order, restored) for order, fulfillment in pairs for restored in fulfillment.shipments]
    if not restored_rows:
        return
    rows = Fulfillment.objects.bulk_create(
        [
            Fulfillment(
                order=order,
                **common,
                **{"created_at": at, **item.columns, "name": f"{order.name}.{item.columns['number']}"},
            )
            for order, item in restored_rows
        ]
    )
    row_lines: list[FulfillmentLine] = []
    events: list[FulfillmentEvent] = []
    for row, (order, item) in zip(rows, restored_rows, strict=True):
        part: Attrs = {**common, "fulfillment": row, "created_at": row.created_at}
        row_lines += [
            FulfillmentLine(
                line_item=lines[order.pk][line],
                fulfillment_order=fulfillment_orders[order.pk][index],
                quantity=quantity,
                **part,
            )
            for line, index, quantity in item.lines
        ]
        events += [FulfillmentEvent(**{**part, **columns}) for columns in item.events]
    FulfillmentLine.objects.bulk_create(row_lines)
    if events:
        FulfillmentEvent.objects.bulk_create(events)
