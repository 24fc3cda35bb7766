"""Restore the state of an order that another shop exported: edits, fulfilled quantities, payments and a cancellation.

The amounts are calculated as for every new order and compared with the exported amounts, so that an order is either
restored exactly or refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Amount, Message, define_message, define_text
from apps.core.money import MAX_AMOUNT, format_decimal, has_valid_precision
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Errors, ReadOnlyAttrs
from apps.orders.domain import statuses
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

_DIFFERS = define_message("order_imports.differs", "is {exported} in the file, but would be {restored}")
_TOO_MANY = define_text("order_imports.quantities_too_large", "the quantities exceed the ordered quantity")
_BAD_AMOUNT = define_text("order_imports.bad_amount", "is not an amount in one of the order's currencies")
_NO_PARENT = define_text("order_imports.no_parent", "must be an earlier transaction of the order")


class OrderRefused(DomainError):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderState:
    """What happened to an order since it was created, as values of columns that other workflows set.

    Attributes:
        order: Columns of the order.
        lines: Columns of each line item.
        shipping: Columns of each shipping line.
        transactions: Columns of each transaction, oldest first, with ``parent`` as an index in this list, or None. If
            the list is missing, the financial status determines the transactions.
        presentment: Amounts of columns of the order in the presentment currency.
        expected: The values of calculated columns in the file, which the restored order must have.
        duty_taxes: For each line item, the refunded taxes of its duties, keyed by the index of the duty.
    """

    order: ReadOnlyAttrs
    lines: Sequence[ReadOnlyAttrs]
    shipping: Sequence[ReadOnlyAttrs]
    transactions: Sequence[ReadOnlyAttrs] | None = None
    presentment: Mapping[str, Decimal] = field(default_factory=dict)
    expected: ReadOnlyAttrs = field(default_factory=dict)
    duty_taxes: Sequence[Mapping[int, Decimal]] = ()


def apply_state(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], state: OrderState) -> None:
    """Set the columns of unsaved rows, before the order is priced.

    Raises:
        OrderRefused: Quantities do not fit the ordered quantity of a line.
    """
    for name, value in state.order.items():
        setattr(order, name, value)
    for row, columns in [*zip(lines, state.lines, strict=True), *zip(shipping, state.shipping, strict=True)]:
        for name, value in columns.items():
            setattr(row, name, value)
    for line, taxes in zip(lines, state.duty_taxes, strict=True):
        line.duties = [
            {**duty, "refunded_tax": str(taxes[index])} if index in taxes else duty
            for index, duty in enumerate(line.duties)
        ]
    errors = {f"line_items.{index}": [_TOO_MANY] for index, line in enumerate(lines) if not _is_possible(line)}
    if errors:
        raise OrderRefused(errors)


def _is_possible(line: LineItem) -> bool:
    quantities = (line.current_quantity, line.fulfillable_quantity, line.fulfilled_quantity, line.refunded_quantity)
    return (
        min(quantities) >= 0
        and line.fulfillable_quantity + line.fulfilled_quantity <= line.quantity
        and line.current_quantity + line.refunded_quantity <= line.quantity
    )


def build_transactions(order: Order, rows: Sequence[ReadOnlyAttrs], *, at: datetime) -> list[Transaction]:
    """Build the unsaved transactions of a restored order.

    Raises:
        OrderRefused: An amount, a currency or a parent is impossible.
    """
    transactions: list[Transaction] = []
    errors: Errors = {}
    for index, columns in enumerate(rows):
        parent = columns["parent"]
        if parent is not None and not 0 <= parent < index:
            errors[f"transactions.{index}.parent_id"] = [_NO_PARENT]
            continue
        values = {"created_at": at, **columns, "parent": None if parent is None else transactions[parent]}
        row = Transaction(shop=get_current_shop(), order=order, sequence=index + 1, **values)
        currencies = {order.currency, order.presentment_currency}
        if row.currency not in currencies or not _are_amounts(row, order):
            errors[f"transactions.{index}.amount"] = [_BAD_AMOUNT]
        transactions.append(row)
    if errors:
        raise OrderRefused(errors)
    return transactions


def _are_amounts(row: Transaction, order: Order) -> bool:
    in_own = (row.amount, row.unsettled, row.refunded)
    amounts = [*((amount, row.currency) for amount in in_own), (row.shop_amount, order.currency)]
    is_valid = all(0 <= amount < MAX_AMOUNT and has_valid_precision(amount, currency) for amount, currency in amounts)
    return is_valid and row.refunded <= row.amount


def check_state(
    order: Order, lines: Sequence[LineItem], transactions: Sequence[Transaction], state: OrderState
) -> None:
    """Set the order's statuses, and compare the calculated columns with the values in the file.

    Raises:
        OrderRefused: A value differs.
    """
    statuses.update_statuses(order, lines, transactions)
    order.set_presentment(**state.presentment)
    errors: Errors = {}
    for name, expected in state.expected.items():
        restored = getattr(order, name)
        if restored != expected:
            errors[name] = [_DIFFERS(exported=_show(order, expected), restored=_show(order, restored))]
    if errors:
        raise OrderRefused(errors)


def _show(order: Order, value: object) -> Message | Amount | str:
    return Amount(format_decimal(value, order.currency)) if isinstance(value, Decimal) else str(value or "null")
