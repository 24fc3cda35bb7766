"""Convert the fulfillment orders and fulfillments of an exported order to rows that ``apps.fulfillment`` restores."""

from collections import Counter
from collections.abc import Sequence

from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import define_text
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.fulfillment.domain.restore import RestoredFulfillment, RestoredFulfillmentOrder, RestoredShipment
from apps.fulfillment.domain.tracking import get_safe_url
from apps.fulfillment.models import Fulfillment
from apps.fulfillment.models.orders import STATES, RequestStatus, Status
from apps.imports_exports.resources.exported_orders.references import OrderReferences

_NOT_ADDING_UP = define_text(
    "order_imports.fulfillment_quantities",
    "the quantities differ from those of the line items and fulfillments of the order",
)
_IMPOSSIBLE_STATE = define_text("order_imports.fulfillment_state", "the status does not fit the request status")


def build_fulfillment(values: ReadOnlyAttrs, references: OrderReferences) -> RestoredFulfillment:
    """Return the fulfillment of an order as columns. Errors are added to the errors of ``references``."""
    rows = values.get("fulfillment_orders") or ()
    orders = [_build_order(row, f"fulfillment_orders.{index}", references) for index, row in enumerate(rows)]
    order_indexes = {row["id"]: index for index, row in enumerate(rows) if row.get("id") is not None}
    shipments: list[RestoredShipment] = []
    numbers = _get_numbers(values.get("fulfillments") or ())
    for index, row in enumerate(values.get("fulfillments") or ()):
        path = f"fulfillments.{index}"
        lines: list[tuple[int, int, int]] = []
        unknown_lines: list[tuple[int, int]] = []
        for position, line in enumerate(row.get("line_items") or ()):
            line_index = references.find_line(line.get("id"), f"{path}.line_items.{position}.id")
            order_index = order_indexes.get(line.get("fulfillment_order_id") or 0)
            if order_index is None:
                unknown_lines.append((line_index, line["quantity"]))
            else:
                lines.append((line_index, order_index, line["quantity"]))
        if unknown_lines:
            lines += [(line, len(orders), quantity) for line, quantity in unknown_lines]
            orders.append(_build_finished_order(row, unknown_lines, path, references))
        shipments.append(_build_shipment(row, numbers[index], lines, path, references))
    _check_quantities(values, orders, shipments, references)
    return RestoredFulfillment(fulfillment_orders=orders, shipments=shipments)


def _build_order(row: ReadOnlyAttrs, path: str, references: OrderReferences) -> RestoredFulfillmentOrder:
    status, request_status = Status(row["status"]), RequestStatus(row["request_status"])
    if request_status not in STATES[status]:
        references.errors[f"{path}.status"] = [_IMPOSSIBLE_STATE]
    delivery = row.get("delivery_method") or {}
    created = {"created_at": row["created_at"]} if row.get("created_at") else {}
    lines: list[tuple[int, Attrs]] = []
    for index, line in enumerate(row.get("line_items") or ()):
        line_path = f"{path}.line_items.{index}"
        fulfilled = line["quantity"] - line["fulfillable_quantity"]
        if fulfilled < 0:
            references.errors[line_path] = [_NOT_ADDING_UP]
        columns = {
            "quantity": line["quantity"],
            "fulfillable_quantity": line["fulfillable_quantity"],
            "fulfilled_quantity": max(fulfilled, 0),
        }
        lines.append((references.find_line(line.get("line_item_id"), f"{line_path}.line_item_id"), columns))
    return RestoredFulfillmentOrder(
        columns={
            "assigned_location_id": references.find_location(row.get("assigned_location_id"), path),
            "status": status,
            "request_status": request_status,
            "fulfill_at": row.get("fulfill_at"),
            "fulfill_by": row.get("fulfill_by"),
            **{name: value for name, value in delivery.items() if value is not None},
            **created,
        },
        lines=lines,
        holds=[
            {"reason": hold["reason"], "reason_notes": hold.get("reason_notes") or ""}
            for hold in row.get("fulfillment_holds") or ()
        ],
        requests=[
            {
                "message": item.get("message") or "",
                "kind": item["kind"],
                "sent_at": item["sent_at"],
                "notify_customer": bool((item.get("request_options") or {}).get("notify_customer")),
            }
            for item in row.get("merchant_requests") or ()
        ],
    )


def _build_finished_order(
    row: ReadOnlyAttrs, lines: Sequence[tuple[int, int]], path: str, references: OrderReferences
) -> RestoredFulfillmentOrder:
    """Return a closed fulfillment order for a fulfillment without one in the file."""
    is_cancelled = row["status"] == Fulfillment.Status.CANCELLED
    created = {"created_at": row["created_at"]} if row.get("created_at") else {}
    counts: Counter[int] = Counter()
    for line, quantity in () if is_cancelled else lines:
        counts[line] += quantity
    return RestoredFulfillmentOrder(
        columns={
            "assigned_location_id": references.find_location(row.get("location_id"), f"{path}.location_id"),
            "status": Status.CLOSED,
            **created,
        },
        lines=[
            (line, {"quantity": count, "fulfilled_quantity": count, "fulfillable_quantity": 0})
            for line, count in counts.items()
        ],
    )


def _get_numbers(rows: Sequence[ReadOnlyAttrs]) -> list[int]:
    """Return the numbers of the fulfillments, which their names end with (``#1001.2``)."""
    ends = [(row.get("name") or "").rpartition(".")[2] for row in rows]
    numbers = [int(end) if end.isascii() and end.isdecimal() and len(end) < 6 else 0 for end in ends]
    are_valid = all(numbers) and len(set(numbers)) == len(numbers)
    return numbers if are_valid else list(range(1, len(rows) + 1))


def _build_shipment(
    row: ReadOnlyAttrs,
    number: int,
    lines: Sequence[tuple[int, int, int]],
    path: str,
    references: OrderReferences,
) -> RestoredShipment:
    urls = row.get("tracking_urls") or []
    if not all(map(get_safe_url, urls)):
        references.errors[f"{path}.tracking_urls"] = [INVALID]
    created = {"created_at": row["created_at"]} if row.get("created_at") else {}
    return RestoredShipment(
        columns={
            "number": number,
            "location_id": references.find_location(row.get("location_id"), f"{path}.location_id"),
            "service": row.get("service") or "manual",
            "status": row["status"],
            "shipment_status": row.get("shipment_status") or "",
            "tracking_company": row.get("tracking_company") or "",
            "tracking_numbers": row.get("tracking_numbers") or [],
            "tracking_urls": urls,
            "origin_address": row.get("origin_address"),
            "message": row.get("message") or "",
            **created,
        },
        lines=lines,
        events=[
            {name: value for name, value in event.items() if value is not None} for event in row.get("events") or ()
        ],
    )


def _check_quantities(
    values: ReadOnlyAttrs,
    orders: Sequence[RestoredFulfillmentOrder],
    shipments: Sequence[RestoredShipment],
    references: OrderReferences,
) -> None:
    sent: Counter[tuple[int, int]] = Counter()
    for shipment in shipments:
        if shipment.columns["status"] != Fulfillment.Status.CANCELLED:
            for line, order_index, quantity in shipment.lines:
                sent[order_index, line] += quantity
    waiting: Counter[int] = Counter()
    for index, order in enumerate(orders):
        lines = dict(order.lines)
        if len(lines) < len(order.lines) or any(
            columns["fulfilled_quantity"] != sent.pop((index, line), 0) for line, columns in order.lines
        ):
            references.errors[f"fulfillment_orders.{index}"] = [_NOT_ADDING_UP]
        for line, columns in order.lines:
            waiting[line] += columns["fulfillable_quantity"]
    if any(sent.values()):
        references.errors["fulfillments"] = [_NOT_ADDING_UP]
    for index, row in enumerate(values["line_items"]):
        if waiting[index] > (row.get("fulfillable_quantity") or 0):
            references.errors[f"line_items.{index}.fulfillable_quantity"] = [_NOT_ADDING_UP]
