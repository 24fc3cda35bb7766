"""Orders in files. Coming in they are known by the number or id that they had elsewhere, their variants by SKU.

Ids of the file mean nothing here.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from apps.api.context import Context
from apps.api.rows.plans import plan_for
from apps.catalog.models import Variant
from apps.customers.domain.known import KeysDisagree
from apps.exchange.domain.kinds import Exporter, Importer, Kind, Shown
from apps.exchange.domain.rows import Body, Changes, Fate, Outcome, RawRow
from apps.exchange.kinds.erasing import erased
from apps.exchange.kinds.interface import file_context, file_version, members_of, rows_refused
from apps.exchange.kinds.order_columns import ALIASES, COLUMNS, LINE_COLUMNS
from apps.exchange.kinds.order_tables import given_codes, order_body, order_cells
from apps.exchange.kinds.samples import SAMPLE_ORDERS
from apps.exchange.models import ImportedRow
from apps.ground.dates import NotADate, parse_moment
from apps.ground.money import text_of
from apps.ground.phrases import INVALID
from apps.ground.tenancy import current_shop
from apps.orders.api.bodies import read_order
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.domain import placing, transitions
from apps.orders.domain.buyers import BuyerRefused
from apps.orders.domain.items import MAX_LINES
from apps.orders.models import Order, Transaction

# What an order of elsewhere says that a new one does not take.
_LEFT_OUT = frozenset({"metafields", "send_receipt", "fulfillments"})
_SENT = frozenset({"partial", "fulfilled"})
_PREFIX = "order:"


# --- out -------------------------------------------------------------------------------------------------------------


def _read(ids: Sequence[int]) -> list[Shown]:
    context = file_context()
    objects = plan_for(OrderSerializer, context.version).read_ids(ids, context)
    orders = [objects[pk] for pk in ids if pk in objects]
    _complete(orders, context)
    return orders


def _complete(orders: list[Shown], context: Context) -> None:
    """Add what the interface does not show with an order: its transactions, and its exchange rate."""
    rates = dict(Order.objects.filter(pk__in=[order["id"] for order in orders]).values_list("pk", "exchange_rate"))
    by_order: dict[int, list[Shown]] = {order["id"]: [] for order in orders}
    rows = Transaction.objects.filter(order_id__in=list(by_order)).order_by("pk")
    for shown in plan_for(TransactionSerializer, context.version).read(rows, context):
        by_order[shown["order_id"]].append(shown)
    for order in orders:
        order["transactions"] = by_order[order["id"]]
        order["exchange_rate"] = format(rates.get(order["id"], Decimal(1)).normalize(), "f")


# --- in --------------------------------------------------------------------------------------------------------------


def _key(row: RawRow, body: Body) -> str:
    """By what an order is known again, in the same file or another."""
    for name in ("source_identifier", "id", "name"):
        value = body.get(name)
        if isinstance(value, str | int) and value and not isinstance(value, bool):
            return f"{_PREFIX}{value}"[:300]
    return f"{_PREFIX}{row.digest}"


def _take_in(row: RawRow, body: Body, *, actor: str, at: datetime) -> Outcome:
    """Make an order, unless one was made of the same order before."""
    key = _key(row, body)
    known = ImportedRow.objects.filter(source_key__in=(key, erased(key)), dry=False, fate=Fate.NEW).first()
    if known is not None:
        if Order.objects.filter(name=known.label).exists():
            return Outcome(Fate.SKIPPED, known.label, "was imported before")
        # It was deleted since, and may come again.
        ImportedRow.objects.filter(pk=known.pk).update(source_key="")
    with rows_refused():
        attrs, parts = read_order(file_version(), _as_new(body))
    attrs |= {"source_name": "import", "source_identifier": key.removeprefix(_PREFIX)[:255], **_own(body, at)}
    parts.sent = _sent(body, parts)
    try:
        order = placing.create_order(attrs, parts, actor=actor, at=at)
    except BuyerRefused as refusal:
        if isinstance(refusal.__cause__, KeysDisagree):
            raise refusal.__cause__ from None
        raise
    if body.get("cancelled_at"):
        _cancel(order, body, actor=actor)
    name = attrs.get("name") or order.name
    reason = "" if name == order.name else f"the name {name} is taken here"
    return Outcome(Fate.NEW, order.name, reason, source_key=key, changes=_told(order, len(parts.lines)))


def _own(body: Body, at: datetime) -> Shown:
    """The name that an order has, and when it was made.

    Raises:
        OrderRefused: That is no moment, or still to come.
    """
    own: Shown = {"name": body["name"]} if isinstance(body.get("name"), str) and body["name"] else {}
    if body.get("created_at"):
        own["created_at"] = _moment(body["created_at"], "created_at")
        if own["created_at"] > at:
            raise placing.OrderRefused({"created_at": ["must not be in the future"]})
    return own


def _sent(body: Body, parts: placing.Parts) -> list[int]:
    """How many units of each line were sent, where lines say so; none where they do not."""
    lines = _listed(body.get("line_items"))
    if len(lines) != len(parts.lines) or not any(_status(line) in _SENT for line in lines):
        return []
    return [_units_sent(line, taken.get("quantity") or 1) for line, taken in zip(lines, parts.lines, strict=True)]


def _units_sent(line: object, quantity: int) -> int:
    left = line.get("fulfillable_quantity") if isinstance(line, dict) else None
    if _status(line) not in _SENT:
        return 0
    if left is None and _status(line) == "fulfilled":
        return quantity
    if not isinstance(left, int) or isinstance(left, bool):
        raise placing.OrderRefused({"line_items": ["must say how many units are yet to be sent"]})
    return quantity - left


def _status(line: object) -> object:
    return line.get("fulfillment_status") if isinstance(line, dict) else None


def _told(order: Order, lines: int) -> Changes:
    """What the preview shows of a new order; its number is not known before."""
    buyer = order.email or order.phone or (order.customer or "")
    total = f"{text_of(order.total_price, order.currency)} {order.currency}"
    shown = {"order": order.source_identifier, "buyer": str(buyer), "lines": lines, "total_price": total}
    return {name: (None, value) for name, value in shown.items()}


def _as_new(body: Body) -> Shown:
    """An order of elsewhere as the body of a new one."""
    taken = {name: value for name, value in body.items() if name not in _LEFT_OUT}
    taken["line_items"] = _without(_listed(body.get("line_items")), "variant_id", "product_id")
    _find_variants(taken["line_items"])
    codes = body.get("discount_codes")
    if isinstance(codes, list) and all(isinstance(code, dict) for code in codes):
        taken["discount_codes"] = given_codes(body)
    if isinstance(body.get("customer"), dict):
        [taken["customer"]] = _without([body["customer"]], "id")
    taken["transactions"] = _without(_listed(body.get("transactions")), "parent_id")
    if taken.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED:
        del taken["fulfillment_status"]
    return _as_before_cancelling(taken) if body.get("cancelled_at") else taken


def _as_before_cancelling(taken: Shown) -> Shown:
    """A cancelled order as it was before; cancelling it here closes it and voids what was authorized."""
    before = {name: value for name, value in taken.items() if name != "closed_at"}
    before["transactions"] = [
        row for row in taken["transactions"] if not (isinstance(row, dict) and row.get("kind") == "void")
    ]
    return before


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _without(rows: Sequence[object], *names: str) -> list[object]:
    """Objects without some of their members; what is no object is left for the check of the body to refuse."""
    return [
        {name: value for name, value in row.items() if name not in names} if isinstance(row, dict) else row
        for row in rows
    ]


def _find_variants(lines: list[object]) -> None:
    """Tie lines to the shop's variants by SKU, where just one has it."""
    by_sku = [(line["sku"], line) for line in lines if isinstance(line, dict) and isinstance(line.get("sku"), str)]
    wanted = {sku for sku, _ in by_sku} - {""}
    if not wanted:
        return
    found: dict[str, list[int]] = {}
    rows = Variant.objects.filter(inventory_item__sku__in=wanted).values_list("inventory_item__sku", "pk")
    for sku, pk in rows:
        found.setdefault(sku, []).append(pk)
    for sku, line in by_sku:
        if len(found.get(sku, ())) == 1:
            line["variant_id"] = found[sku][0]


def _cancel(order: Order, body: Body, *, actor: str) -> None:
    reason = body.get("cancel_reason")
    transitions.cancel(
        order,
        actor=actor,
        at=min(_moment(body["cancelled_at"], "cancelled_at"), timezone.now()),
        reason=reason if reason in Order.CancelReason.values else Order.CancelReason.OTHER,
        restock=body.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED,
    )


def _moment(text: object, name: str) -> datetime:
    try:
        return parse_moment(str(text), current_shop().tzinfo)
    except NotADate:
        raise placing.OrderRefused({name: [INVALID]}) from None


ORDERS = Kind(
    name="orders",
    label="Orders",
    singular="order",
    exporter=Exporter(
        model=Order,
        permission="orders.export_order",
        granted_by="export_orders",
        topic="orders/export",
        filters=("status", "financial_status"),
        columns=COLUMNS,
        read=_read,
        cells=order_cells,
    ),
    importer=Importer(
        permission="orders.change_order",
        granted_by="edit_orders",
        columns=COLUMNS,
        aliases=ALIASES,
        members=members_of(OrderSerializer, "send_fulfillment_receipt", "client_details", "metafields"),
        group_by="order",
        known_by=LINE_COLUMNS,
        most_rows=MAX_LINES,
        sample=SAMPLE_ORDERS,
        body=order_body,
        keys=lambda row, body: [_key(row, body)],
        repeated=Fate.SKIPPED,
        take_in=_take_in,
    ),
)
