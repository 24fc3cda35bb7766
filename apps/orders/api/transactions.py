from collections.abc import Iterable
from decimal import Decimal

from apps.core.money import ZERO, format_decimal
from apps.core.rest.openapi.schemas import build_object_schema
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.authentication import Access, check_scope
from apps.core.rest.resources.fields import (
    ApiField,
    ChoiceField,
    ComputedField,
    ConstantField,
    DateTimeField,
    IntegerField,
    ModelDerivedField,
    ReadOnlyColumn,
    global_id_field,
)
from apps.core.rest.resources.nested_objects import ObjectField, validate_members
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.types import Attrs, ReadOnlyAttrs, Rendered, RequestData, Schema
from apps.orders.api.fields import (
    DECIMAL,
    AmountField,
    Blankable,
    blank_as_null_text,
    get_currency_columns,
    nullable_bool,
    nullable_text,
)
from apps.orders.api.shop_currency import ShopCurrencyViewSet
from apps.orders.domain import payments
from apps.orders.domain.hooks import payment_hooks
from apps.orders.models import Order, Transaction

CARD_MEMBERS = (
    "credit_card_bin",
    "avs_result_code",
    "cvv_result_code",
    "buyer_action_info",
    "credit_card_name",
    "credit_card_wallet",
    "credit_card_expiration_month",
    "credit_card_expiration_year",
)
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


def _amount(_context: RenderContext, kind: str, amount: Decimal, currency: str) -> str:
    """Return the amount, or zero for a void, because a void stores the amount that it released."""
    return format_decimal(ZERO if kind == Transaction.Kind.VOID else amount, currency)


def _authorization(_context: RenderContext, kind: str, code: str) -> str | None:
    """Return the authorization code, or null for a void, which stores the code of the voided authorization."""
    return None if kind == Transaction.Kind.VOID else code or None


def render_unsettled(
    _context: RenderContext, unsettled: Decimal, currency: str, shop_currency: str, presentment: str, rate: Decimal
) -> dict[str, dict[str, str]]:
    in_shop, in_presentment = (
        (unsettled, unsettled * rate) if currency == shop_currency else (unsettled / rate, unsettled)
    )
    return {
        "presentment_money": {"amount": format_decimal(in_presentment, presentment), "currency": presentment},
        "shop_money": {"amount": format_decimal(in_shop, shop_currency), "currency": shop_currency},
    }


def _payment_details(_context: RenderContext, gateway: str) -> Rendered:
    """Return empty card details, because card data is never stored."""
    return dict.fromkeys(CARD_MEMBERS) | {
        "credit_card_number": "",
        "credit_card_company": "",
        "payment_method_name": gateway,
    }


def render_payment_id(_context: RenderContext, name: str, sequence: int) -> str:
    return f"{name}.{sequence}"


def render_receipt(_context: RenderContext, receipt: RequestData, test: bool, authorization: str) -> Rendered:
    return {"testcase": test, "authorization": authorization, **receipt}


def render_is_manual(_context: RenderContext, gateway: str) -> bool:
    return gateway == "manual"


def get_transaction_members() -> dict[str, ApiField]:
    return {
        "kind": ChoiceField(choices=Transaction.Kind.choices, required=False, default=Transaction.Kind.SALE),
        "status": ChoiceField(choices=Transaction.Status.choices, required=False, allow_null=True),
        "amount": AmountField(),
        "currency": nullable_text(3, allow_blank=False),
        "gateway": nullable_text(),
        "authorization": nullable_text(),
        "message": nullable_text(1000),
        "error_code": nullable_text(100),
        "parent_id": IntegerField(required=False, allow_null=True),
        "processed_at": DateTimeField(required=False, allow_null=True),
        "receipt": ReceiptField(),
        "source_name": nullable_text(),
        "test": nullable_bool(),
    }


def check_payment_scopes(access: Access, transactions: Iterable[ReadOnlyAttrs]) -> None:
    """Check that the caller has the scopes that gateways require for new transactions."""
    for attrs in transactions:
        hook = payment_hooks.get(attrs.get("gateway") or "")
        if hook is not None and (scope := hook.get_required_scope(attrs)):
            check_scope(access, (scope,))


class ReceiptField(ObjectField):
    def __init__(self) -> None:
        super().__init__({})

    def to_internal_value(self, data: object) -> Rendered:
        """Store the object as sent, but with strings instead of decimals, so that no digits are lost."""
        if not isinstance(data, dict):
            self.fail("invalid")
        return {name: _exact(value) for name, value in data.items()}


def _exact(value: object) -> object:
    if isinstance(value, dict):
        return {name: _exact(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_exact(inner) for inner in value]
    return str(value) if isinstance(value, Decimal) else value


class TransactionSerializer(ResourceSerializer[Transaction]):
    order_id = ReadOnlyColumn()
    kind = ChoiceField(choices=Transaction.Kind.choices, required=False, default=Transaction.Kind.SALE)
    gateway = nullable_text()
    status = ChoiceField(choices=Transaction.Status.choices, required=False, allow_null=True)
    message = blank_as_null_text(1000)
    created_at = ModelDerivedField()
    test = nullable_bool()
    authorization = ComputedField(_authorization, "kind", "authorization", schema={"type": ["string", "null"]})
    location_id = ConstantField(None)
    user_id = ReadOnlyColumn()
    parent_id = IntegerField(required=False, allow_null=True)
    processed_at = DateTimeField(required=False, allow_null=True)
    device_id = ConstantField(None)
    error_code = blank_as_null_text(100)
    source_name = nullable_text()
    payment_details = ComputedField(_payment_details, "gateway", schema={"type": "object"})
    receipt = ComputedField(render_receipt, "receipt", "test", "authorization", schema={"type": "object"})
    currency_exchange_adjustment = ConstantField(None)
    amount = ComputedField(_amount, "kind", "amount", "currency", schema=DECIMAL)
    currency = nullable_text(3, allow_blank=False)
    authorization_expires_at = ConstantField(None)
    extended_authorization_attributes = ConstantField({})
    payment_id = ComputedField(render_payment_id, "order__name", "sequence")
    total_unsettled_set = ComputedField(
        render_unsettled, "unsettled", "currency", *get_currency_columns("order__"), schema={"type": "object"}
    )
    manual_payment_gateway = ComputedField(render_is_manual, "gateway", schema={"type": "boolean"})
    amount_rounding = ConstantField(None)
    admin_graphql_api_id = global_id_field("OrderTransaction")


class ShopTransactionSerializer(TransactionSerializer):
    """A transaction in the shop currency (``in_shop_currency``)."""

    amount = ComputedField(_amount, "kind", "shop_amount", "order__currency", schema=DECIMAL)
    currency = ReadOnlyColumn("order__currency")  # type: ignore[assignment]


class TransactionViewSet(ShopCurrencyViewSet[Transaction]):
    scope = "orders"
    serializer_class = TransactionSerializer
    shop_serializer_class = ShopTransactionSerializer
    singular = "transaction"
    parents = {"order_id": Order}

    def get_extra_body_properties(self, version: str) -> Schema:
        return build_object_schema(get_transaction_members(), version)["properties"]

    def get_validated_attributes(self, instance: Transaction | None = None) -> Attrs:
        return validate_members(get_transaction_members(), dict(self.unwrap_body("transaction")))

    def perform_create(self, attrs: Attrs) -> Transaction:
        check_payment_scopes(self.access, [attrs])
        order = Order.objects.get(pk=self.kwargs["order_id"])
        attrs = {"source_name": self.access.installation.app.name, **attrs}
        return payments.create_transaction(order, attrs, actor=self.actor, at=self.at)


def _signed(_context: RenderContext, kind: str, amount: Decimal, currency: str) -> str:
    return format_decimal(-amount if kind == Transaction.Kind.REFUND else amount, currency)


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
    remote_reference = Blankable("authorization")
    payment_details = ConstantField(None)
    payment_method = ComputedField(_method, "gateway", schema={"type": "string", "enum": list(METHODS)})
