"""Restore the fulfillment orders and fulfillments of orders that another shop exported. No stock moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.models import M
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
    restored_rows = [(order, restored) for order, fulfillment in pairs for restored in fulfillment.fulfillment_orders]
    rows = FulfillmentOrder.objects.bulk_create(
        [_build_fulfillment_order(order, item, at=at) for order, item in restored_rows]
    )
    rows_by_order: dict[int, list[FulfillmentOrder]] = {order.pk: [] for order, _ in pairs}
    for row in rows:
        rows_by_order[row.order_id].append(row)
    _save_parts_of_orders([(row, item) for row, (_, item) in zip(rows, restored_rows, strict=True)], lines, actor=actor)
    return rows_by_order


def _build_fulfillment_order(order: Order, item: RestoredFulfillmentOrder, *, at: datetime) -> FulfillmentOrder:
    return FulfillmentOrder(order=order, shop=get_current_shop(), **{"created_at": at, **item.columns})


def _save_parts_of_orders(
    pairs: Sequence[tuple[FulfillmentOrder, RestoredFulfillmentOrder]],
    lines: dict[int, list[LineItem]],
    *,
    actor: str,
) -> None:
    """Save the lines, holds and requests of saved fulfillment orders."""
    row_lines: list[FulfillmentOrderLine] = []
    holds: list[FulfillmentHold] = []
    requests: list[MerchantRequest] = []
    for row, item in pairs:
        part: Attrs = {"shop": get_current_shop(), "fulfillment_order": row, "created_at": row.created_at}
        order_lines = lines[row.order_id]
        row_lines += [
            FulfillmentOrderLine(line_item=order_lines[index], **part, **columns) for index, columns in item.lines
        ]
        holds += [FulfillmentHold(actor=actor, **part, **columns) for columns in item.holds]
        requests += [MerchantRequest(**part, **columns) for columns in item.requests]
    FulfillmentOrderLine.objects.bulk_create(row_lines)
    if holds:
        FulfillmentHold.objects.bulk_create(holds)
    if requests:
        MerchantRequest.objects.bulk_create(requests)


def _save_shipments(
    pairs: Sequence[tuple[Order, RestoredFulfillment]],
    lines: dict[int, list[LineItem]],
    fulfillment_orders: dict[int, list[FulfillmentOrder]],
    *,
    at: datetime,
) -> None:
    restored_rows = [(order, restored) for order, fulfillment in pairs for restored in fulfillment.shipments]
    if not restored_rows:
        return
    rows = Fulfillment.objects.bulk_create([_build_shipment(order, item, at=at) for order, item in restored_rows])
    shipments = [(row, item) for row, (_, item) in zip(rows, restored_rows, strict=True)]
    _save_shipment_lines(shipments, lines, fulfillment_orders)
    events = [
        FulfillmentEvent(shop=row.shop, fulfillment=row, **{"created_at": row.created_at, **columns})
        for row, item in shipments
        for columns in item.events
    ]
    if events:
        FulfillmentEvent.objects.bulk_create(events)


def _build_shipment(order: Order, item: RestoredShipment, *, at: datetime) -> Fulfillment:
    columns = {"created_at": at, **item.columns, "name": f"{order.name}.{item.columns['number']}"}
    return Fulfillment(order=order, shop=get_current_shop(), **columns)


def _save_shipment_lines(
    pairs: Sequence[tuple[Fulfillment, RestoredShipment]],
    lines: dict[int, list[LineItem]],
    fulfillment_orders: dict[int, list[FulfillmentOrder]],
) -> None:
    FulfillmentLine.objects.bulk_create(
        [
            FulfillmentLine(
                shop=row.shop,
                fulfillment=row,
                created_at=row.created_at,
                line_item=lines[row.order_id][line],
                fulfillment_order=fulfillment_orders[row.order_id][index],
                quantity=quantity,
            )
            for row, item in pairs
            for line, index, quantity in item.lines
        ]
    )


def update_restored_fulfillment(
    order: Order,
    restored: RestoredFulfillment,
    order_ids: Sequence[int | None],
    shipment_ids: Sequence[int | None],
    *,
    actor: str,
    at: datetime,
) -> tuple[list[int], list[int]]:
    """Bring the fulfillment of a locked, restored order to its present state in the other shop.

    The ids are those of the saved rows, in the order of the restored rows. New rows have None. Fulfillment orders that
    no longer exist in the other shop are used for the items that were fulfilled since, or else deleted.

    Returns:
        The ids of the fulfillment orders and of the fulfillments, in the order of the restored rows.
    """
    lines = {order.pk: list(LineItem.objects.filter(order=order).order_by("position", "pk"))}
    unused = {row.pk: row for row in FulfillmentOrder.objects.filter(order=order).order_by("pk")}
    shipments = {row.pk: row for row in Fulfillment.objects.filter(order=order)}
    used_before = dict(
        FulfillmentLine.objects.filter(fulfillment__order=order).values_list("fulfillment_id", "fulfillment_order_id")
    )
    for model in (FulfillmentLine, FulfillmentOrderLine, FulfillmentHold, MerchantRequest):
        model._default_manager.filter(fulfillment_order__order=order).delete()
    known = list(order_ids)
    for pk, shipment in zip(shipment_ids, restored.shipments, strict=True):
        for _, index, _ in shipment.lines:
            known[index] = known[index] or used_before.get(pk or 0)
    saved: list[FulfillmentOrder | None] = [unused.pop(pk or 0, None) for pk in known]
    rows: list[FulfillmentOrder] = []
    for item, row in zip(restored.fulfillment_orders, saved, strict=True):
        found = row or _take_from_location(unused, item.columns["assigned_location_id"])
        rows.append(_save_columns(found, _build_fulfillment_order(order, item, at=at), item.columns))
    for stale in unused.values():
        stale.delete()
    _save_parts_of_orders(list(zip(rows, restored.fulfillment_orders, strict=True)), lines, actor=actor)
    saved_shipments = [
        (_save_columns(shipments.get(pk or 0), _build_shipment(order, item, at=at), item.columns), item)
        for pk, item in zip(shipment_ids, restored.shipments, strict=True)
    ]
    _save_shipment_lines(saved_shipments, lines, {order.pk: rows})
    for row in rows:
        if row.status == Status.SCHEDULED:
            enqueue_opening(row)
    return [row.pk for row in rows], [row.pk for row, _ in saved_shipments]


def _take_from_location(unused: dict[int, FulfillmentOrder], location_id: int) -> FulfillmentOrder | None:
    pk = next((pk for pk, row in unused.items() if row.assigned_location_id == location_id), None)
    return None if pk is None else unused.pop(pk)


def _save_columns(saved: M | None, new: M, columns: ReadOnlyAttrs) -> M:
    """Save the columns to the saved row, or else save the new row. Return the row."""
    row = new if saved is None else saved
    for name in columns if saved is not None else ():
        if name != "created_at":
            setattr(row, name, columns[name])
    row.save()
    return row
