"""Deterministic, realistic data for the demo shop. All objects are created by the functions that views also call."""

from datetime import datetime

from apps.core.tenancy.models import Shop
from apps.demo.data import (
    catalog,
    content,
    customers,
    draft_orders,
    fulfillment,
    gift_cards,
    locations,
    orders,
    payments,
    refunds,
)


def create_demo_data(shop: Shop, at: datetime) -> None:
    locations.load_demo_locations(shop, at)
    catalog.load_demo_catalog(shop, at)
    content.load_demo_content(shop, at)
    customers.load_demo_customers(shop, at)
    orders.create_demo_orders(shop, at)
    fulfillment.load_demo_fulfillment(shop, at)
    refunds.create_demo_refunds(shop, at)
    payments.create_demo_handlers(shop, at)
    gift_cards.create_demo_gift_cards(shop, at)
    draft_orders.create_demo_draft_orders(shop, at)
