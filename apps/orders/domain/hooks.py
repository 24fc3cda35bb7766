"""Where the apps above hook into orders: fulfillment and refunds register here what they add to an order's life.

Each hook runs in the transaction of the change that it belongs to, with the order locked.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from apps.ground.attrs import Given
from apps.inventory.domain.movements import Move
from apps.orders.models import Order


class Creation(Protocol):
    """Told of new orders, each with what of its body belongs to other apps, e.g. ``fulfillments``."""

    def __call__(self, orders: Sequence[tuple[Order, Given]], *, actor: str, at: datetime) -> None:
        """Take part."""


class Cancellation(Protocol):
    """Told that an order is being cancelled, before its lines change; raises a ``DomainError`` to refuse."""

    def __call__(self, order: Order, *, actor: str, at: datetime) -> None:
        """Take part."""


class Refunder(Protocol):
    """Gives money back for an order that is being cancelled.

    ``parts`` holds ``amount`` and ``currency``, or ``refund`` as in the body of a refund; ``restock`` says whether the
    order's units go back to stock. What the refund itself puts back is returned, to be moved with the rest.
    """

    def __call__(self, order: Order, parts: Given, *, restock: bool, actor: str, at: datetime) -> Sequence[Move]:
        """Take part."""


class Edit(Protocol):
    """Told that lines of an order are being edited, before they change; raises a ``DomainError`` to refuse.

    ``fewer`` says how many units of which lines leave the order, ``more`` whether others come to it.
    """

    def __call__(self, order: Order, fewer: Mapping[int, int], *, more: bool, actor: str, at: datetime) -> None:
        """Take part."""


class Erasure(Protocol):
    """Told that the personal data of orders with these ids is being erased; some hundred at once."""

    def __call__(self, ids: Sequence[int], *, at: datetime) -> None:
        """Take part."""


creations: list[Creation] = []
cancellations: list[Cancellation] = []
edits: list[Edit] = []
erasures: list[Erasure] = []
_refunders: list[Refunder] = []


def on_create(hook: Creation) -> None:
    """Register who must know of new orders."""
    creations.append(hook)


def on_cancel(hook: Cancellation) -> None:
    """Register who takes part in cancelling an order."""
    cancellations.append(hook)


def on_edit(hook: Edit) -> None:
    """Register who takes part in editing the lines of an order."""
    edits.append(hook)


def on_erase(hook: Erasure) -> None:
    """Register who keeps personal data of orders."""
    erasures.append(hook)


def use_refunder(refunder: Refunder) -> None:
    """Say who gives money back."""
    _refunders[:] = [refunder]


def refunder() -> Refunder | None:
    """Who gives money back; None where nobody does."""
    return _refunders[0] if _refunders else None
