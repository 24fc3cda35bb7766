from typing import Any

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.orders.domain import hooks, updates
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order

pytestmark = pytest.mark.usefixtures("in_shop")


def test_export_hands_over_a_persons_orders(shop: Shop) -> None:
    order = make_order(shop, email="ada@example.com", note="Ring twice")
    make_order(shop, email="bob@example.com")

    assert order.customer_id is not None
    exported = personal_data.collect_data(Customer.objects.get(pk=order.customer_id))

    assert [item["name"] for item in exported["orders"]] == [order.name]
    assert (exported["orders"][0]["note"], exported["orders"][0]["email"]) == ("Ring twice", "ada@example.com")
    assert exported["orders"][0]["line_items"][0]["name"] == "Mug"


def test_redaction_keeps_what_book_keeping_needs(api: ApiClient, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    address = {"first_name": "Sylvia", "address1": "Storgatan 1", "country": "Sweden", "country_code": "SE"}
    texts = {"email": "sylvia@example.com", "phone": "+4681234567", "note": "Ring", "browser_ip": "192.0.2.1"}
    order = make_order(shop, shipping_address=address, **texts)
    api.get(f"orders/{order.pk}.json")
    erased: list[Any] = []

    def hook(ids: Any, *, at: object) -> None:
        erased.extend(ids)

    monkeypatch.setitem(hooks.erasure_hooks, "test", hook)
    updates.add_comment(order, "Sylvia called", actor="system", at=timezone.now())
    personal_data.redact_customer(Customer.objects.get(), actor="system", at=timezone.now())

    response = api.get(f"orders/{order.pk}.json")
    displayed_order = response.json()["order"]
    assert b"Sylvia" not in response.content
    assert b"sylvia@" not in response.content
    assert [displayed_order[name] for name in texts] == ["", None, None, None]
    assert displayed_order["shipping_address"]["country_code"] == "SE"
    assert (displayed_order["total_price"], displayed_order["name"]) == ("20.00", "#1001")
    assert erased == [order.pk]
    assert not order.comments.exists()


def test_hooks_take_part_in_creations_and_can_refuse(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[Any] = []

    def refuse(orders: Any, *, actor: str, at: object) -> None:
        observed.extend(dict(parts) for _, parts in orders)
        raise OrderRefused({"fulfillments": ["is invalid"]})

    monkeypatch.setattr(hooks, "creation_hooks", {"test": refuse})
    with pytest.raises(OrderRefused):
        make_order(shop, other_members={"fulfillments": [{"location_id": 1}]})

    assert observed == [{"fulfillments": [{"location_id": 1}]}]
    assert not Order.objects.exists()
