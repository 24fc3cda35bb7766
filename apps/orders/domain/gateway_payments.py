"""Move the money of transactions whose gateway keeps its money in this database, such as the balances of gift cards.

Imported transactions are never passed to these functions, because their money has moved in another system.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from apps.core.exceptions import DomainError
from apps.core.types import Errors
from apps.orders.domain import customer_totals, hooks
from apps.orders.domain.hooks import PaymentHook
from apps.orders.models import Order, Transaction


def lock_money(order: Order, rows: Sequence[Transaction]) -> None:
    """Lock what the given transactions of a locked order change, after the order's customer and before stock.

    ``rows`` are new transactions, which may be unsaved, and authorizations whose remaining amount is released.
    """
    names = {name for row in rows for name in _get_gateways(row)}
    concerned = [hook for name, hook in hooks.payment_hooks.items() if name in names]
    if concerned:
        customer_totals.lock_order_customer(order.customer_id)
    for hook in concerned:
        hook.lock(rows)


def move_money(row: Transaction, *, actor: str, at: datetime) -> None:
    """Move the money of a new, saved transaction. Raise a ``DomainError`` if the gateway refuses the transaction."""
    if row.kind == Transaction.Kind.VOID:
        assert row.parent is not None
        if row.status == Transaction.Status.SUCCESS:
            release_money(row.parent, row.amount, transaction=row, actor=actor, at=at)
        return
    for hook in _get_hooks(row):
        hook.pay(row, actor=actor, at=at)


def move_all_money(rows: Sequence[Transaction], *, actor: str, at: datetime) -> Errors:
    """Move the money of a new order's transactions. Return the errors with paths such as ``transactions.0.amount``."""
    errors: Errors = {}
    for index, row in enumerate(rows):
        try:
            move_money(row, actor=actor, at=at)
        except DomainError as error:
            errors |= {f"transactions.{index}.{name}": messages for name, messages in error.errors.items()}
    return errors


def release_money(
    authorization: Transaction, amount: Decimal, *, transaction: Transaction, actor: str, at: datetime
) -> None:
    """Return an amount of an authorization that will not be captured. ``transaction`` is the void, if there is one."""
    for hook in _get_hooks(authorization):
        hook.release(authorization, amount, transaction=transaction, actor=actor, at=at)


def _get_hooks(row: Transaction) -> Iterator[PaymentHook]:
    names = _get_gateways(row)
    return (hook for name, hook in hooks.payment_hooks.items() if name in names)


def _get_gateways(row: Transaction) -> set[str]:
    """Return the gateways of a transaction and of its authorization, which can be different."""
    return {row.gateway} if row.parent is None else {row.gateway, row.parent.gateway}
