"""Serializer for tender transactions, which are payments and refunds. Refunded amounts are negative."""

from decimal import Decimal

from apps.api.render_context import RenderContext
from apps.api.resources.fields import ComputedField, ConstantField, DateTimeField, ReadOnlyColumn
from apps.api.resources.serializers import ResourceSerializer
from apps.ground.money import format_decimal
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
# Maps gateways to payment methods if the names differ. The test gateway counts as a credit card.
_METHOD_OF = {"manual": "other", "bogus": "credit_card"}


def _signed(_context: RenderContext, kind: str, amount: Decimal, currency: str) -> str:
    return format_decimal(-amount if kind == Transaction.Kind.REFUND else amount, currency)


def _reference(_context: RenderContext, authorization: str) -> str | None:
    return authorization or None


def _method(_context: RenderContext, gateway: str) -> str:
    name = _METHOD_OF.get(gateway, gateway.lower())
    return name if name in METHODS else "unknown"


class TenderTransactionSerializer(ResourceSerializer[Transaction]):
    order_id = ReadOnlyColumn()
    amount = ComputedField(_signed, "kind", "amount", "currency", schema=DECIMAL)
    currency = ReadOnlyColumn()
    user_id = ReadOnlyColumn()
    test = ReadOnlyColumn()
    processed_at = DateTimeField(read_only=True)
    remote_reference = ComputedField(_reference, "authorization", schema={"type": ["string", "null"]})
    payment_details = ConstantField(None)
    payment_method = ComputedField(_method, "gateway", schema={"type": "string", "enum": list(METHODS)})

    class Meta:
        model = Transaction
