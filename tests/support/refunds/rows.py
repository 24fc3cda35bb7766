"""An order with unsaved rows, for refund calculations without a database."""

from collections.abc import Sequence
from decimal import Decimal

from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain import payments, statuses
from apps.orders.domain.pricing import prices, totals
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain import calculation, refunded_parts
from apps.refunds.domain.calculation import RefundCalculation
from apps.refunds.domain.refunded_parts import RefundableDuty, RefundedUnits
from tests.support.refunds.golden import GoldenCase, RefundStep

ZERO = Decimal(0)


def build_duty(price: Decimal, tax: Decimal = ZERO) -> list[Attrs]:
    return [{"shop_money": {"amount": price}, "tax_lines": build_tax(tax)}] if price else []


def build_tax(price: Decimal) -> list[Attrs]:
    return [{"title": "VAT", "rate": ZERO, "price": price}] if price else []


class UnsavedOrder:
    def __init__(
        self,
        order: Order,
        lines: Sequence[LineItem],
        shipping: Sequence[ShippingLine] = (),
        *,
        code: Decimal = ZERO,
        payments: Sequence[tuple[Decimal | None, str]] = (),
    ) -> None:
        self.order, self.lines, self.shipping = order, list(lines), list(shipping)
        codes = [{"code": "LESS", "amount": code, "type": "fixed_amount"}] if code else []
        assert prices.price_order(order, self.lines, self.shipping, codes=codes) == {}
        self.known: list[Transaction] = []
        self.given: dict[int, tuple[Decimal, Decimal]] = {}
        for amount, currency in payments:
            self.pay(amount, currency)

    def pay(self, amount: Decimal | None, currency: str) -> None:
        owed = payments.get_balance_due(self.order, self.known, currency)
        input_owed = owed if amount is None else amount
        row = Transaction(order=self.order, kind="sale", status="success", amount=input_owed, currency=currency)
        row.shop_amount = payments._in_shop_currency(self.order, self.known, input_owed, currency)
        self.known.append(row)

    def calculate(
        self,
        units: Sequence[tuple[LineItem, int]] = (),
        shipping: Decimal = ZERO,
        duties: Sequence[RefundableDuty] = (),
    ) -> RefundCalculation:
        return calculation.calculate_amounts(
            self.order,
            self.lines,
            self.shipping,
            self.known,
            units=[RefundedUnits(*part) for part in units],
            shipping=shipping,
            duties=duties,
        )

    def line(self, letter: str) -> LineItem:
        return next(line for line in self.lines if line.title == letter)

    def duty(self, line: LineItem, *, share: bool) -> RefundableDuty:
        [duty] = line.duties
        return RefundableDuty(line, duty, self.given.get(duty["id"], (ZERO, ZERO)), share)

    def refund(self, result: RefundCalculation) -> None:
        refunded_parts.reduce_quantities([RefundedUnits(part.line, part.quantity) for part in result.lines])
        refunded_parts.add_refunded_shipping(result.shipping)
        refunded_parts.add_refunded_duties(result.duties)
        for part in result.duties:
            before = self.given.get(part.duty_id, (ZERO, ZERO))
            self.given[part.duty_id] = before[0] + part.amount, before[1] + part.tax
        for share in result.shares:
            share.payment.refunded += share.amount
            values = {"amount": share.amount, "shop_amount": share.in_order, "currency": share.payment.currency}
            row = Transaction(order=self.order, parent=share.payment, kind="refund", status="success", **values)
            self.known.append(row)
        totals.set_current_totals(self.order, self.lines, self.shipping)
        statuses.update_statuses(self.order, self.lines, self.known)


def build_books(case: GoldenCase) -> UnsavedOrder:
    currency, rate = case.seen or (case.currency, Decimal(1))
    currencies = {"currency": case.currency, "presentment_currency": currency, "exchange_rate": rate}
    order = Order(taxes_included=case.included, number=1, **currencies)
    lines = [
        make_line(line["price"], line["quantity"], off=line["off"], tax=line["tax"], title=line["letter"], duty=duty)
        for line in case.lines
        for duty in [build_duty(line["duty"], line["taxed"])]
    ]
    shipping = [ShippingLine(title="Post", price=row["price"], tax_lines=build_tax(row["tax"])) for row in case.posts]
    return UnsavedOrder(order, lines, shipping, code=case.code, payments=case.payments)


def make_line(
    price: Decimal,
    quantity: int,
    *,
    off: Decimal = ZERO,
    tax: Decimal = ZERO,
    title: str = "A",
    duty: Sequence[ReadOnlyAttrs] = (),
) -> LineItem:
    quantities = dict.fromkeys(("quantity", "current_quantity", "fulfillable_quantity"), quantity)
    values = {"total_discount": off, "tax_lines": build_tax(tax), "duties": list(duty)}
    return LineItem(title=title, name=title, price=price, **quantities, **values)


def build_duties(books: UnsavedOrder, step: RefundStep) -> list[RefundableDuty]:
    shares = [books.duty(books.line(letter), share=True) for letter in step.share]
    return [*shares, *(books.duty(books.line(letter), share=False) for letter in step.whole)]


def build_units(books: UnsavedOrder, step: RefundStep) -> list[tuple[LineItem, int]]:
    return [(books.line(letter), count) for letter, count in step.units]
