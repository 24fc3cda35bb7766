"""The movements of money that are told of an order: sales, authorizations, their captures and voids.

Refunds are not made here: they move goods and statuses as well (``apps.refunds``).
Rule: decisions, Orders; reliability M12, M13.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.catalog.domain.sales import count_units
from apps.events.domain.recording import record_event
from apps.ground import languages
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError
from apps.ground.money import MAX_AMOUNT, ZERO, fits, quantum_of, rounded, text_of
from apps.ground.phrases import BLANK, INVALID, at_most
from apps.ground.retelling import tells
from apps.ground.tenancy import current_shop
from apps.orders.domain import buyers, statuses, tenders
from apps.orders.domain.loading import lines_of, lock, transactions_of
from apps.orders.models import LineItem, Order, Transaction

Kind = Transaction.Kind
Status = Transaction.Status
NEEDS_PARENT = frozenset({Kind.CAPTURE, Kind.VOID})
TAKES_MONEY = frozenset({Kind.CAPTURE, Kind.SALE})
MOVES_MONEY = TAKES_MONEY | {Kind.REFUND}
_KINDS = {each.name.capitalize(): each.label for each in Kind}
_STATUSES = {each.name.capitalize(): each.label for each in Status}
_SAID = tells(
    gettext_noop("{kind} of {amount} ({status})"),
    kind=lambda word: str(_KINDS[word]),
    amount=languages.retold_amount,
    status=lambda word: str(_STATUSES[word]),
)


class PaymentRefused(DomainError):
    """The movement of money cannot be."""

    code = "payment_refused"
    field = "amount"


@transaction.atomic
def create_transaction(order: Order, attrs: Given, *, actor: str, at: datetime) -> Transaction:
    """Note a movement of money for an order; its statuses and its customer follow.

    A cancelled order takes voids, and the outcome of what was pending.

    Args:
        order: Read again under a lock.
        attrs: ``kind``, and as needed ``amount``, ``currency``, ``parent_id``, ``gateway``, ``status``, …
        actor: Who tells of it.
        at: When.

    Raises:
        PaymentRefused: ``{field: [messages]}``.
    """
    order = lock(order)
    known = transactions_of(order)
    if order.cancelled_at is not None and attrs["kind"] != Kind.VOID and not waiting(known):
        raise PaymentRefused(_("The order is cancelled"), field="base")
    row = draft(order, known, attrs, at=at)
    save([row])
    record_event("order_transactions/create", row, actor=actor, at=at)
    tenders.tell([row], actor=actor, at=at)
    settle(order, lines_of(order), [*known, row], actor=actor, at=at, message=_said(row))
    return row


def _said(row: Transaction) -> str:
    """A movement of money for the timeline."""
    return _SAID.format(
        kind=Kind(row.kind).name.capitalize(),
        amount=f"{text_of(row.amount, row.currency)} {row.currency}",
        status=Status(row.status).name.capitalize(),
    )


def draft(order: Order, known: Sequence[Transaction], attrs: Given, *, at: datetime) -> Transaction:
    """A movement of money, checked and not saved; of what it captures or voids the rest is set.

    Args:
        order: Locked, or not saved yet.
        known: Its other transactions, oldest first.
        attrs: See ``create_transaction``.
        at: When.

    Raises:
        PaymentRefused: ``{field: [messages]}``.
    """
    kind: str = attrs["kind"]
    if kind == Kind.REFUND:
        raise PaymentRefused(_("must be made as a refund of the order"), field="kind")
    parent = _parent(known, attrs) if kind in NEEDS_PARENT else None
    currency = _currency(order, parent, attrs)
    amount = _amount(order, known, parent, currency, attrs)
    status = attrs.get("status") or Status.SUCCESS
    row = Transaction(
        shop=current_shop(),
        order=order,
        parent=parent,
        sequence=len(known) + 1,
        kind=kind,
        status=status,
        amount=amount,
        currency=currency,
        shop_amount=_in_shop_currency(order, known, amount, currency),
        created_at=at,
        **_details(order, parent, attrs, at=at),
    )
    if kind != Kind.VOID and concluded_by(row, known) is None:
        if order.cancelled_at is not None:
            raise PaymentRefused(_("The order is cancelled"), field="base")
        _refuse_excess(order, known, row)
    _set_rest(row)
    return row


def _details(order: Order, parent: Transaction | None, attrs: Given, *, at: datetime) -> Attrs:
    """What is noted of a movement as it is told; what is not told follows from its authorization and its order."""
    told = {name: attrs[name] for name in ("authorization", "message", "error_code", "receipt") if attrs.get(name)}
    return {
        **told,
        "gateway": attrs.get("gateway") or (parent.gateway if parent else "manual"),
        "source_name": attrs.get("source_name") or order.source_name,
        "test": bool(attrs.get("test") or order.test or (parent is not None and parent.test)),
        "processed_at": attrs.get("processed_at") or at,
    }


def _set_rest(row: Transaction) -> None:
    """Set what is left of an authorization, new or settled by the row."""
    if row.status != Status.SUCCESS:
        return
    if row.kind == Kind.AUTHORIZATION:
        row.unsettled = row.amount
    elif row.parent is not None:
        row.parent.unsettled = ZERO if row.kind == Kind.VOID else row.parent.unsettled - row.amount


def save(rows: Sequence[Transaction]) -> None:
    """Save new transactions, those of each order in their order, and what is left of the authorizations they settle."""
    turns: list[list[Transaction]] = []
    last: dict[int, int] = {}
    placed: dict[int, int] = {}
    for row in rows:
        row.order_id = row.order.pk
        turn = last.get(row.order_id, 0)
        if row.parent is not None and placed.get(id(row.parent)) == turn:
            # Its id is needed: the row comes with the next.
            turn += 1
        last[row.order_id] = placed[id(row)] = turn
        if turn == len(turns):
            turns.append([])
        turns[turn].append(row)
    for unsaved in turns:
        for row in unsaved:
            if row.parent is not None:
                row.parent_id = row.parent.pk
        Transaction.objects.bulk_create(unsaved)
    Transaction.objects.bulk_update({row.parent for row in rows if row.parent is not None}, ["unsettled"])


def _parent(known: Sequence[Transaction], attrs: Given) -> Transaction:
    """The authorization that is captured or voided.

    Raises:
        PaymentRefused: There is none, or it was captured and is to be voided.
    """
    parent = _authorization(known, attrs)
    if attrs["kind"] == Kind.VOID and captures_of(parent, known):
        raise PaymentRefused(_("The authorization has been captured and cannot be voided"), field="parent_id")
    return parent


def captures_of(authorization: Transaction, known: Sequence[Transaction]) -> list[Transaction]:
    """The captures of an authorization that succeeded or may yet."""
    rows = [*(row for row in known if row.status == Status.SUCCESS), *waiting(known)]
    return [row for row in rows if row.kind == Kind.CAPTURE and row.parent is authorization]


def waiting(known: Sequence[Transaction]) -> list[Transaction]:
    """The pending payments of which nothing was heard yet, oldest first.

    A payment comes true, or fails, by a later movement of the same kind, gateway, authorization and amount.
    """
    by_outcome: dict[object, deque[Transaction]] = defaultdict(deque)
    found: dict[int, Transaction] = {}
    for row in known:
        outcome = _outcome(row)
        if row.status != Status.PENDING:
            if like := by_outcome[outcome]:
                del found[id(like.popleft())]
        elif row.kind in TAKES_MONEY:
            by_outcome[outcome].append(row)
            found[id(row)] = row
    return list(found.values())


def concluded_by(row: Transaction, known: Sequence[Transaction]) -> Transaction | None:
    """The pending payment whose outcome a movement of money is; None where it is none's."""
    if row.status == Status.PENDING:
        return None
    outcome = _outcome(row)
    return next((other for other in waiting(known) if _outcome(other) == outcome), None)


def _outcome(row: Transaction) -> object:
    """What a pending payment has in common with its outcome."""
    return row.kind, row.gateway, row.currency, row.amount, id(row.parent)


def _authorization(known: Sequence[Transaction], attrs: Given) -> Transaction:
    """The authorization named by its id or its code, else the newest open one."""
    wanted, code = attrs.get("parent_id"), attrs.get("authorization")
    if wanted is None:
        is_open = [row for row in known if row.kind == Kind.AUTHORIZATION and row.unsettled]
        if not is_open:
            raise PaymentRefused(_("must be an open authorization of the order"), field="parent_id")
        return next((row for row in is_open if code and row.authorization == code), is_open[-1])
    for row in known:
        if row.pk == wanted and row.kind == Kind.AUTHORIZATION and row.status == Status.SUCCESS:
            if not row.unsettled:
                raise PaymentRefused(_("has been settled already"), field="parent_id")
            return row
    raise PaymentRefused(INVALID, field="parent_id")


def _currency(order: Order, parent: Transaction | None, attrs: Given) -> str:
    given = attrs.get("currency")
    if given is None:
        if order.is_multi_currency and attrs.get("amount") is not None:
            raise PaymentRefused(BLANK, field="currency")
        return parent.currency if parent else order.currency
    if given not in {order.currency, order.presentment_currency}:
        raise PaymentRefused(_("is not a currency of the order"), field="currency")
    if parent is not None and parent.currency != given:
        raise PaymentRefused(
            _("must be {currency}, that of the authorization").format(currency=parent.currency), field="currency"
        )
    return str(given)


def _amount(
    order: Order, known: Sequence[Transaction], parent: Transaction | None, currency: str, attrs: Given
) -> Decimal:
    if attrs["kind"] == Kind.VOID:
        assert parent is not None
        return parent.unsettled
    given: Decimal | None = attrs.get("amount")
    if given is None:
        rest = owed(order, known, currency)
        given = rest if parent is None else min(parent.unsettled, rest)
    elif not fits(given, currency):
        raise PaymentRefused(INVALID)
    if given == 0 and order.total_price:
        raise PaymentRefused(_("must be greater than 0"))
    if given >= MAX_AMOUNT:
        raise PaymentRefused(INVALID)
    if parent is not None and given > parent.unsettled:
        raise PaymentRefused(at_most(text_of(parent.unsettled, currency)))
    return given


def owed(order: Order, known: Sequence[Transaction], currency: str) -> Decimal:
    """What is still to be paid of an order, in one of its currencies; nothing where too much was paid.

    What was paid in the buyer's currency alone is counted in it: the roundings of single payments do not add up.
    """
    done = [row for row in known if row.status == Status.SUCCESS and row.kind in MOVES_MONEY]
    if currency != order.currency and all(row.currency == currency for row in done):
        whole, moved = order.presentment(order.current_total_price), [(row.kind, row.amount) for row in done]
        return max(whole - _balance(moved), ZERO)
    rest = max(order.current_total_price - _balance([(row.kind, row.shop_amount) for row in done]), ZERO)
    return rest if currency == order.currency else order.presentment(rest)


def _balance(moved: Sequence[tuple[str, Decimal]]) -> Decimal:
    return sum((-amount if kind == Kind.REFUND else amount for kind, amount in moved), ZERO)


def _in_shop_currency(order: Order, known: Sequence[Transaction], amount: Decimal, currency: str) -> Decimal:
    """What an amount comes to in the order's currency.

    All that was owed in the buyer's currency is all that was owed; less than that is less, whatever the rounding says.

    Raises:
        PaymentRefused: It is more than can be kept.
    """
    if currency == order.currency:
        return amount
    converted = rounded(amount / order.exchange_rate, order.currency)
    if converted >= MAX_AMOUNT:
        raise PaymentRefused(INVALID)
    whole, rest = owed(order, known, currency), owed(order, known, order.currency)
    if amount == whole:
        return rest
    return min(converted, max(rest - quantum_of(order.currency), ZERO)) if amount < whole else converted


def _refuse_excess(order: Order, known: Sequence[Transaction], row: Transaction) -> None:
    """Payments, pending ones included, come to what is owed at most, and captures to their authorization."""
    if row.kind not in TAKES_MONEY or row.status not in {Status.SUCCESS, Status.PENDING}:
        return
    pending = waiting(known)
    limit = owed(order, known, row.currency) - sum((_amount_in(order, other, row.currency) for other in pending), ZERO)
    if row.parent is not None:
        reserved = sum((other.amount for other in pending if other.parent is row.parent), ZERO)
        limit = min(limit, row.parent.unsettled - reserved)
    if row.amount > limit:
        raise PaymentRefused(at_most(text_of(max(limit, ZERO), row.currency)))


def _amount_in(order: Order, row: Transaction, currency: str) -> Decimal:
    """The amount of a movement in one of its order's currencies."""
    if row.currency == currency:
        return row.amount
    return row.shop_amount if currency == order.currency else order.presentment(row.shop_amount)


def settle(
    order: Order,
    lines: Sequence[LineItem],
    transactions: Sequence[Transaction],
    *,
    actor: str,
    at: datetime,
    message: str = "",
    columns: Sequence[str] = (),
) -> None:
    """Let an order's statuses and sums, its customer and the best-selling lists follow a change, and record it.

    Args:
        order: Locked.
        lines: All its lines.
        transactions: All its transactions.
        actor: Who.
        at: When.
        message: What the timeline says.
        columns: Further columns of the order to save.
    """
    before = order.financial_status
    spent = buyers.spent_on(Order.objects.only("test", "currency", "total_paid", "total_refunded").get(pk=order.pk))
    statuses.follow(order, lines, transactions)
    sold = mark_sold(order)
    order.save(update_fields=[*statuses.COLUMNS, "units_counted", *columns])
    changes = {"financial_status": [before, order.financial_status]} if before != order.financial_status else {}
    record_event("orders/updated", order, actor=actor, at=at, message=message, changes=changes)
    if before != order.financial_status == Order.FinancialStatus.PAID:
        record_event("orders/paid", order, actor=actor, at=at)
    buyers.spend(order, spent)
    if sold:
        count_sold(lines)


def mark_sold(order: Order) -> bool:
    """Note, once in an order's life, that it was paid, so that its units count as sold; tests never do."""
    if order.units_counted or order.test or order.financial_status != Order.FinancialStatus.PAID:
        return False
    order.units_counted = True
    return True


def count_sold(lines: Sequence[LineItem], sign: int = 1) -> None:
    """Add the units of lines to what their products sold; with ``sign=-1`` take them off."""
    units: dict[int, int] = {}
    for line in lines:
        if line.product_id is not None:
            units[line.product_id] = units.get(line.product_id, 0) + sign * line.quantity
    count_units(units)
