"""Payment gateways: the interface that one implements, and where they are found.

A gateway is an object with the members of ``Gateway``. ``manual`` and ``bogus`` are built in; any other is a package
that one installs, with an entry point of the group ``backoffice.gateways`` whose name is the gateway's name in
transactions and whose value is a class (called without arguments) or an object.

The caller never holds a lock or a transaction during a call. It may die at any moment, so a gateway is asked again
under the same key, and must not move money for a key twice: companies call that an idempotency key.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, cast

from apps.ground.attrs import Given
from apps.orders.models import Transaction

GROUP = "backoffice.gateways"
MANUAL = "manual"
Status = Transaction.Status


class GatewayUnreachable(Exception):
    """Nobody knows what became of the call; it is made again later, under the same key."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a gateway is asked for.

    Attributes:
        key: Names this movement, now and whenever it is asked about.
        amount: What goes back, in ``currency``.
        currency: That of the payment.
        authorization: The payment's reference at the gateway.
        test: Whether no real money moves.
        order_name: What the buyer's statement may show, e.g. ``#1001``.
    """

    key: str
    amount: Decimal
    currency: str
    authorization: str
    test: bool
    order_name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a gateway says of a movement.

    Attributes:
        status: ``success``; ``failure`` where it was refused; ``error`` where it could not be tried; ``pending`` where
            the gateway will know later. Of all but the first and the last no money moved.
        reference: The gateway's own name for it.
        message: For staff.
        error_code: The gateway's own.
        receipt: What else is to be kept, as JSON.
    """

    status: Transaction.Status
    reference: str = ""
    message: str = ""
    error_code: str = ""
    receipt: Given = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Movement:
    """A refund as the gateway's books have it."""

    key: str
    amount: Decimal
    currency: str
    status: Transaction.Status


class Gateway(Protocol):
    """A company that moves money, or somebody who notes that it was moved.

    Attributes:
        only_records: Whether nothing is moved: what staff say was given back counts as given back.
    """

    only_records: bool

    def refund(self, call: Call) -> Answer:
        """Give money back; the same key again gives the same answer and moves nothing.

        Raises:
            GatewayUnreachable: It is not known what happened.
        """

    def find(self, key: str) -> Answer | None:
        """What became of a key; None where the gateway never heard of it.

        Raises:
            GatewayUnreachable: It does not answer.
        """

    def movements(self, since: datetime) -> Iterable[Movement]:
        """The current shop's refunds in the gateway's books, from a moment on, for the comparison with ours.

        Raises:
            GatewayUnreachable: It does not answer.
        """


class Manual:
    """Cash, a bank transfer, a voucher: what staff say was given back was given back."""

    only_records = True

    def refund(self, call: Call) -> Answer:
        """It is done already."""
        return Answer(Status.SUCCESS)

    def find(self, key: str) -> Answer | None:
        """There are no other books than ours."""
        return Answer(Status.SUCCESS)

    def movements(self, since: datetime) -> Iterable[Movement]:
        """There are no other books than ours."""
        return ()


@cache
def gateway_named(name: str) -> Gateway | None:
    """The gateway of a transaction; None where none of the name is installed."""
    from apps.refunds.domain.bogus import Bogus

    built_in: dict[str, type[Gateway]] = {MANUAL: Manual, "bogus": Bogus}
    if name in built_in:
        return built_in[name]()
    for entry in entry_points(group=GROUP, name=name):
        found = entry.load()
        return cast(Gateway, found() if isinstance(found, type) else found)
    return None
