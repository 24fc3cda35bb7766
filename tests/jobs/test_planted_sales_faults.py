"""The nightly checks find faults in the rows of a completed draft order with a discount code and a gift card."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from django.db.models import F

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.discounts.models import DiscountCode, DiscountUse
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from tests.support.api_client import ApiClient
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.refunds import run_refund_jobs
from tests.support.types import Json, JsonObject

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Sale:
    """The ids of a completed draft order, its code, and the gift card that paid and got a part back."""

    order: int
    code: int
    card: int


@pytest.fixture
def sale(api: ApiClient, in_shop: Shop) -> Sale:
    def send(method: Callable[..., Json], path: str, body: object = None) -> JsonObject:
        response = method(path, body)
        assert response.status_code in {200, 201}, response.content
        return dict(response.json())

    code, card = make_code("TEN", make_rule("-10")), make_gift_card("80.00")
    draft = {
        "line_items": [{"title": "Mug", "price": "20.00", "quantity": 3}],
        "shipping_line": {"title": "Post", "price": "5.00"},
        "discount_codes": ["TEN"],
    }
    pk = send(api.post, "draft_orders.json", {"draft_order": draft})["draft_order"]["id"]
    completed = send(api.put, f"draft_orders/{pk}/complete.json?payment_pending=true")["draft_order"]
    order = completed["order_id"]
    payment = {"kind": "sale", "gateway": "gift_card", "receipt": {"gift_card_id": card.pk}}
    send(api.post, f"orders/{order}/transactions.json", {"transaction": payment})
    refund = {"transactions": [{"amount": "10.00", "gateway": "gift_card"}]}
    send(api.post, f"orders/{order}/refunds.json", {"refund": refund})
    run_refund_jobs(in_shop)
    assert list(consistency_checks.find_differences()) == []
    return Sale(order, code.pk, card.pk)


def take_use(sale: Sale) -> None:
    DiscountUse.objects.filter(order_id=sale.order).delete()


def count_use_twice(sale: Sale) -> None:
    DiscountCode.objects.update(usage_count=F("usage_count") + 1)


def add_to_balance(sale: Sale) -> None:
    GiftCard.objects.update(balance=F("balance") + CENT)


def redeem_less(sale: Sale) -> None:
    """Change the redemption and all balances after it, so that the ledger still adds up."""
    GiftCardAdjustment.objects.filter(kind="redemption").update(amount=F("amount") + CENT)
    GiftCardAdjustment.objects.filter(number__gt=1).update(balance=F("balance") + CENT)
    add_to_balance(sale)


def drop_refund(sale: Sale) -> None:
    (row,) = GiftCardAdjustment.objects.filter(kind="refund")
    GiftCard.objects.update(balance=F("balance") - row.amount)
    row.delete()


def refund_to_no_transaction(sale: Sale) -> None:
    GiftCardAdjustment.objects.filter(kind="refund").update(transaction=None, kind="adjustment")


def fail_payment(sale: Sale) -> None:
    Transaction.objects.filter(kind="sale").update(status="failure")


def skip_number(sale: Sale) -> None:
    GiftCardAdjustment.objects.filter(number=3).update(number=4)


def discount_more(sale: Sale) -> None:
    LineItem.objects.update(discount=F("discount") + CENT)


def discount_order_more(sale: Sale) -> None:
    Order.objects.update(total_discounts=F("total_discounts") + CENT)


def discount_shipping(sale: Sale) -> None:
    ShippingLine.objects.update(discount=CENT)


FAULTS: dict[str, tuple[Callable[[Sale], None], str]] = {
    "use is missing": (take_use, "uses of discount codes"),
    "use is counted twice": (count_use_twice, "uses of discount codes"),
    "balance is not the sum": (add_to_balance, "gift card balances"),
    "redemption is less than the payment": (redeem_less, "gift card payments"),
    "refund is not in the ledger": (drop_refund, "gift card payments"),
    "refund has no transaction": (refund_to_no_transaction, "gift card payments"),
    "payment failed but was redeemed": (fail_payment, "gift card payments"),
    "ledger has a gap": (skip_number, "gift card balances"),
    "line has another discount than the total": (discount_more, "order totals"),
    "order has another discount than its lines": (discount_order_more, "order totals"),
    "shipping has a discount that the total lacks": (discount_shipping, "order totals"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found(sale: Sale, name: str) -> None:
    plant, check = FAULTS[name]
    plant(sale)

    found = list(consistency_checks.find_differences())

    assert any(text.startswith(f"{check}: shop ") for text in found), found
