"""Hooks for orders: extension points for the apps above, such as fulfillment, refunds and gift cards.

Each hook runs in the transaction of the change, with the order locked. Draft hooks run before the order is saved.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from apps.core.db.statement_batches import StatementBatch
from apps.core.events.recording import has_audience
from apps.core.exceptions import DomainError
from apps.core.registry import Registry
from apps.core.types import Errors, ReadOnlyAttrs
from apps.inventory.domain.movements import StockChange
from apps.orders.domain import customer_totals
from apps.orders.models import LineItem, Order, ShippingLine, Transaction


class CreationHook(Protocol):
    """A hook that receives new orders, with the members of the request bodies that the orders app does not handle."""

    def __call__(self, orders: Sequence[tuple[Order, ReadOnlyAttrs]], *, actor: str, at: datetime) -> None: ...


class DraftHook(Protocol):
    """A hook that checks an order before it is saved and can raise a ``DomainError`` to refuse it.

    ``members`` are the members of the request body that the orders app does not handle. Dry runs of imports also call
    the hook.
    """

    def __call__(
        self,
        order: Order,
        lines: Sequence[LineItem],
        shipping: Sequence[ShippingLine],
        transactions: Sequence[Transaction],
        members: ReadOnlyAttrs,
    ) -> None: ...


class CancellationHook(Protocol):
    """A hook that runs before an order is canceled and can raise a ``DomainError`` to refuse the cancellation."""

    def __call__(self, order: Order, *, actor: str, at: datetime) -> None: ...


class RefundHook(Protocol):
    """A hook that refunds an order that is being canceled.

    ``parts`` contains either ``amount`` and ``currency``, or ``refund`` as in the request body of a refund. ``restock``
    is True if the order's items are restocked. The returned inventory changes are applied together with the inventory
    changes of the cancellation.
    """

    def __call__(
        self, order: Order, parts: ReadOnlyAttrs, *, restock: bool, actor: str, at: datetime
    ) -> Sequence[StockChange]: ...


class EditHook(Protocol):
    """A hook that runs before an order's line items are edited and can raise a ``DomainError`` to refuse the edit.

    ``fewer`` maps line ids to removed quantities. ``more`` is True if items are added. The hook returns the locations
    that would have fulfilled the removed items, as quantities keyed by line id and location id.
    """

    def __call__(
        self, order: Order, fewer: Mapping[int, int], *, more: bool, actor: str, at: datetime
    ) -> Mapping[int, Mapping[int, int]]: ...


class ErasureHook(Protocol):
    """A hook that erases the personal data of a batch of orders."""

    def __call__(self, ids: Sequence[int], *, at: datetime) -> None: ...


class PaymentHook(Protocol):
    """A gateway that keeps its money in this database. Orders and their customers are locked before each call.

    The methods also receive transactions of other gateways, for example captures of the gateway's authorizations. They
    never receive imported transactions, because the money of these has moved in another system.
    """

    def get_required_scope(self, attrs: ReadOnlyAttrs, /) -> str | None:
        """Return the access scope that an app needs to create a transaction with these values, or None.

        Apps need it in addition to the scope of the route.
        """

    def lock(self, transactions: Sequence[Transaction], /) -> None:
        """Lock the rows that the other methods change for these new transactions or open authorizations."""

    def pay(self, transaction: Transaction, /, *, actor: str, at: datetime) -> None:
        """Move the money of a new, saved transaction, or raise a ``DomainError`` to refuse it. Voids are not passed."""

    def release(
        self, authorization: Transaction, amount: Decimal, /, *, transaction: Transaction, actor: str, at: datetime
    ) -> None:
        """Return an amount of an authorization that will not be captured.

        ``transaction`` is the void, or the authorization if it was captured in part.
        """


class PaidListener(Protocol):
    """A function that receives orders that have just been paid."""

    def __call__(self, orders: Sequence[Order], *, actor: str, at: datetime) -> None: ...


class NewOrderListener(Protocol):
    """A function that receives new orders, but not imported orders.

    The number of the newest order is locked while the listener runs. The listener should therefore add statements to
    the batch instead of running them.
    """

    def __call__(self, orders: Sequence[Order], *, batch: StatementBatch, actor: str, at: datetime) -> None: ...


class LineListener(Protocol):
    """A function that tells apps about other rows with JSON that contains the changed line items."""

    def __call__(self, line_ids: Collection[int], *, actor: str, at: datetime) -> None: ...


draft_hooks = Registry[str, DraftHook]("order draft hooks")
creation_hooks = Registry[str, CreationHook]("order creation hooks")
cancellation_hooks = Registry[str, CancellationHook]("order cancellation hooks")
edit_hooks = Registry[str, EditHook]("order edit hooks")
erasure_hooks = Registry[str, ErasureHook]("order erasure hooks")
# The hooks by the name of their gateway.
payment_hooks = Registry[str, PaymentHook]("payment hooks")
refund_hooks = Registry[str, RefundHook]("order refund hooks")
new_order_listeners = Registry[str, NewOrderListener]("listeners for new orders")
paid_listeners = Registry[str, PaidListener]("listeners for paid orders")
# The listeners by the topic of their events.
line_listeners = Registry[str, LineListener]("listeners for changed line items")


def notify_line_listeners(lines: Iterable[LineItem], *, actor: str, at: datetime) -> None:
    """Call the listeners after saved changes to line items of a locked order."""
    if line_ids := [line.pk for line in lines]:
        for listener in line_listeners.values():
            listener(line_ids, actor=actor, at=at)


def notify_paid_listeners(orders: Sequence[Order], *, actor: str, at: datetime) -> None:
    for listener in paid_listeners.values():
        listener(orders, actor=actor, at=at)


def notify_new_order_listeners(orders: Sequence[Order], *, batch: StatementBatch, actor: str, at: datetime) -> None:
    if orders:
        for listener in new_order_listeners.values():
            listener(orders, batch=batch, actor=actor, at=at)


def has_line_audience() -> bool:
    """Return True if an app subscribes to the events of a line listener."""
    return any(map(has_audience, line_listeners))


def get_refund_hook() -> RefundHook | None:
    return next(iter(refund_hooks.values()), None)


def lock_money(order: Order, rows: Sequence[Transaction]) -> None:
    """Lock what the given transactions of a locked order change, after the order's customer and before stock.

    ``rows`` are new transactions, which may be unsaved, and authorizations that release their remaining amount.
    """
    names = {name for row in rows for name in _get_gateways(row)}
    concerned = [hook for name, hook in payment_hooks.items() if name in names]
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
    return (hook for name, hook in payment_hooks.items() if name in names)


def _get_gateways(row: Transaction) -> set[str]:
    """Return the gateways of a transaction and of its authorization, which can be different."""
    return {row.gateway} if row.parent is None else {row.gateway, row.parent.gateway}
