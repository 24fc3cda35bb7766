"""Tender transactions as apps are told of them: money as the shop's accounts see it, negative where it went back."""

from decimal import Decimal

from apps.api.context import Context
from apps.api.resources.fields import Column, Computed, Constant, DateTimeField
from apps.api.resources.serializers import ResourceSerializer
from apps.ground.money import text_of
from apps.orders.api.money import DECIMAL
from apps.orders.models import Transaction

METHODS = (
    "credit_card",
    "cash",
    "android_pay",
    "apple_pay",
    "google_pay",
    "samsung_pay",
    "amazon",
    "klarna",
    "paypal",
    "other",
    "unknown",
)
# Gateways that are no way to pay by their own name: what is noted by hand, and the one for tests, which acts as a card.
_METHOD_OF = {"manual": "other", "bogus": "credit_card"}


def _signed(_context: Context, kind: str, amount: Decimal, currency: str) -> str:
    return text_of(-amount if kind == Transaction.Kind.REFUND else amount, currency)


def _reference(_context: Context, authorization: str) -> str | None:
    return authorization or None


def _method(_context: Context, gateway: str) -> str:
    name = _METHOD_OF.get(gateway, gateway.lower())
    return name if name in METHODS else "unknown"


class TenderTransactionSerializer(ResourceSerializer[Transaction]):
    """Money that came or went."""

    order_id = Column()
    amount = Computed(_signed, "kind", "amount", "currency", schema=DECIMAL)
    currency = Column()
    user_id = Column()
    test = Column()
    processed_at = DateTimeField(read_only=True)
    remote_reference = Computed(_reference, "authorization", schema={"type": ["string", "null"]})
    payment_details = Constant(None)
    payment_method = Computed(_method, "gateway", schema={"type": "string", "enum": list(METHODS)})

    class Meta:
        model = Transaction
