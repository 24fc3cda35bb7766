"""Record order transactions: sales, authorizations, captures and voids.

Refunds are created by ``apps.refunds``, because they also change items and statuses.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from apps.catalog.domain.sales_counters import add_units_sold
from apps.core.events.recording import EventInput, has_audience, record_event, record_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, at_most
from apps.core.i18n.messages import Amount, Message, define_message, define_text
from apps.core.money import MAX_AMOUNT, ZERO, format_decimal, get_minor_unit, has_valid_precision, round_money
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain import customer_totals, hooks, statuses
from apps.orders.domain.selectors import get_line_items, get_transactions, lock_order
from apps.orders.models import LineItem, Order, Transaction
from apps.orders.models.transactions import KIND_TEXTS, STATUS_TEXTS

_CANCELED = define_text("payments.order_canceled", "The order is canceled")
_NO_REFUND = define_text("payments.no_refund", "cannot be “refund”. Create a refund for the order instead")
_CAPTURED = define_text("payments.captured", "The authorization has been captured and cannot be voided")
_OTHER_CURRENCY = define_text("payments.other_currency", "is not one of the order's currencies")
_NOT_POSITIVE = define_text("payments.not_positive", "must be greater than 0")
_NO_AUTHORIZATION = define_text("payments.no_authorization", "must be an open authorization for this order")
_SETTLED = define_text("payments.settled", "has already been settled")
_WRONG_CURRENCY = define_message("payments.wrong_currency", "must be {currency}, the currency of the authorization")

Kind = Transaction.Kind
Status = Transaction.Status
PAYMENT_KINDS = frozenset({Kind.CAPTURE, Kind.SALE})
# The kinds of tender transactions, as in ``MOVED_MONEY``.
TENDER_KINDS = PAYMENT_KINDS | {Kind.REFUND}
TENDER_TOPIC = "tender_transactions/create"
_EVENT_MESSAGE = define_message("orders.payment", "{kind} of {amount} ({status})")


class PaymentRefused(DomainError):
    field = "amount"


@transaction.atomic
def create_transaction(order: Order, attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> Transaction:
    """Record a transaction for an order, and update the order's statuses and customer.

    A canceled order only accepts voids and the results of pending payments. ``attrs`` has ``kind``, and optionally
    ``amount``, ``currency``, ``parent_id``, ``gateway``, ``status``, …
    """
    order = lock_order(order)
    transactions = get_transactions(order)
    if order.cancelled_at is not None and attrs["kind"] != Kind.VOID and not get_pending_payments(transactions):
        raise PaymentRefused(_CANCELED, field="base")
    row = build_transaction(order, transactions, attrs, at=at)
    hooks.lock_money(order, [row])
    rest = _close_authorization(order, row, get_pending_payments([*transactions, row]))
    save_transactions([row])
    hooks.move_money(row, actor=actor, at=at)
    if rest and row.parent is not None:
        hooks.release_money(row.parent, rest, transaction=row.parent, actor=actor, at=at)
    record_event("order_transactions/create", row, actor=actor, at=at)
    record_tender_events([row], actor=actor, at=at)
    recalculate_order(
        order, get_line_items(order), [*transactions, row], actor=actor, at=at, message=_event_message(row)
    )
    return row


def record_tender_events(rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    """Record events for transactions that moved money. Call this once per transaction, when it succeeds."""
    if events := get_tender_events(rows):
        record_events(events, actor=actor, at=at)


def get_tender_events(rows: Sequence[Transaction]) -> list[EventInput]:
    """Return the events of transactions that moved money, or an empty list if no app subscribes to these events."""
    moved = [row for row in rows if row.kind in TENDER_KINDS and row.status == Status.SUCCESS]
    events = [EventInput(TENDER_TOPIC, row) for row in moved]
    return events if events and has_audience(TENDER_TOPIC) else []


def _event_message(row: Transaction) -> Message:
    return _EVENT_MESSAGE(
        kind=KIND_TEXTS[row.kind],
        amount=Amount(format_decimal(row.amount, row.currency), row.currency),
        status=STATUS_TEXTS[row.status],
    )


def build_transaction(
    order: Order, transactions: Sequence[Transaction], attrs: ReadOnlyAttrs, *, at: datetime
) -> Transaction:
    """Build a validated transaction without saving it, and update the unsaved remaining amount of the parent.

    ``transactions`` are the order's other transactions, oldest first. ``attrs`` are as in ``create_transaction``.
    """
    kind: str = attrs["kind"]
    if kind == Kind.REFUND:
        raise PaymentRefused(_NO_REFUND, field="kind")
    parent = _find_authorization(transactions, attrs) if kind in {Kind.CAPTURE, Kind.VOID} else None
    if kind == Kind.VOID and parent is not None and get_captures(parent, transactions):
        raise PaymentRefused(_CAPTURED, field="parent_id")
    currency = _resolve_currency(order, parent, attrs)
    amount = _resolve_amount(order, transactions, parent, currency, attrs)
    status = attrs.get("status") or Status.SUCCESS
    row = Transaction(
        shop=get_current_shop(),
        order=order,
        parent=parent,
        sequence=len(transactions) + 1,
        kind=kind,
        status=status,
        amount=amount,
        currency=currency,
        shop_amount=_in_shop_currency(order, transactions, amount, currency),
        created_at=at,
        **_details(order, parent, attrs, at=at),
    )
    completes_payment = status != Status.PENDING and any(
        _result_key(other) == _result_key(row) for other in get_pending_payments(transactions)
    )
    if kind != Kind.VOID and not completes_payment:
        if order.cancelled_at is not None:
            raise PaymentRefused(_CANCELED, field="base")
        _check_limit(order, transactions, row)
    _set_unsettled(row)
    return row


def _details(order: Order, parent: Transaction | None, attrs: ReadOnlyAttrs, *, at: datetime) -> Attrs:
    columns = {name: attrs[name] for name in ("authorization", "message", "error_code", "receipt") if attrs.get(name)}
    return {
        **columns,
        "gateway": attrs.get("gateway") or (parent.gateway if parent else "manual"),
        "source_name": attrs.get("source_name") or order.source_name,
        "test": bool(attrs.get("test") or order.test or (parent is not None and parent.test)),
        "processed_at": attrs.get("processed_at") or at,
    }


def _set_unsettled(row: Transaction) -> None:
    """Set the remaining amount of a new authorization, or of the authorization that is captured or voided."""
    if row.status != Status.SUCCESS:
        return
    if row.kind == Kind.AUTHORIZATION:
        row.unsettled = row.amount
    elif row.parent is not None:
        row.parent.unsettled = ZERO if row.kind == Kind.VOID else row.parent.unsettled - row.amount


def _close_authorization(order: Order, row: Transaction, pending: Sequence[Transaction]) -> Decimal:
    """Set the remaining amount of a canceled order's authorization to zero after its last capture, and return it."""
    authorization = row.parent
    if order.cancelled_at is None or authorization is None or (row.kind, row.status) != (Kind.CAPTURE, Status.SUCCESS):
        return ZERO
    if any(other.parent is authorization for other in pending):
        return ZERO
    rest, authorization.unsettled = authorization.unsettled, ZERO
    return rest


def save_transactions(rows: Sequence[Transaction]) -> None:
    """Save new transactions, authorizations first, and the remaining amounts of the authorizations."""
    batches: list[list[Transaction]] = []
    last: dict[int, int] = {}
    batch_of: dict[int, int] = {}
    for row in rows:
        row.order_id = row.order.pk
        batch = last.get(row.order_id, 0)
        if row.parent is not None and batch_of.get(id(row.parent)) == batch:
            # The parent has no id yet, so this row is saved with the next batch.
            batch += 1
        last[row.order_id] = batch_of[id(row)] = batch
        if batch == len(batches):
            batches.append([])
        batches[batch].append(row)
    for unsaved in batches:
        for row in unsaved:
            if row.parent is not None:
                row.parent_id = row.parent.pk
        Transaction.objects.bulk_create(unsaved)
    Transaction.objects.bulk_update({row.parent for row in rows if row.parent is not None}, ["unsettled"])


def get_captures(authorization: Transaction, transactions: Sequence[Transaction]) -> list[Transaction]:
    rows = [*(row for row in transactions if row.status == Status.SUCCESS), *get_pending_payments(transactions)]
    return [row for row in rows if row.kind == Kind.CAPTURE and row.parent is authorization]


def get_pending_payments(transactions: Sequence[Transaction]) -> list[Transaction]:
    """Return the pending payments that have no result yet, oldest first.

    The result of a pending payment is a later transaction of the same kind, gateway, authorization and amount.
    """
    by_outcome: dict[object, deque[Transaction]] = defaultdict(deque)
    pending: dict[int, Transaction] = {}
    for row in transactions:
        outcome = _result_key(row)
        if row.status != Status.PENDING:
            if candidates := by_outcome[outcome]:
                del pending[id(candidates.popleft())]
        elif row.kind in PAYMENT_KINDS:
            by_outcome[outcome].append(row)
            pending[id(row)] = row
    return list(pending.values())


def _result_key(row: Transaction) -> object:
    return row.kind, row.gateway, row.currency, row.amount, id(row.parent)


def _find_authorization(transactions: Sequence[Transaction], attrs: ReadOnlyAttrs) -> Transaction:
    """Return the authorization with the given id or code, otherwise the newest open authorization."""
    parent_id, code = attrs.get("parent_id"), attrs.get("authorization")
    if parent_id is None:
        is_open = [row for row in transactions if row.kind == Kind.AUTHORIZATION and row.unsettled]
        if not is_open:
            raise PaymentRefused(_NO_AUTHORIZATION, field="parent_id")
        return next((row for row in is_open if code and row.authorization == code), is_open[-1])
    for row in transactions:
        if row.pk == parent_id and row.kind == Kind.AUTHORIZATION and row.status == Status.SUCCESS:
            if not row.unsettled:
                raise PaymentRefused(_SETTLED, field="parent_id")
            return row
    raise PaymentRefused(INVALID, field="parent_id")


def _resolve_currency(order: Order, parent: Transaction | None, attrs: ReadOnlyAttrs) -> str:
    currency = attrs.get("currency")
    if currency is None:
        if order.is_multi_currency and attrs.get("amount") is not None:
            raise PaymentRefused(BLANK, field="currency")
        return parent.currency if parent else order.currency
    if currency not in {order.currency, order.presentment_currency}:
        raise PaymentRefused(_OTHER_CURRENCY, field="currency")
    if parent is not None and parent.currency != currency:
        raise PaymentRefused(_WRONG_CURRENCY(currency=parent.currency), field="currency")
    return str(currency)


def _resolve_amount(
    order: Order, transactions: Sequence[Transaction], parent: Transaction | None, currency: str, attrs: ReadOnlyAttrs
) -> Decimal:
    if attrs["kind"] == Kind.VOID:
        assert parent is not None
        return parent.unsettled
    amount: Decimal | None = attrs.get("amount")
    if amount is None:
        balance_due = get_balance_due(order, transactions, currency)
        amount = balance_due if parent is None else min(parent.unsettled, balance_due)
    elif not has_valid_precision(amount, currency):
        raise PaymentRefused(INVALID)
    if amount == 0 and order.total_price:
        raise PaymentRefused(_NOT_POSITIVE)
    if amount >= MAX_AMOUNT:
        raise PaymentRefused(INVALID)
    if parent is not None and amount > parent.unsettled:
        raise PaymentRefused(at_most(format_decimal(parent.unsettled, currency)))
    return amount


def get_balance_due(order: Order, transactions: Sequence[Transaction], currency: str) -> Decimal:
    """Return the balance due in one of the order's two currencies. An overpayment counts as zero.

    If all payments are in the presentment currency, the balance is calculated in the presentment currency, so that
    rounding differences of individual payments do not add up.
    """
    movements = [row for row in transactions if row.status == Status.SUCCESS and row.kind in TENDER_KINDS]
    if currency != order.currency and all(row.currency == currency for row in movements):
        paid = _balance([(row.kind, row.amount) for row in movements])
        return max(order.get_presentment("current_total_price") - paid, ZERO)
    balance = max(order.current_total_price - _balance([(row.kind, row.shop_amount) for row in movements]), ZERO)
    return balance if currency == order.currency else order.to_presentment(balance)


def _balance(amounts: Sequence[tuple[str, Decimal]]) -> Decimal:
    return sum((-amount if kind == Kind.REFUND else amount for kind, amount in amounts), ZERO)


def _in_shop_currency(order: Order, transactions: Sequence[Transaction], amount: Decimal, currency: str) -> Decimal:
    """Convert an amount to the order's currency.

    A payment of the exact balance in the presentment currency is converted to the exact balance in the order's
    currency. A smaller payment never settles the balance.
    """
    if currency == order.currency:
        return amount
    converted = round_money(amount / order.exchange_rate, order.currency)
    if converted >= MAX_AMOUNT:
        raise PaymentRefused(INVALID)
    balance = get_balance_due(order, transactions, currency)
    shop_balance = get_balance_due(order, transactions, order.currency)
    if amount == balance:
        return shop_balance
    return min(converted, max(shop_balance - get_minor_unit(order.currency), ZERO)) if amount < balance else converted


def _check_limit(order: Order, transactions: Sequence[Transaction], row: Transaction) -> None:
    """Check that payments, including pending payments, exceed neither the balance due nor the authorized amount."""
    if row.kind not in PAYMENT_KINDS or row.status not in {Status.SUCCESS, Status.PENDING}:
        return
    pending = get_pending_payments(transactions)
    limit = get_payable_amount(order, transactions, row.currency)
    if row.parent is not None:
        reserved = sum((other.amount for other in pending if other.parent is row.parent), ZERO)
        limit = min(limit, row.parent.unsettled - reserved)
    if row.amount > limit:
        raise PaymentRefused(at_most(format_decimal(max(limit, ZERO), row.currency)))


def get_payable_amount(order: Order, transactions: Sequence[Transaction], currency: str) -> Decimal:
    """Return how much of the balance due is not covered by pending payments, in one of the order's currencies."""
    pending = sum((_amount_in(order, row, currency) for row in get_pending_payments(transactions)), ZERO)
    return max(get_balance_due(order, transactions, currency) - pending, ZERO)


def _amount_in(order: Order, row: Transaction, currency: str) -> Decimal:
    if row.currency == currency:
        return row.amount
    return row.shop_amount if currency == order.currency else order.to_presentment(row.shop_amount)


def recalculate_order(
    order: Order,
    lines: Sequence[LineItem],
    transactions: Sequence[Transaction],
    *,
    actor: str,
    at: datetime,
    message: Message | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Update a locked order's statuses, totals, customer and best-selling counts, and record the event.

    ``lines`` and ``transactions`` are all of the order's. ``message`` is for the timeline. ``columns`` are additional
    order columns to save.
    """
    before = order.financial_status
    spent_before = customer_totals.get_spent_amount(
        Order.objects.only("test", "currency", "total_paid", "total_refunded").get(pk=order.pk)
    )
    statuses.update_statuses(order, lines, transactions)
    is_newly_sold = mark_units_counted(order)
    order.save(update_fields=[*statuses.STATUS_COLUMNS, "presentment_totals", "units_counted", *columns])
    # The order's events contain the customer.
    customer_totals.update_total_spent(order, spent_before, actor=actor, at=at)
    changes = {"financial_status": [before, order.financial_status]} if before != order.financial_status else {}
    record_event("orders/updated", order, actor=actor, at=at, message=message, changes=changes)
    if before != order.financial_status == Order.FinancialStatus.PAID:
        record_event("orders/paid", order, actor=actor, at=at)
        hooks.notify_paid_listeners([order], actor=actor, at=at)
    if is_newly_sold:
        count_sold_units(lines)


def mark_units_counted(order: Order) -> bool:
    """Mark a paid order so that its items count as sold. Return False for test orders and already marked orders."""
    if order.units_counted or order.test or order.financial_status != Order.FinancialStatus.PAID:
        return False
    order.units_counted = True
    return True


def count_sold_units(lines: Sequence[LineItem], sign: int = 1) -> None:
    """Add the quantities of lines to the sold quantities of products, or subtract them if ``sign`` is -1."""
    units: dict[int, int] = {}
    for line in lines:
        if line.product_id is not None:
            units[line.product_id] = units.get(line.product_id, 0) + sign * line.quantity
    add_units_sold(units)
