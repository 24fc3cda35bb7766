"""The transactions of an order as the interface shows and takes them."""

from decimal import Decimal

from apps.api.context import Context
from apps.api.openapi.schemas import members_schema
from apps.api.resources.fields import (
    ApiField,
    ChoiceField,
    Column,
    Computed,
    Constant,
    DateTimeField,
    FromModel,
    GlobalId,
    IntegerField,
)
from apps.api.resources.members import ObjectField, read_members
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Data, Schema, Shown
from apps.api.viewsets import ShopViewSet
from apps.ground.money import ZERO, text_of
from apps.orders.api.fields import AmountField, flag, string, text
from apps.orders.api.money import DECIMAL
from apps.orders.domain import payments
from apps.orders.models import Order, Transaction

CARD = (
    "credit_card_bin",
    "avs_result_code",
    "cvv_result_code",
    "buyer_action_info",
    "credit_card_name",
    "credit_card_wallet",
    "credit_card_expiration_month",
    "credit_card_expiration_year",
)


def _amount(_context: Context, kind: str, amount: Decimal, currency: str) -> str:
    """A void moves nothing: what it let go is kept for staff."""
    return text_of(ZERO if kind == Transaction.Kind.VOID else amount, currency)


def _authorization(_context: Context, kind: str, code: str) -> str | None:
    """The code by which a void named its authorization is not its own."""
    return None if kind == Transaction.Kind.VOID else code or None


def shown_unsettled(
    _context: Context, unsettled: Decimal, currency: str, shop_currency: str, presentment: str, rate: Decimal
) -> dict[str, dict[str, str]]:
    """What of an authorization can still be captured, in both currencies."""
    in_shop, shown = (unsettled, unsettled * rate) if currency == shop_currency else (unsettled / rate, unsettled)
    return {
        "presentment_money": {"amount": text_of(shown, presentment), "currency": presentment},
        "shop_money": {"amount": text_of(in_shop, shop_currency), "currency": shop_currency},
    }


def _payment_details(_context: Context, gateway: str) -> Shown:
    """No card data is ever kept, so what tells of a card is empty."""
    return dict.fromkeys(CARD) | {
        "credit_card_number": "",
        "credit_card_company": "",
        "payment_method_name": gateway,
    }


def _payment_id(_context: Context, name: str, sequence: int) -> str:
    return f"{name}.{sequence}"


def shown_receipt(_context: Context, receipt: Data, test: bool, authorization: str) -> Shown:
    """What a gateway answered."""
    return {"testcase": test, "authorization": authorization, **receipt}


def _is_manual(_context: Context, gateway: str) -> bool:
    return gateway == "manual"


def transaction_members() -> dict[str, ApiField]:
    """A transaction as it is sent, alone or with its order."""
    return {
        "kind": ChoiceField(choices=Transaction.Kind.choices, required=False, default=Transaction.Kind.SALE),
        "status": ChoiceField(choices=Transaction.Status.choices, required=False, allow_null=True),
        "amount": AmountField(),
        "currency": string(3, allow_blank=False),
        "gateway": string(),
        "authorization": string(),
        "message": string(1000),
        "error_code": string(100),
        "parent_id": IntegerField(required=False, allow_null=True),
        "processed_at": DateTimeField(required=False, allow_null=True),
        "receipt": ReceiptField(),
        "source_name": string(),
        "test": flag(),
    }


class ReceiptField(ObjectField):
    """What a gateway answered, kept as it is."""

    def __init__(self) -> None:
        """It may be absent and null."""
        super().__init__({})

    def to_internal_value(self, data: object) -> Shown:
        """The object; numbers with a point as text, so that they stay exact."""
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
    """A movement of money."""

    order_id = Column()
    kind = ChoiceField(choices=Transaction.Kind.choices, required=False, default=Transaction.Kind.SALE)
    gateway = string()
    status = ChoiceField(choices=Transaction.Status.choices, required=False, allow_null=True)
    message = text(1000)
    created_at = FromModel()
    test = flag()
    authorization = Computed(_authorization, "kind", "authorization", schema={"type": ["string", "null"]})
    location_id = Constant(None)
    user_id = Column()
    parent_id = IntegerField(required=False, allow_null=True)
    processed_at = DateTimeField(required=False, allow_null=True)
    device_id = Constant(None)
    error_code = text(100)
    source_name = string()
    payment_details = Computed(_payment_details, "gateway", schema={"type": "object"})
    receipt = Computed(shown_receipt, "receipt", "test", "authorization", schema={"type": "object"})
    currency_exchange_adjustment = Constant(None)
    amount = Computed(_amount, "kind", "amount", "currency", schema=DECIMAL)
    currency = string(3, allow_blank=False)
    authorization_expires_at = Constant(None)
    extended_authorization_attributes = Constant({})
    payment_id = Computed(_payment_id, "order__name", "sequence")
    total_unsettled_set = Computed(
        shown_unsettled,
        "unsettled",
        "currency",
        "order__currency",
        "order__presentment_currency",
        "order__exchange_rate",
        schema={"type": "object"},
    )
    manual_payment_gateway = Computed(_is_manual, "gateway", schema={"type": "boolean"})
    amount_rounding = Constant(None)
    admin_graphql_api_id = GlobalId("OrderTransaction")

    class Meta:
        model = Transaction


class TransactionViewSet(ShopViewSet[Transaction]):
    """``/orders/{order_id}/transactions``."""

    scope = "orders"
    model = Transaction
    serializer_class = TransactionSerializer
    singular = "transaction"
    plural = "transactions"
    parents = {"order_id": Order}

    def further(self, version: str) -> Schema:
        """What is taken of it, which is more than the resource's fields."""
        schema: Schema = members_schema(transaction_members(), version)["properties"]
        return schema

    def attributes(self, instance: Transaction | None = None) -> Attrs:
        """The body, checked."""
        return read_members(transaction_members(), dict(self.unwrapped("transaction")))

    def perform_create(self, attrs: Attrs) -> Transaction:
        """Note a sale, an authorization, a capture or a void."""
        order = Order.objects.get(pk=self.kwargs["order_id"])
        attrs = {"source_name": self.access.installation.app.name, **attrs}
        return payments.create_transaction(order, attrs, actor=self.actor, at=self.at)
