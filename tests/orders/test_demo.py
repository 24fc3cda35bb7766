"""Tests for demo orders, and for orders in the export and erasure of customer data."""

from typing import Any

import pytest
from django.utils import timezone

from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.ground.tenancy import shop_scope
from apps.orders import demo
from apps.orders.domain import hooks, updates
from apps.orders.domain.order_drafts import OrderRefused
from apps.orders.models import Order
from apps.shops.models import Shop
from tests.conftest import ApiClient
from tests.orders.factories import make_order, make_variant


def test_demo_has_orders_in_every_state(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    make_variant(shop, stock=100)

    with shop_scope(shop):
        demo.create_demo_orders(shop, timezone.now())
        orders = list(Order.objects.order_by("number"))

    assert [order.number for order in orders] == list(range(1, 301))
    assert {order.status for order in orders} == set(Order.Status)
    refunds = {Order.FinancialStatus.PARTIALLY_REFUNDED, Order.FinancialStatus.REFUNDED}
    assert {order.financial_status for order in orders} == set(Order.FinancialStatus) - refunds
    assert {order.fulfillment_status for order in orders} >= {"", "fulfilled", "restocked"}
    assert any(order.is_multi_currency for order in orders)
    assert all(order.created_at <= timezone.now() for order in orders)


def test_export_hands_over_a_persons_orders(shop: Shop) -> None:
    order = make_order(shop, email="ada@example.com", note="Ring twice")
    make_order(shop, email="bob@example.com")

    with shop_scope(shop):
        assert order.customer_id is not None
        exported = personal_data.collect_data(Customer.objects.get(pk=order.customer_id))

    assert [item["name"] for item in exported["orders"]] == [order.name]
    assert (exported["orders"][0]["note"], exported["orders"][0]["email"]) == ("Ring twice", "ada@example.com")
    assert exported["orders"][0]["line_items"][0]["name"] == "Mug"


def test_redaction_keeps_what_book_keeping_needs(api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    address = {"first_name": "Ada", "address1": "Storgatan 1", "country": "Sweden", "country_code": "SE"}
    order = make_order(
        shop,
        email="ada@example.com",
        phone="+4681234567",
        note="Ring",
        shipping_address=address,
        browser_ip="192.0.2.1",
    )
    api.get(f"orders/{order.pk}.json")
    erased: list[Any] = []

    def hook(ids: Any, *, at: Any) -> None:
        erased.extend(ids)

    monkeypatch.setattr(hooks, "erasure_hooks", [*hooks.erasure_hooks, hook])
    with shop_scope(shop):
        updates.add_comment(order, "Ada called", actor="system", at=timezone.now())
        personal_data.redact_customer(Customer.objects.get(), actor="system", at=timezone.now())

    response = api.get(f"orders/{order.pk}.json")
    displayed_order = response.json()["order"]
    assert b"Ada" not in response.content
    assert b"ada@" not in response.content
    assert (
        displayed_order["email"],
        displayed_order["phone"],
        displayed_order["note"],
        displayed_order["browser_ip"],
    ) == ("", None, None, None)
    assert displayed_order["shipping_address"]["country_code"] == "SE"
    assert (displayed_order["total_price"], displayed_order["name"]) == ("20.00", "#1001")
    assert erased == [order.pk]
    with shop_scope(shop):
        assert not order.comments.exists()


def test_hooks_take_part_in_creations_and_can_refuse(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[Any] = []

    def refuse(orders: Any, *, actor: str, at: Any) -> None:
        observed.extend(dict(parts) for _, parts in orders)
        raise OrderRefused({"fulfillments": ["is invalid"]})

    monkeypatch.setattr(hooks, "creation_hooks", [refuse])
    with pytest.raises(OrderRefused):
        make_order(shop, other_members={"fulfillments": [{"location_id": 1}]})

    assert observed == [{"fulfillments": [{"location_id": 1}]}]
    with shop_scope(shop):
        assert not Order.objects.exists()
