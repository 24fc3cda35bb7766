"""Payment gateways: the protocol to implement, and the registry.

A gateway is an object with the members of ``Gateway``. ``manual`` and ``bogus`` are built in. Other gateways are
installed packages with an entry point in the group ``backoffice.gateways``. The name of the entry point is the gateway
name in transactions. The value is a class (called without arguments) or an object.

Gateways are called without locks and outside of database transactions. A caller may crash at any time and repeat the
call with the same idempotency key, so a gateway must never move money twice for the same key.
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
    """Raised when the result of a call is unknown. The caller retries with the same key."""


@dataclass(frozen=True, slots=True)
class GatewayCall:
    """The arguments of a refund call to a gateway.

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
    """A gateway's result for a refund.

    Attributes:
        status: ``success``; ``failure`` if the gateway refused the refund; ``error`` if the gateway could not process
            the refund; ``pending`` if the result is not known yet. ``failure`` and ``error`` mean that no money has
            moved.
        reference: The gateway's id for the refund.
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
        only_records: True if the gateway moves no money, so that refunds succeed immediately.
    """

    only_records: bool

    def refund(self, call: GatewayCall) -> GatewayResult:
        """Refund money. A call with a known key returns the same result without moving money.

        Raises:
            GatewayUnreachable: The result is unknown.
        """

    def find(self, key: str) -> GatewayResult | None:
        """Return the result for a key, or None if the gateway does not know the key.

        Raises:
            GatewayUnreachable: The gateway does not respond.
        """

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        """Return the gateway's records of the current shop's refunds since the given time, for reconciliation.

        Raises:
            GatewayUnreachable: The gateway does not respond.
        """


class ManualGateway:
    """The gateway for refunds that staff make without a payment gateway, such as cash, bank transfers and vouchers."""

    only_records = True

    def refund(self, call: GatewayCall) -> GatewayResult:
        """Return success, because staff have already refunded the money."""
        return GatewayResult(Status.SUCCESS)

    def find(self, key: str) -> GatewayResult | None:
        """Return success, because the manual gateway has no records to search."""
        return GatewayResult(Status.SUCCESS)

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        """Return no movements, because the manual gateway has no records to compare."""
        return ()


@cache
def get_gateway(name: str) -> Gateway | None:
    """Return the gateway with this name, or None if the gateway is not installed."""
    from apps.refunds.domain.bogus_gateway import BogusGateway

    built_in: dict[str, type[Gateway]] = {MANUAL: ManualGateway, "bogus": BogusGateway}
    if name in built_in:
        return built_in[name]()
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        loaded = entry.load()
        return cast(Gateway, loaded() if isinstance(loaded, type) else loaded)
    return None
