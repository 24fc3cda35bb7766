"""Payment gateways: the protocol to implement, and the registry.

A gateway is an object with the members of ``Gateway``. ``manual`` and ``bogus`` are built in. Other gateways are
installed packages with an entry point in the group ``backoffice.gateways``: its name is the gateway name in
transactions, its value is a class (called without arguments) or an object.

Callers never hold a lock or a transaction during a call. A caller may crash at any moment and repeat the call with the
same key, so a gateway must never move money twice for the same key (idempotency key).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, cast

from apps.ground.types import ReadOnlyAttrs
from apps.orders.models import Transaction

ENTRY_POINT_GROUP = "backoffice.gateways"
MANUAL = "manual"
Status = Transaction.Status


class GatewayUnreachable(Exception):
    """Raised when the result of a call is unknown; the caller retries with the same key."""


@dataclass(frozen=True, slots=True)
class GatewayCall:
    """A refund call to a gateway.

    Attributes:
        key: The idempotency key of the refund.
        amount: The amount to refund, in ``currency``.
        currency: The currency of the payment.
        authorization: The payment's reference at the gateway.
        test: True if no real money moves.
        order_name: The text for the customer's statement, e.g. ``#1001``.
    """

    key: str
    amount: Decimal
    currency: str
    authorization: str
    test: bool
    order_name: str


@dataclass(frozen=True, slots=True)
class GatewayResult:
    """A gateway's result of a refund.

    Attributes:
        status: ``success``; ``failure`` if the gateway refused; ``error`` if it could not try; ``pending`` if the
            result is not known yet. No money moves for ``failure`` and ``error``.
        reference: The gateway's id of the refund.
        message: A message for staff.
        error_code: The gateway's error code.
        receipt: Other data to store, as JSON.
    """

    status: Transaction.Status
    reference: str = ""
    message: str = ""
    error_code: str = ""
    receipt: ReadOnlyAttrs = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GatewayMovement:
    """A refund in the gateway's records."""

    key: str
    amount: Decimal
    currency: str
    status: Transaction.Status


class Gateway(Protocol):
    """A payment gateway.

    Attributes:
        only_records: True if the gateway moves no money: refunds entered by staff count as done.
    """

    only_records: bool

    def refund(self, call: GatewayCall) -> GatewayResult:
        """Refund money; a repeated key returns the same result and moves nothing.

        Raises:
            GatewayUnreachable: The result is unknown.
        """

    def find(self, key: str) -> GatewayResult | None:
        """Return the result for a key, or None if the gateway does not know the key.

        Raises:
            GatewayUnreachable: The gateway does not answer.
        """

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        """Return the current shop's refunds in the gateway's records since a time, for reconciliation.

        Raises:
            GatewayUnreachable: The gateway does not answer.
        """


class ManualGateway:
    """Money refunded outside of gateways (cash, bank transfer, voucher): entered by staff, counted as done."""

    only_records = True

    def refund(self, call: GatewayCall) -> GatewayResult:
        """Return success: staff have refunded the money already."""
        return GatewayResult(Status.SUCCESS)

    def find(self, key: str) -> GatewayResult | None:
        """Return success: the manual gateway has no records of its own."""
        return GatewayResult(Status.SUCCESS)

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        """Return nothing: the manual gateway has no records of its own."""
        return ()


@cache
def get_gateway(name: str) -> Gateway | None:
    """Return the gateway of a transaction, or None if it is not installed."""
    from apps.refunds.domain.bogus_gateway import BogusGateway

    built_in: dict[str, type[Gateway]] = {MANUAL: ManualGateway, "bogus": BogusGateway}
    if name in built_in:
        return built_in[name]()
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        loaded = entry.load()
        return cast(Gateway, loaded() if isinstance(loaded, type) else loaded)
    return None
