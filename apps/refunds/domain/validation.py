"""Validate refund requests against the current order, and calculate the refund."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, at_least, at_most
from apps.core.money import MAX_AMOUNT, ZERO, format_decimal, has_valid_precision, round_money
from apps.core.types import Errors, ReadOnlyAttrs
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, get_transactions
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain import calculation, refunded_parts
from apps.refunds.domain.calculation import RefundCalculation
from apps.refunds.domain.refunded_parts import LineAmounts, PriceAndTax, RefundableDuty, RefundedUnits
from apps.refunds.domain.stock_sources import StockSources
from apps.refunds.models import RefundDuty, RefundLineItem

RestockType = RefundLineItem.RestockType
_NOTHING_REFUNDED = LineAmounts(ZERO, ZERO, PriceAndTax(ZERO, ZERO))
NOT_ORDER_CURRENCY = "is not one of the order's currencies"


class RefundRefused(DomainError):
    pass


@dataclass(frozen=True, slots=True)
class RefundLineInput:
    """Input for items to refund. Current items are refunded first, unless ``prefers_removed`` is True."""

    line_item_id: int | None
    quantity: int = 1
    restock_type: str | None = None
    location_id: int | None = None
    prefers_removed: bool = False


@dataclass(frozen=True, slots=True)
class RefundDutyInput:
    """Input for a duty to refund: the whole remaining duty, or a part in proportion to the refunded quantity."""

    duty_id: int
    is_proportional: bool = False


@dataclass(frozen=True, slots=True)
class RefundTransactionInput:
    """Input for an amount to refund to a payment or, without ``parent_id``, to the gateway's payments, oldest first."""

    amount: Decimal | None
    parent_id: int | None = None
    gateway: str | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class RefundRequest:
    """A requested refund.

    Attributes:
        shipping: The shipping amount to refund, in ``currency``. If None, no shipping is refunded unless
            ``full_shipping`` is True.
        currency: The currency of the amounts. It is required if the order has two currencies.
        restock: Deprecated. True to restock items without a restock type. Unfulfilled items are canceled, and fulfilled
            items are returned.
        reason: The reason for a difference from the suggested amount.
        processed_at: The time of the refund, if it is in the past.
    """

    line_inputs: Sequence[RefundLineInput] = ()
    shipping: Decimal | None = None
    full_shipping: bool = False
    duty_inputs: Sequence[RefundDutyInput] = ()
    transaction_inputs: Sequence[RefundTransactionInput] = ()
    currency: str | None = None
    note: str = ""
    notify: bool = False
    restock: bool = False
    reason: str = ""
    processed_at: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Return True if nothing is refunded. Transactions without an amount are not empty, but refused later."""
        has_money = any(transaction_input.amount != 0 for transaction_input in self.transaction_inputs)
        return not (self.line_inputs or self.shipping or self.full_shipping or self.duty_inputs or has_money)


@dataclass(slots=True)
class OrderSnapshot:
    order: Order
    lines: list[LineItem]
    shipping: list[ShippingLine]
    transactions: list[Transaction]
    refunded: dict[int, LineAmounts] = field(default_factory=dict)
    duties: dict[int, RefundableDuty] = field(default_factory=dict)

    @classmethod
    def load(cls, order: Order) -> "OrderSnapshot":
        """Load the rows of an order. Callers that save changes must lock the order first."""
        snapshot = cls(order, get_line_items(order), get_shipping_lines(order), get_transactions(order))
        snapshot._load_refunded_lines()
        if order.total_duties or any(line.duties for line in snapshot.lines):
            snapshot._load_duties()
        return snapshot

    def _load_refunded_lines(self) -> None:
        refunded_lines = RefundLineItem.objects.filter(refund__order=self.order)
        prices = {line.pk: line.price for line in self.lines}
        for row in refunded_lines:
            before = self.refunded.get(row.line_item_id, _NOTHING_REFUNDED)
            converted = before.presentment
            self.refunded[row.line_item_id] = LineAmounts(
                before.discount + prices[row.line_item_id] * row.quantity - row.subtotal,
                before.tax + row.total_tax,
                PriceAndTax(
                    converted.price + self._get_presentment(row.presentment_subtotal, row.subtotal),
                    converted.tax + self._get_presentment(row.presentment_tax, row.total_tax),
                ),
                [*before.tax_lines, row.tax_lines],
            )

    def _get_presentment(self, converted: Decimal | None, amount: Decimal) -> Decimal:
        return self.order.to_presentment(amount) if converted is None else converted

    def _load_duties(self) -> None:
        refunded: dict[int, tuple[Decimal, Decimal]] = {}
        tax_lines = defaultdict[int, list[Sequence[ReadOnlyAttrs]]](list)
        for row in RefundDuty.objects.filter(refund__order=self.order):
            before = refunded.get(row.duty_id, (ZERO, ZERO))
            refunded[row.duty_id] = before[0] + row.amount, before[1] + row.tax
            tax_lines[row.duty_id].append(row.tax_lines)
        for line in self.lines:
            for duty in line.duties:
                before = refunded.get(duty["id"], (ZERO, ZERO))
                earlier = tax_lines[duty["id"]]
                self.duties[duty["id"]] = RefundableDuty(line, duty, before, refunded_tax_lines=earlier)

    @property
    def refundable_duties(self) -> list[RefundableDuty]:
        return [duty for duty in self.duties.values() if any(duty.refundable)]

    def get_line(self, pk: int | None) -> LineItem | None:
        return next((line for line in self.lines if line.pk == pk), None)


@dataclass(frozen=True, slots=True)
class RefundLine:
    """Items of a refund, with the resolved line item and restock type.

    ``location_id`` is the requested restock location. ``source_id`` is the location that the items were taken from, or
    None if a restock location is requested.
    """

    index: int
    line: LineItem
    quantity: int
    restock_type: RestockType
    location_id: int | None
    source_id: int | None = None
    prefers_removed: bool = False

    @property
    def units(self) -> RefundedUnits:
        return RefundedUnits(self.line, self.quantity, self.prefers_removed)


def resolve_and_calculate(
    snapshot: OrderSnapshot, refund_request: RefundRequest
) -> tuple[list[RefundLine], RefundCalculation]:
    errors: Errors = {}
    _check_currency(snapshot.order, refund_request, errors)
    refund_lines = _resolve_lines(snapshot, refund_request, errors)
    shipping = _resolve_shipping(snapshot, refund_request, errors)
    duties = _resolve_duties(snapshot, refund_request, refund_lines, errors)
    if errors:
        raise RefundRefused(errors)
    result = calculation.calculate_amounts(
        snapshot.order,
        snapshot.lines,
        snapshot.shipping,
        snapshot.transactions,
        units=[refund_line.units for refund_line in refund_lines],
        shipping=shipping,
        duties=duties,
        refunded=snapshot.refunded,
    )
    return refund_lines, result


def _check_currency(order: Order, refund_request: RefundRequest, errors: Errors) -> None:
    amounts = [refund_request.shipping]
    amounts += [given.amount for given in refund_request.transaction_inputs if given.currency is None]
    if refund_request.currency is None:
        if order.is_multi_currency and any(amount is not None for amount in amounts):
            errors["currency"] = [BLANK]
    elif refund_request.currency not in {order.currency, order.presentment_currency}:
        errors["currency"] = [NOT_ORDER_CURRENCY]


def _resolve_lines(snapshot: OrderSnapshot, refund_request: RefundRequest, errors: Errors) -> list[RefundLine]:
    refund_lines: list[RefundLine] = []
    remaining = RemainingQuantities(snapshot)
    for index, units in enumerate(refund_request.line_inputs):
        prefix = f"refund_line_items.{index}"
        line = snapshot.get_line(units.line_item_id)
        if line is None:
            errors[f"{prefix}.line_item_id"] = [BLANK if units.line_item_id is None else INVALID]
        elif units.quantity < 1:
            errors[f"{prefix}.quantity"] = [at_least(1)]
        elif units.quantity > remaining.refundable[line.pk]:
            errors[f"{prefix}.quantity"] = [at_most(remaining.refundable[line.pk])]
        elif units.restock_type not in {None, RestockType.NO_RESTOCK, RestockType.CANCEL, RestockType.RETURN}:
            errors[f"{prefix}.restock_type"] = [NOT_IN_LIST]
        else:
            for refund_line in _split_by_restock_type(index, line, units, refund_request, remaining):
                if message := remaining.take(refund_line):
                    errors[f"{prefix}.restock_type"] = [message]
                refund_lines.append(refund_line)
    return refund_lines


class RemainingQuantities:
    """The quantities of each line item that can still be refunded, canceled or returned."""

    def __init__(self, snapshot: OrderSnapshot) -> None:
        self.refundable = {line.pk: line.quantity - line.refunded_quantity for line in snapshot.lines}
        self.unfulfilled = {line.pk: line.fulfillable_quantity for line in snapshot.lines}
        self.fulfilled = {line.pk: line.quantity_at_customer for line in snapshot.lines}
        self._stock_sources = StockSources(snapshot.order)
        self._sources: dict[tuple[int, RestockType], dict[int, int]] = {}

    def get_sources(self, refund_line: RefundLine) -> dict[int, int]:
        """Return the remaining quantities by location that the items were taken from. The caller reduces them."""
        line, kind = refund_line.line, refund_line.restock_type
        load = self._stock_sources.get_waiting if kind == RestockType.CANCEL else self._stock_sources.get_sent
        return self._sources.setdefault((line.pk, kind), load(line))

    def take(self, units: RefundLine) -> str:
        """Subtract items from the remaining quantities, and return an error message if there are not enough."""
        pk = units.line.pk
        self.refundable[pk] -= units.quantity
        if units.restock_type == RestockType.CANCEL:
            if units.quantity > self.unfulfilled[pk]:
                return _("can only cancel unfulfilled items (at most {count})").format(count=self.unfulfilled[pk])
            self.unfulfilled[pk] -= units.quantity
        elif units.restock_type == RestockType.RETURN:
            if units.quantity > self.fulfilled[pk]:
                return _("can only return fulfilled items (at most {count})").format(count=self.fulfilled[pk])
            self.fulfilled[pk] -= units.quantity
        return ""


def _split_by_restock_type(
    index: int, line: LineItem, units: RefundLineInput, refund_request: RefundRequest, remaining: RemainingQuantities
) -> list[RefundLine]:
    """Split items by restock type. With ``restock``, unfulfilled items are canceled and fulfilled items returned."""
    refund_line = RefundLine(
        index,
        line,
        units.quantity,
        RestockType.NO_RESTOCK,
        units.location_id,
        prefers_removed=units.prefers_removed,
    )
    if units.restock_type is not None:
        return [replace(refund_line, restock_type=RestockType(units.restock_type))]
    if not refund_request.restock:
        return [refund_line]
    unfulfilled = min(units.quantity, remaining.unfulfilled[line.pk])
    fulfilled = min(units.quantity - unfulfilled, remaining.fulfilled[line.pk])
    parts = (
        (RestockType.CANCEL, unfulfilled),
        (RestockType.RETURN, fulfilled),
        (RestockType.NO_RESTOCK, units.quantity - unfulfilled - fulfilled),
    )
    split_lines = [replace(refund_line, quantity=count, restock_type=kind) for kind, count in parts if count]
    if units.location_id is not None:
        return split_lines
    return [part for split_line in split_lines for part in _split_by_source(split_line, remaining)]


def _split_by_source(refund_line: RefundLine, remaining: RemainingQuantities) -> Iterator[RefundLine]:
    """Split items by the location that they were taken from."""
    rest = refund_line.quantity
    sources = remaining.get_sources(refund_line) if refund_line.restock_type != RestockType.NO_RESTOCK else {}
    for location, count in sources.items():
        if part := min(rest, count):
            sources[location] -= part
            rest -= part
            yield replace(refund_line, quantity=part, source_id=location)
    if rest:
        yield replace(refund_line, quantity=rest)


def _resolve_duties(
    snapshot: OrderSnapshot, refund_request: RefundRequest, refund_lines: Sequence[RefundLine], errors: Errors
) -> list[RefundableDuty]:
    """Return the requested duties, and add problems to ``errors``."""
    duties: dict[int, RefundableDuty] = {}
    lines = {refund_line.line.pk for refund_line in refund_lines}
    for index, duty_input in enumerate(refund_request.duty_inputs):
        prefix = f"refund_duties.{index}"
        duty = snapshot.duties.get(duty_input.duty_id)
        if duty is None:
            errors[f"{prefix}.duty_id"] = [_("is not a duty on this order")]
        elif duty_input.duty_id in duties:
            errors[f"{prefix}.duty_id"] = [_("is listed twice")]
        elif not any(duty.refundable):
            errors[f"{prefix}.duty_id"] = [_("has already been refunded in full")]
        elif duty_input.is_proportional and duty.line.pk not in lines:
            errors[f"{prefix}.refund_type"] = ["requires refund line items of the duty's line item"]
        else:
            duties[duty_input.duty_id] = replace(duty, is_proportional=duty_input.is_proportional)
    return list(duties.values())


def _resolve_shipping(snapshot: OrderSnapshot, refund_request: RefundRequest, errors: Errors) -> Decimal:
    """Return the shipping amount to refund, in the order's currency, and add problems to ``errors``."""
    order, refundable = snapshot.order, refunded_parts.get_refundable_shipping(snapshot.shipping)
    shipping = refund_request.shipping
    if shipping is None:
        return refundable if refund_request.full_shipping else ZERO
    currency = refund_request.currency or order.currency
    maximum = refundable
    if currency != order.currency:
        maximum = refunded_parts.get_refundable_presentment_shipping(order, snapshot.shipping)
    if not has_valid_precision(shipping, currency) or shipping >= MAX_AMOUNT:
        errors["shipping.amount"] = [INVALID]
    elif shipping > maximum:
        errors["shipping.amount"] = [at_most(format_decimal(maximum, currency))]
    elif shipping == maximum:
        return refundable
    elif currency == order.currency:
        return shipping
    else:
        return min(round_money(shipping / order.exchange_rate, order.currency), refundable)
    return ZERO
