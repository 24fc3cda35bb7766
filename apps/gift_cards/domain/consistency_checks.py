"""Check that the ledgers of gift cards add up to the balances, and that they fit the transactions of orders."""

from collections.abc import Iterator
from itertools import groupby

from apps.core.money import ZERO
from apps.gift_cards.domain.payments import GIFT_CARD
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.orders.models import Transaction
from apps.refunds.models import RefundPayment

Kind = Transaction.Kind
Status = Transaction.Status
RowKind = GiftCardAdjustment.Kind
# The kinds of transactions that a kind of ledger row can have.
_TRANSACTION_KINDS = {
    RowKind.REDEMPTION: (Kind.SALE, Kind.AUTHORIZATION),
    RowKind.RELEASE: (Kind.VOID, Kind.AUTHORIZATION),
    RowKind.REFUND: (Kind.REFUND,),
}


def check_gift_card_balances() -> Iterator[str]:
    """Yield a message for each card with a balance or an initial value that differs from its ledger."""
    rows = GiftCardAdjustment.objects.order_by("card_id", "number")
    ledgers = groupby(rows.values_list("card_id", "number", "amount", "balance").iterator(), key=lambda row: row[0])
    card_id, ledger = next(ledgers, (None, None))
    cards = GiftCard.objects.order_by("pk").values_list("pk", "shop_id", "initial_value", "balance")
    for pk, shop, initial_value, balance in cards.iterator():
        total, first, problem = ZERO, ZERO, ""
        if card_id == pk and ledger is not None:
            for position, (_, number, amount, after) in enumerate(ledger, start=1):
                total += amount
                first = amount if position == 1 else first
                if number != position or after != total:
                    problem = problem or f"adjustment {number} has the balance {after:f}, expected {total:f}"
            card_id, ledger = next(ledgers, (None, None))
        if first != initial_value:
            problem = problem or f"the initial value is {initial_value:f}, the ledger begins with {first:f}"
        if balance != total:
            problem = problem or f"the balance is {balance:f}, the ledger adds up to {total:f}"
        if problem:
            yield f"shop {shop}, gift card {pk}: {problem}"


def check_gift_card_payments() -> Iterator[str]:
    """Yield a message for each order transaction with an amount that differs from the ledger of its gift card."""
    yield from _check_ledger_rows()
    yield from _check_authorizations()
    yield from _check_refunds()


def _check_ledger_rows() -> Iterator[str]:
    """Compare each ledger row with its transaction. Held amounts are compared by ``_check_authorizations``."""
    rows = GiftCardAdjustment.objects.filter(transaction__isnull=False).select_related("transaction", "card")
    for row in rows.order_by("pk").iterator(chunk_size=1000):
        paid = row.transaction
        assert paid is not None
        kinds = _TRANSACTION_KINDS[RowKind(row.kind)]
        # The result of a refund is recorded after the ledger row.
        statuses = (Status.SUCCESS, Status.PENDING) if row.kind == RowKind.REFUND else (Status.SUCCESS,)
        amount = -row.amount if row.kind == RowKind.REDEMPTION else row.amount
        # The rest of an authorization that was captured in part is less than its amount.
        is_rest = row.kind == RowKind.RELEASE and paid.kind == Kind.AUTHORIZATION
        if paid.kind not in kinds or paid.status not in statuses:
            yield f"{_name(row)}: a {row.kind} for transaction {paid.pk}, which is a {paid.kind} ({paid.status})"
        elif not is_rest and (amount, row.card.currency) != (paid.amount, paid.currency):
            yield f"{_name(row)}: {amount:f}, but transaction {paid.pk} has {paid.amount:f} {paid.currency}"


def _check_authorizations() -> Iterator[str]:
    """Compare the released amounts of authorizations with the amounts that are neither captured nor open."""
    rows = Transaction.objects.filter(
        kind=Kind.AUTHORIZATION, gift_card_adjustments__kind=RowKind.REDEMPTION
    ).prefetch_related("gift_card_adjustments", "children__gift_card_adjustments")
    for row in rows.order_by("pk").iterator(chunk_size=500):
        children = row.children.all()
        captured = sum(
            (child.amount for child in children if (child.kind, child.status) == (Kind.CAPTURE, Status.SUCCESS)), ZERO
        )
        released = sum(
            (
                adjustment.amount
                for transaction in (row, *children)
                for adjustment in transaction.gift_card_adjustments.all()
                if adjustment.kind == RowKind.RELEASE
            ),
            ZERO,
        )
        expected = row.amount - captured - row.unsettled
        if released != expected:
            yield f"shop {row.shop_id}, transaction {row.pk}: {released:f} was released, expected {expected:f}"


def _check_refunds() -> Iterator[str]:
    """Find successful refunds of the gateway that are not in a ledger. Without a call, a refund is only a record."""
    missing = RefundPayment.objects.filter(
        asked_at__isnull=False, transaction__gateway=GIFT_CARD, transaction__status=Status.SUCCESS
    ).exclude(transaction__gift_card_adjustments__kind=RowKind.REFUND)
    for shop_id, pk in missing.order_by("pk").values_list("shop_id", "pk").iterator():
        yield f"shop {shop_id}, transaction {pk}: refunded here, but not in the ledger of a gift card"


def _name(row: GiftCardAdjustment) -> str:
    return f"shop {row.shop_id}, gift card {row.card_id}, adjustment {row.number}"
