"""Allocate a refund to the payments of an order."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import reduce

from django.utils.translation import gettext as _

from apps.core.i18n.error_messages import BLANK, INVALID, at_most
from apps.core.i18n.messages import Amount, Message, define_message, define_text
from apps.core.money import MAX_AMOUNT, ZERO, format_decimal, has_valid_precision
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Errors
from apps.orders.models import Order, Transaction
from apps.refunds.domain import calculation
from apps.refunds.domain.calculation import PaymentBalance, RefundCalculation, Settlement
from apps.refunds.domain.gateways import MANUAL, only_records_refunds
from apps.refunds.domain.validation import (
    NOT_ORDER_CURRENCY,
    OrderSnapshot,
    RefundRefused,
    RefundRequest,
    RefundTransactionInput,
)

Status = Transaction.Status
_THROUGH = define_message("refunds.through", "{amount} through {gateway}")
_MANUALLY = define_message("refunds.manually", "{amount} manually")
_AND = define_message("refunds.and", "{first} and {second}")
_REFUNDED = define_message("refunds.refunded", "Refunded {amounts}")
_FOR_ITEMS = define_message("refunds.for_items", "{refunded} for {items}")
_MAX_NAMED_ITEMS = 5
_WITHOUT_MONEY = define_text("refunds.without_money", "Refunded without returning money")


def build_refund_transactions(
    snapshot: OrderSnapshot,
    refund_request: RefundRequest,
    calculated: RefundCalculation,
    *,
    at: datetime,
    user_id: int | None,
    source_name: str,
) -> tuple[list[Transaction], Settlement]:
    """Build the refund's transactions, and update the refunded amounts of the payments, without saving anything.

    Transactions of a gateway that moves money are pending until the gateway responds. Transactions that are only
    recorded succeed immediately.
    """
    transactions = list(snapshot.transactions)
    rows: list[Transaction] = []
    errors: Errors = {}
    for index, transaction_input in enumerate(refund_request.transaction_inputs):
        try:
            parts = _allocate(snapshot.order, transactions, transaction_input, refund_request.currency)
        except RefundRefused as error:
            errors |= {f"transactions.{index}.{name}": messages for name, messages in error.errors.items()}
            continue
        for payment, amount in parts:
            gateway = transaction_input.gateway or payment.gateway
            row = Transaction(
                shop=get_current_shop(),
                order=snapshot.order,
                parent=payment,
                sequence=len(transactions) + 1,
                kind=Transaction.Kind.REFUND,
                status=Status.SUCCESS if only_records_refunds(gateway, payment) else Status.PENDING,
                gateway=gateway,
                amount=amount,
                currency=payment.currency,
                source_name=source_name or snapshot.order.source_name,
                user_id=user_id,
                test=payment.test or snapshot.order.test,
                processed_at=refund_request.processed_at or at,
                created_at=at,
            )
            payment.refunded += amount
            transactions.append(row)
            rows.append(row)
    if errors:
        raise RefundRefused(errors)
    settlement = calculation.settle(calculated, [(row.parent, row.amount) for row in rows if row.parent])
    for row, shop_amount in zip(rows, settlement.in_order, strict=True):
        row.shop_amount = shop_amount
    return rows, settlement


def describe_refund(rows: Sequence[Transaction], items: Sequence[tuple[int, str]]) -> Message:
    """Return what was refunded. ``items`` are the quantities and names of the refunded line items."""
    refunded = _describe_payments(rows)
    if not items:
        return refunded
    names = [f"{quantity} × {name}" for quantity, name in items[:_MAX_NAMED_ITEMS]]
    return _FOR_ITEMS(refunded=refunded, items=", ".join([*names, "…"] if len(items) > len(names) else names))


def _describe_payments(rows: Sequence[Transaction]) -> Message:
    amounts = [_describe_payment(row) for row in rows]
    if not amounts:
        return _WITHOUT_MONEY
    return _REFUNDED(amounts=reduce(lambda before, amount: _AND(first=before, second=amount), amounts))


def _describe_payment(row: Transaction) -> Message:
    amount = Amount(format_decimal(row.amount, row.currency), row.currency)
    return _MANUALLY(amount=amount) if row.gateway == MANUAL else _THROUGH(amount=amount, gateway=row.gateway)


def _allocate(
    order: Order, transactions: Sequence[Transaction], transaction_input: RefundTransactionInput, currency: str | None
) -> list[tuple[Transaction, Decimal]]:
    """Allocate an amount to payments. Return an empty list if the amount is zero."""
    amount = transaction_input.amount
    if amount is None:
        raise RefundRefused(BLANK, field="amount")
    if not amount:
        return []
    matches = _find_payments(calculation.get_payment_balances(transactions), transaction_input)
    if not matches:
        raise RefundRefused(
            INVALID if transaction_input.parent_id else _("must be a payment for this order"), field="parent_id"
        )
    payment_currency = matches[0].payment.currency if transaction_input.parent_id else None
    requested_currency = transaction_input.currency or payment_currency or currency or order.currency
    if requested_currency not in {order.currency, order.presentment_currency}:
        raise RefundRefused(NOT_ORDER_CURRENCY, field="currency")
    fitting = [balance for balance in matches if balance.payment.currency == requested_currency]
    if not fitting:
        raise RefundRefused(
            _("must be {currency}, the currency of the payment").format(currency=matches[0].payment.currency),
            field="currency",
        )
    if not has_valid_precision(amount, requested_currency) or amount >= MAX_AMOUNT:
        raise RefundRefused(INVALID, field="amount")
    refundable = sum((balance.refundable for balance in fitting), ZERO)
    if amount > refundable:
        raise RefundRefused(at_most(format_decimal(refundable, requested_currency)), field="amount")
    parts = []
    for balance in fitting:
        part = min(amount, balance.refundable)
        if part:
            parts.append((balance.payment, part))
        amount -= part
    return parts


def _find_payments(
    balances: Sequence[PaymentBalance], transaction_input: RefundTransactionInput
) -> Sequence[PaymentBalance]:
    """Return the payment with the given id, otherwise the payments of the given gateway.

    A payment may be refunded through another gateway, for example as a gift card. The gateway ``manual`` matches all
    payments.
    """
    if transaction_input.parent_id is not None:
        return [balance for balance in balances if balance.payment.pk == transaction_input.parent_id]
    gateway = transaction_input.gateway
    return [balance for balance in balances if gateway in {None, "", MANUAL, balance.payment.gateway}]
