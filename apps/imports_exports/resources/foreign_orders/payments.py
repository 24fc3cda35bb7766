"""Build the payments and refunds of an order from its status, total and balances in a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from apps.core.i18n.messages import Amount, Message, define_message, define_text
from apps.core.money import ZERO
from apps.core.types import Attrs
from apps.imports_exports.domain.rows import Cells
from apps.imports_exports.resources.foreign_orders.cells import read_amount, read_sum
from apps.imports_exports.resources.order_statuses import normalize_status
from apps.orders.models import Order, Transaction
from apps.refunds.models import OrderAdjustment

_UNKNOWN_PAYMENT = define_text(
    "order_imports.unknown_payment", "the file doesn't contain the paid amount: the order was imported as unpaid"
)
_UNKNOWN_REFUND = define_text(
    "order_imports.unknown_refund",
    "the file doesn't contain the refunded amount: the order was imported without its refund",
)
_UNKNOWN_STATUS = define_message(
    "order_imports.unknown_payment_status", "the payment status {status} is unknown: the order was imported as unpaid"
)
_EXPIRED = define_text("order_imports.expired", "the expired authorization was imported as voided")
_REFUND = define_message(
    "order_imports.refund_without_items",
    "the file doesn't contain which items were refunded: the refund of {amount} was imported as an amount",
)
_REFUND_DATE = define_text(
    "order_imports.refund_date", "the file doesn't contain the date of the refund: it has the latest date of the order"
)
Status = Order.FinancialStatus
Kind = Transaction.Kind
_STATUSES: dict[str, str] = {
    **{status.value: status.value for status in Status},
    **dict.fromkeys(("", "unpaid", "on_hold", "failed"), Status.PENDING),
    **dict.fromkeys(("processing", "completed"), Status.PAID),
    **dict.fromkeys(("expired", "cancelled", "canceled"), Status.VOIDED),
}
_REFUNDED = frozenset({Status.REFUNDED, Status.PARTIALLY_REFUNDED})
_PAYMENT_ID, _FOLLOWING_ID = 1, 2


@dataclass(frozen=True, slots=True)
class Payments:
    """The transactions of an order in the format of a request body, and the paid and refunded amounts."""

    transactions: Sequence[Attrs]
    paid: Decimal
    refunded: Decimal
    notes: list[Message] = field(default_factory=list)


def read_payments(first: Cells, total: Decimal, *, currency: str) -> Payments:
    """Read the payments of an order with this total."""
    notes: list[Message] = []
    word = normalize_status(first, "financial_status")
    status = _STATUSES.get(word)
    if status is None:
        notes.append(_UNKNOWN_STATUS(status=repr(word[:50])))
    elif word == "expired":
        notes.append(_EXPIRED)
    refunded = _get_refunded(first, status, total, notes)
    paid = _get_paid(first, status, total, refunded, notes)
    refunded = min(refunded, paid)
    transactions: list[Attrs] = []
    common = {
        "currency": currency,
        "status": Transaction.Status.SUCCESS,
        "gateway": first.get("payment_method", "").strip() or "manual",
        "authorization": first.get("payment_reference", "").strip(),
    }
    payment = {**common, "id": _PAYMENT_ID, **_get_time(first, "paid_at")}
    if paid:
        transactions.append({**payment, "kind": Kind.SALE, "amount": str(paid)})
    elif status in {Status.AUTHORIZED, Status.VOIDED} and total:
        open_amount = {"shop_money": {"amount": str(total)}, "presentment_money": {"amount": str(total)}}
        is_open = status == Status.AUTHORIZED and not first.get("cancelled_at")
        unsettled = {"total_unsettled_set": open_amount} if is_open else {}
        transactions.append({**payment, "kind": Kind.AUTHORIZATION, "amount": str(total), **unsettled})
        if not is_open:
            void = {"id": _FOLLOWING_ID, "parent_id": _PAYMENT_ID, "kind": Kind.VOID, "amount": str(total)}
            transactions.append({**common, **void, **_get_latest_time(first)})
    if refunded:
        refund = {"id": _FOLLOWING_ID, "parent_id": _PAYMENT_ID, "kind": Kind.REFUND, "amount": str(refunded)}
        transactions.append({**common, **refund, **_get_latest_time(first)})
    return Payments(transactions, paid, refunded, notes)


def _get_refunded(first: Cells, status: str | None, total: Decimal, notes: list[Message]) -> Decimal:
    refunded = read_amount(first, "refunded_amount")
    if refunded:
        return refunded
    if status == Status.PARTIALLY_REFUNDED:
        notes.append(_UNKNOWN_REFUND)
    return total if status == Status.REFUNDED else ZERO


def _get_paid(first: Cells, status: str | None, total: Decimal, refunded: Decimal, notes: list[Message]) -> Decimal:
    outstanding = read_amount(first, "outstanding_balance")
    if status == Status.REFUNDED:
        return refunded
    if status in {Status.PAID, Status.PARTIALLY_REFUNDED}:
        # A negative balance means that the customer has paid too much.
        return max(total - min(outstanding or ZERO, ZERO), refunded)
    if status != Status.PARTIALLY_PAID:
        # Only money that was paid can be refunded.
        return refunded
    if outstanding is not None:
        return max(total - outstanding, ZERO) + refunded
    paid = read_sum(first, "paid")
    if not paid:
        notes.append(_UNKNOWN_PAYMENT)
    return paid + refunded


def _get_time(first: Cells, column: str) -> Attrs:
    """Return the times of a transaction. Without a time in the file, it has the time of the order."""
    moment = first.get(column, "").strip()
    return {"processed_at": moment, "created_at": moment} if moment else {}


def _get_latest_time(first: Cells) -> Attrs:
    """Return the time of a refund, which the file does not contain: the latest known time of the order."""
    columns = ("cancelled_at", "fulfilled_at", "paid_at")
    return next((times for column in columns if (times := _get_time(first, column))), {})


def build_refund(
    first: Cells,
    payments: Payments,
    items: Sequence[Attrs],
    shipping: Sequence[Attrs],
    *,
    worth: Decimal,
    currency: str,
) -> tuple[Attrs, list[Message]]:
    """Return the refund of an order and notes about what the file does not contain.

    ``items`` and ``shipping`` are the refunded rows in the format of a request body, which are worth ``worth``. Another
    refunded amount is an adjustment.
    """
    kinds = OrderAdjustment.Kind
    adjustments = [
        _build_adjustment(
            kinds.SHIPPING_REFUND,
            "Shipping refund",
            *(-Decimal(row[name]["shop_money"]["amount"]) for name in ("subtotal_amount_set", "tax_amount_set")),
        )
        for row in shipping
    ]
    if difference := worth - payments.refunded:
        adjustments.append(_build_adjustment(kinds.REFUND_DISCREPANCY, "Refund discrepancy", difference, ZERO))
    refund: Attrs = {
        **_get_latest_time(first),
        "refund_line_items": items,
        "refund_shipping_lines": shipping,
        "order_adjustments": adjustments,
        "transactions": [payments.transactions[-1]],
    }
    notes = [] if items else [_REFUND(amount=Amount(payments.refunded, currency))]
    return refund, [*notes, _REFUND_DATE]


def _build_adjustment(kind: str, reason: str, amount: Decimal, tax: Decimal) -> Attrs:
    sets = {"amount_set": build_money_set(amount), "tax_amount_set": build_money_set(tax)}
    return {"kind": kind, "reason": reason, **sets}


def build_money_set(amount: Decimal) -> Attrs:
    return {side: {"amount": str(amount)} for side in ("shop_money", "presentment_money")}
