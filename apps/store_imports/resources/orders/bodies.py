"""Convert an order of the store to the body of an exported order, which the import of order files restores."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings

from apps.core.i18n.messages import Message, define_message
from apps.core.money import ZERO
from apps.core.types import Attrs
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder
from apps.fulfillment.models.orders import STATES, UNFINISHED, RequestStatus, Status
from apps.gift_cards.domain.payments import GIFT_CARD
from apps.imports_exports.resources.exported_orders.references import PRIMARY
from apps.orders.models import Order, Transaction
from apps.refunds.models import RefundLineItem
from apps.store_imports.domain.source_client import SourceObject, parse_source_moment

_OTHER_LOCATION = define_message(
    "store_imports.other_location",
    "The location {number} was not imported. The items and fulfillments there are at the primary location.",
)
# The id of a missing location. ``OrderReferences`` needs a name for each id.
_NO_LOCATION = -1
_TEXT_COLUMNS = ("sku", "vendor", "variant_title")


@dataclass(frozen=True, slots=True)
class OrderBody:
    """The body of an exported order.

    Attributes:
        location_ids: The ids of the locations by name.
        is_routed: False if the store has unfulfilled items that it has not yet assigned to a location.
        notes: What is different here.
    """

    values: Attrs
    location_ids: Mapping[str, int]
    is_routed: bool
    notes: list[Message] = field(default_factory=list)


def build_body(
    order: SourceObject,
    *,
    locations: Mapping[int, int],
    gift_cards: Mapping[int, int],
    primary: int,
    brand: str,
    at: datetime,
) -> OrderBody:
    """Return the body of an order. ``locations`` and ``gift_cards`` map the ids of the store to those of this shop."""
    body = {name: value for name, value in order.items() if name != "customer_id"}
    created_at = parse_source_moment(order.get("created_at"))
    if created_at is not None and created_at > at:
        # The clock of the other installation is ahead.
        body["created_at"] = at.isoformat()
    if body.get("cancel_reason") not in {None, *Order.CancelReason.values}:
        body["cancel_reason"] = Order.CancelReason.OTHER
    body["line_items"] = [
        {**_build_line(line, brand), "unrestocked_quantity": _count_unrestocked(line, order)}
        for line in order["line_items"]
    ]
    body["transactions"] = [_map_gift_card(row, gift_cards) for row in _complete_voids(order["transactions"])]
    body["refunds"] = [_complete_shipping_taxes(refund) for refund in order["refunds"]]
    body["fulfillments"] = [_build_fulfillment(row) for row in order["fulfillments"]]
    fulfillment_orders = _build_fulfillment_orders(order, body["fulfillments"], locations)
    unrouted = list(_build_missing_order(order, fulfillment_orders))
    body["fulfillment_orders"] = [*fulfillment_orders, *unrouted]
    ids = sorted({pk for pk in _find_location_ids(body) if pk is not None})
    body["locations"] = [{"id": pk, "name": str(pk)} for pk in [*ids, _NO_LOCATION]]
    names = {str(pk): locations.get(pk, primary) for pk in [*ids, _NO_LOCATION]}
    unknown = [pk for pk in ids if pk not in locations and pk != _NO_LOCATION]
    notes = [_OTHER_LOCATION(number=str(pk)) for pk in unknown]
    return OrderBody(body, {**names, PRIMARY: primary}, not unrouted, notes)


def _build_line(line: SourceObject, brand: str) -> Attrs:
    # Blank values of the store take precedence over those of the present variant.
    row: Attrs = {**line, **{name: line.get(name) or "" for name in _TEXT_COLUMNS}}
    if line.get("variant_inventory_management") == brand.lower():
        row["variant_inventory_management"] = settings.BRAND
    return row


def _count_unrestocked(line: SourceObject, order: SourceObject) -> int:
    """Return how many units were refunded without restocking and left the order, which the API does not show."""
    refunded = sum(
        row["quantity"]
        for refund in order["refunds"]
        for row in refund["refund_line_items"]
        if row["line_item_id"] == line["id"] and row["restock_type"] == RefundLineItem.RestockType.NO_RESTOCK
    )
    fulfilled = sum(
        row["quantity"]
        for fulfillment in order["fulfillments"]
        for row in fulfillment["line_items"]
        if row["id"] == line["id"] and fulfillment["status"] != Fulfillment.Status.CANCELLED
    )
    present = line["current_quantity"] or line["fulfillable_quantity"] or fulfilled
    if not present and line.get("fulfillment_status") is None:
        # Otherwise the status of the line would be "restocked".
        return min(refunded, int(line["quantity"]))
    return min(refunded, max(fulfilled + line["fulfillable_quantity"] - line["current_quantity"], 0))


def _complete_shipping_taxes(refund: SourceObject) -> Attrs:
    """Return the refund with the tax of each shipping line, which the API only shows by rate."""
    rows = refund["refund_shipping_lines"]
    if not any(row.get("tax_lines") for row in rows):
        return refund
    return {**refund, "refund_shipping_lines": [{**row, "tax_amount_set": _sum_taxes(row)} for row in rows]}


def _sum_taxes(row: SourceObject) -> Attrs:
    sides = ("shop_money", "presentment_money")
    taxes = [tax["price_set"] for tax in row.get("tax_lines") or ()]
    return {side: {"amount": str(sum((Decimal(str(tax[side]["amount"])) for tax in taxes), ZERO))} for side in sides}


def _complete_voids(transactions: Sequence[SourceObject]) -> list[Attrs]:
    """Return the transactions, with the amount and the code of the voided authorization, which the API leaves out."""
    by_id = {row["id"]: row for row in transactions}
    rows: list[Attrs] = []
    for row in transactions:
        parent = by_id.get(row.get("parent_id"))
        if row.get("kind") == Transaction.Kind.VOID and parent is not None:
            row = {**row, **{name: parent.get(name) for name in ("amount", "shop_amount", "authorization")}}
        rows.append(row)
    return rows


def find_gift_card_id(transaction: SourceObject) -> int | None:
    """Return the id of the gift card in the store that a payment or refund is for."""
    receipt = transaction.get("receipt")
    pk = receipt.get("gift_card_id") if isinstance(receipt, dict) and transaction.get("gateway") == GIFT_CARD else None
    return pk if isinstance(pk, int) else None


def _map_gift_card(row: Attrs, gift_cards: Mapping[int, int]) -> Attrs:
    """Replace the id of the gift card, or remove it, because another gift card of this shop may have the same id."""
    pk = find_gift_card_id(row)
    if pk is None:
        return row
    receipt = {name: value for name, value in row["receipt"].items() if name != "gift_card_id"}
    return {**row, "receipt": {**receipt, "gift_card_id": gift_cards[pk]} if pk in gift_cards else receipt}


def _build_fulfillment(row: SourceObject) -> Attrs:
    status = row.get("shipment_status")
    return {
        **row,
        "location_id": row.get("location_id") or _NO_LOCATION,
        "status": row["status"] if row["status"] in Fulfillment.Status.values else Fulfillment.Status.SUCCESS,
        "shipment_status": status if status in FulfillmentEvent.Status.values else None,
        "tracking_numbers": [text for text in row.get("tracking_numbers") or () if text],
        "tracking_urls": [text for text in row.get("tracking_urls") or () if text],
        "origin_address": row.get("origin_address") or None,
    }


def _build_fulfillment_orders(
    order: SourceObject, fulfillments: Sequence[Attrs], locations: Mapping[int, int]
) -> list[Attrs]:
    """Return the unfinished fulfillment orders, with the fulfillments that belong to them.

    Each line of a fulfillment gets the id of its fulfillment order. Fulfillments do not show it, so lines are matched
    by location and line item. The other fulfillments get finished fulfillment orders.
    """
    sent = _SentLines(fulfillments)
    rows = [
        _build_fulfillment_order(row, sent, is_known=row.get("assigned_location_id") in locations)
        for row in sorted(order["fulfillment_orders"], key=lambda row: int(row["id"]))
        if row["status"] in UNFINISHED and any(line["fulfillable_quantity"] for line in row["line_items"])
    ]
    sent.apply()
    return rows


def _build_fulfillment_order(row: SourceObject, sent: "_SentLines", *, is_known: bool) -> Attrs:
    location = row.get("assigned_location_id") or _NO_LOCATION
    lines = []
    for line in row["line_items"]:
        waiting = line["fulfillable_quantity"]
        fulfilled = sent.take(row["id"], location, line["line_item_id"], line["quantity"] - waiting)
        if waiting + fulfilled:
            lines.append({**line, "quantity": waiting + fulfilled})
    status, request_status = row["status"], row.get("request_status") or RequestStatus.UNSUBMITTED
    if not is_known or request_status not in STATES[Status(status)]:
        # The fulfillment service with this location is not in this shop.
        status = Status.ON_HOLD if row.get("fulfillment_holds") else Status.OPEN
        request_status = RequestStatus.UNSUBMITTED
    method = row.get("delivery_method") or {}
    if method.get("method_type") not in FulfillmentOrder.Method.values:
        method = {**method, "method_type": FulfillmentOrder.Method.SHIPPING}
    return {
        **row,
        "assigned_location_id": location,
        "status": status,
        "request_status": request_status,
        "line_items": lines,
        "delivery_method": method,
        "merchant_requests": (row.get("merchant_requests") or []) if is_known else [],
        "fulfillment_holds": [
            {**hold, "reason": FulfillmentHold.Reason.OTHER}
            if hold.get("reason") not in FulfillmentHold.Reason.values
            else hold
            for hold in row.get("fulfillment_holds") or ()
        ],
    }


class _SentLines:
    """The lines of fulfillments that are not canceled, which fulfillment orders take."""

    def __init__(self, fulfillments: Sequence[Attrs]) -> None:
        self._fulfillments = fulfillments
        self._taken: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._left: Counter[tuple[int, int]] = Counter()
        for index, row in enumerate(fulfillments):
            if row["status"] != Fulfillment.Status.CANCELLED:
                for line in row["line_items"]:
                    self._left[index, line["id"]] += line["quantity"]

    def take(self, fulfillment_order_id: int, location_id: int, line_id: int, quantity: int) -> int:
        """Assign fulfilled units to a fulfillment order, and return how many were found."""
        found = 0
        for index, row in enumerate(self._fulfillments):
            units = min(quantity - found, self._left[index, line_id])
            if units > 0 and row["location_id"] == location_id:
                self._left[index, line_id] -= units
                self._taken[index, line_id].append((fulfillment_order_id, units))
                found += units
        return found

    def apply(self) -> None:
        """Split the lines of the fulfillments by fulfillment order."""
        for index, row in enumerate(self._fulfillments):
            if row["status"] == Fulfillment.Status.CANCELLED:
                continue
            lines: list[Attrs] = []
            for line_id in dict.fromkeys(line["id"] for line in row["line_items"]):
                shares: list[tuple[int | None, int]] = [*self._taken[index, line_id]]
                if left := self._left[index, line_id]:
                    shares.append((None, left))
                lines += [
                    {"id": line_id, "quantity": units, "fulfillment_order_id": order_id} for order_id, units in shares
                ]
            row["line_items"] = lines


def _build_missing_order(order: SourceObject, rows: Sequence[Attrs]) -> Iterator[Attrs]:
    """Yield an open fulfillment order for the unfulfilled items that are in none, so that they can be fulfilled."""
    if order.get("cancelled_at") is not None:
        return
    waiting: Counter[int] = Counter()
    for row in rows:
        for line in row["line_items"]:
            waiting[line["line_item_id"]] += line["fulfillable_quantity"]
    lines = [
        {"line_item_id": line["id"], "quantity": missing, "fulfillable_quantity": missing}
        for line in order["line_items"]
        if (missing := line["fulfillable_quantity"] - waiting[line["id"]]) > 0
    ]
    if lines:
        yield {
            "status": Status.OPEN,
            "request_status": RequestStatus.UNSUBMITTED,
            "assigned_location_id": _NO_LOCATION,
            "line_items": lines,
        }


def _find_location_ids(body: Mapping[str, Any]) -> Iterator[int | None]:
    for row in body["fulfillment_orders"]:
        yield row["assigned_location_id"]
    for row in body["fulfillments"]:
        yield row["location_id"]
    for refund in body["refunds"]:
        for line in refund["refund_line_items"]:
            yield line.get("location_id")
