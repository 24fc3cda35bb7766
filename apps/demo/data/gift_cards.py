"""Demo data: a gift card in each state, except for an expired card, which would need an expiry date in the past."""

from datetime import datetime, timedelta
from decimal import Decimal

from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.gift_cards.domain import gift_cards


def create_demo_gift_cards(shop: Shop, at: datetime) -> None:
    customers = Customer.objects.exclude(email="").order_by("pk")[:3]
    expires_on = (at + timedelta(days=365)).date()
    cards = []
    for value, customer, note in zip((50, 25, 100), customers, ("Birthday present", "", "Raffle prize"), strict=True):
        attrs = {"initial_value": Decimal(value), "customer_id": customer.pk, "expires_on": expires_on, "note": note}
        cards.append(gift_cards.create_gift_card(attrs, app=None, actor="system", at=at)[0])
    for card, amount, note in ((cards[0], -18, "Paid in the shop"), (cards[1], -25, "Paid in the shop")):
        attrs = {"amount": Decimal(amount), "note": note}
        gift_cards.adjust_balance(card, attrs, app=None, actor="system", at=at)
    gift_cards.disable_gift_card(cards[2], actor="system", at=at)
