"""Compare the amounts of refunds that another shop exported with the restored order, before anything is saved.

The totals of an order only show the sum of its refunds. Each refund is therefore compared with its rows: no refund
takes more than its line item, shipping line, duty or payment has, and taxes by rate add up.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from apps.core.i18n.messages import Amount, define_message, define_text
from apps.core.money import MAX_AMOUNT, ZERO, format_decimal, get_minor_unit, has_valid_precision
from apps.core.types import Errors, ReadOnlyAttrs
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.domain.pricing.presentment import (
    PresentmentLine,
    get_presentment_lines,
    get_rounding_tolerance,
    get_shipping_price,
)
from apps.orders.domain.pricing.taxes import sum_prices
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain.exported_refunds.restore import RESTORED_REFUNDS, RestoredRefund
from apps.refunds.domain.tax_shares import TaxShares
from apps.refunds.models import OrderAdjustment

_NO_AMOUNT = define_message(
    "order_imports.no_refund_amount", "{amount} is not an amount in {currency} that is zero or more"
)
_NO_ADJUSTMENT = define_message("order_imports.no_adjustment_amount", "{amount} is not an amount in {currency}")
_TOO_MUCH = define_message(
    "order_imports.refund_too_much", "the refunds add up to {total} {currency}, but at most {most} can be refunded"
)
_DIFFERENT_TAXES = define_message(
    "order_imports.refund_taxes_differ", "the taxes by rate add up to {total} {currency}, but the refunded tax is {tax}"
)
_WRONG_COUNT = define_message(
    "order_imports.refund_tax_count", "must contain {count} taxes, like the taxes of the refunded row, or none"
)
_DIFFERENT_SHIPPING = define_message(
    "order_imports.refund_shipping_differs",
    "the adjustments for shipping add up to {total} {currency}, but the refunded shipping is {expected}",
)
_TWICE = define_text("order_imports.refunded_twice", "is listed twice in this refund")
_NO_REFUND = define_text("order_imports.no_refund_transaction", "must be a refund that belongs to no other refund")
_NOT_PAID = define_message(
    "order_imports.refunds_not_paid", "the refunds add up to {refunded} {currency}, but only {paid} was paid"
)


def check_restored_refunds(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    transactions: Sequence[Transaction],
    members: ReadOnlyAttrs,
) -> None:
    """Check the refunds of an unsaved order, as a draft hook of ``apps.orders``.

    Raises:
        OrderRefused: An amount does not fit the order. The errors name the refund and its row.
    """
    refunds: Sequence[RestoredRefund] = members.get(RESTORED_REFUNDS) or ()
    if not refunds:
        return
    check = _Check(order, lines, shipping)
    for index, refund in enumerate(refunds):
        check.check_refund(f"refunds.{index}", refund)
    check.check_transactions(refunds, transactions)
    if check.errors:
        raise OrderRefused(check.errors)


class _Names(NamedTuple):
    """The names of the price and the tax of a refunded row: in the file, and as columns in both currencies."""

    price: str
    tax: str
    price_columns: tuple[str, str]
    tax_columns: tuple[str, str]


_AMOUNT_COLUMNS = ("amount", "presentment_amount"), ("tax", "presentment_tax")
_ITEM = _Names("subtotal_set", "total_tax_set", ("subtotal", "presentment_subtotal"), ("total_tax", "presentment_tax"))
_SHIPPING = _Names("subtotal_amount_set", "tax_amount_set", *_AMOUNT_COLUMNS)
_DUTY = _Names("amount_set", "tax_amount_set", *_AMOUNT_COLUMNS)


@dataclass(slots=True)
class _Limits:
    """The largest price and tax of a row that refunds can take, in both currencies, and the sums of the refunds."""

    shares: TaxShares
    price: tuple[Decimal, Decimal]
    tax: tuple[Decimal, Decimal]
    refunded_price: list[Decimal] = field(default_factory=lambda: [ZERO, ZERO])
    refunded_tax: list[Decimal] = field(default_factory=lambda: [ZERO, ZERO])


@dataclass(slots=True)
class _Check:
    """A check of all refunds of one order, which adds up the refunds of each row."""

    order: Order
    lines: Sequence[LineItem]
    shipping: Sequence[ShippingLine]
    errors: Errors = field(default_factory=dict)
    _limits: dict[object, _Limits] = field(default_factory=dict)
    _presentment_lines: dict[int, PresentmentLine] = field(init=False)

    def __post_init__(self) -> None:
        self._presentment_lines = get_presentment_lines(self.order, self.lines, self.shipping)

    def check_refund(self, path: str, refund: RestoredRefund) -> None:
        for index, (line, columns) in enumerate(refund.lines):
            row = f"{path}.refund_line_items.{index}"
            most = self.lines[line].price * columns["quantity"]
            if columns["subtotal"] > most:
                self._refuse_excess(f"{row}.subtotal_set", columns["subtotal"], most, self.order.currency)
            self._check_part(row, _ITEM, self._get_line_limits(line), columns)
        for index, (position, columns) in enumerate(refund.shipping):
            row = f"{path}.refund_shipping_lines.{index}"
            self._check_part(row, _SHIPPING, self._get_shipping_limits(position), columns)
        duties = [(line, duty) for line, duty, _columns in refund.duties]
        for index, (line, duty, columns) in enumerate(refund.duties):
            row = f"{path}.duties.{index}"
            if (line, duty) in duties[:index]:
                self.errors[f"{row}.duty_id"] = [_TWICE]
            self._check_part(row, _DUTY, self._get_duty_limits(line, duty), columns)
        self._check_adjustments(path, refund)

    def check_transactions(self, refunds: Sequence[RestoredRefund], transactions: Sequence[Transaction]) -> None:
        """Check that each transaction of a refund is a refund of its own, and that the payments cover all refunds."""
        order, seen = self.order, set[int]()
        for index, refund in enumerate(refunds):
            for position, number in enumerate(refund.transactions):
                is_refund = number < len(transactions) and transactions[number].kind == Transaction.Kind.REFUND
                if number in seen or not is_refund:
                    self.errors[f"refunds.{index}.transactions.{position}"] = [_NO_REFUND]
                seen.add(number)
        if order.total_refunded > order.total_paid:
            refunded, paid = (format_decimal(sum_, order.currency) for sum_ in (order.total_refunded, order.total_paid))
            message = _NOT_PAID(refunded=Amount(refunded), currency=order.currency, paid=Amount(paid))
            self.errors["transactions"] = [message]

    def _check_part(self, row: str, names: _Names, limits: _Limits, columns: ReadOnlyAttrs) -> None:
        """Check the amounts of a refunded row, and add them to the refunds of the row."""
        taxes: Sequence[tuple[Decimal, Decimal | None]] = columns["tax_lines"]
        if taxes and len(taxes) != len(limits.shares.taxes):
            self.errors[f"{row}.tax_lines"] = [_WRONG_COUNT(count=len(limits.shares.taxes))]
            return
        for side, currency in self._get_sides():
            price, tax = columns[names.price_columns[side]], columns[names.tax_columns[side]]
            parts = [pair[side] or ZERO for pair in taxes]
            amounts = [(names.price, price), (names.tax, tax), *(("tax_lines", part) for part in parts)]
            if not all(self._check_amount(f"{row}.{name}", amount, currency) for name, amount in amounts):
                return
            if taxes and sum(parts, ZERO) != tax:
                by_rate, right = (Amount(format_decimal(amount, currency)) for amount in (sum(parts, ZERO), tax))
                self.errors[f"{row}.tax_lines"] = [_DIFFERENT_TAXES(total=by_rate, currency=currency, tax=right)]
            limits.refunded_price[side] += price
            limits.refunded_tax[side] += tax
            for name, total, most in (
                (names.price, limits.refunded_price[side], limits.price[side]),
                (names.tax, limits.refunded_tax[side], limits.tax[side]),
            ):
                if total > most:
                    self._refuse_excess(f"{row}.{name}", total, most, currency)

    def _check_adjustments(self, path: str, refund: RestoredRefund) -> None:
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for index, columns in enumerate(refund.adjustments):
            for side, currency in self._get_sides():
                prefix = "presentment_" if side else ""
                for name, column in (("amount_set", "amount"), ("tax_amount_set", "tax_amount")):
                    amount = columns[f"{prefix}{column}"]
                    if not _is_amount(abs(amount), currency):
                        message = _NO_ADJUSTMENT(amount=Amount(amount), currency=currency)
                        self.errors[f"{path}.order_adjustments.{index}.{name}"] = [message]
            if columns["kind"] == OrderAdjustment.Kind.SHIPPING_REFUND:
                totals["amount"] -= columns["amount"]
                totals["tax"] -= columns["tax_amount"]
        for column in ("amount", "tax"):
            expected = sum((columns[column] for _row, columns in refund.shipping), ZERO)
            if totals[column] != expected and f"{path}.order_adjustments" not in self.errors:
                total, right = (
                    Amount(format_decimal(sum_, self.order.currency)) for sum_ in (totals[column], expected)
                )
                message = _DIFFERENT_SHIPPING(total=total, currency=self.order.currency, expected=right)
                self.errors[f"{path}.order_adjustments"] = [message]

    def _check_amount(self, path: str, amount: Decimal, currency: str) -> bool:
        if amount >= 0 and _is_amount(amount, currency):
            return True
        self.errors[path] = [_NO_AMOUNT(amount=Amount(amount), currency=currency)]
        return False

    def _refuse_excess(self, path: str, total: Decimal, most: Decimal, currency: str) -> None:
        amounts = {"total": total, "most": most}
        texts = {name: Amount(format_decimal(amount, currency)) for name, amount in amounts.items()}
        self.errors.setdefault(path, [_TOO_MUCH(currency=currency, **texts)])

    def _get_sides(self) -> Iterator[tuple[int, str]]:
        """Yield the order's currency and, if it differs, the presentment currency, with their indexes in pairs."""
        yield 0, self.order.currency
        if self.order.is_multi_currency:
            yield 1, self.order.presentment_currency

    def _get_line_limits(self, index: int) -> _Limits:
        if ("line", index) not in self._limits:
            line, order = self.lines[index], self.order
            row = self._presentment_lines[id(line)]
            # Edits can move the rounding difference of an order from one line item to another.
            tolerance = get_rounding_tolerance(order, self.lines, self.shipping)
            price = line.net_price, row.net_price + tolerance
            tax = line.tax, order.to_presentment(line.tax)
            self._limits["line", index] = _Limits(TaxShares.of_row(order, line.tax_lines), price, tax)
        return self._limits["line", index]

    def _get_shipping_limits(self, index: int) -> _Limits:
        if ("shipping", index) not in self._limits:
            row, order = self.shipping[index], self.order
            price = row.net_price, get_shipping_price(order, row)
            tax = row.tax, order.to_presentment(row.tax)
            self._limits["shipping", index] = _Limits(TaxShares.of_row(order, row.tax_lines), price, tax)
        return self._limits["shipping", index]

    def _get_duty_limits(self, line_index: int, index: int) -> _Limits:
        key = "duty", line_index, index
        if key not in self._limits:
            line, order = self.lines[line_index], self.order
            duty = line.duties[index]
            price, tax = Decimal(duty["price"]), sum_prices(duty["tax_lines"])
            # The duties of a line are converted together, so one duty can have up to a minor unit more.
            more = get_minor_unit(order.presentment_currency)
            limits = (price, order.to_presentment(price) + more), (tax, order.to_presentment(tax) + more)
            self._limits[key] = _Limits(TaxShares.of_duty(order, line, duty), *limits)
        return self._limits[key]


def _is_amount(amount: Decimal, currency: str) -> bool:
    return amount < MAX_AMOUNT and has_valid_precision(amount, currency)
