"""Tests for the order form in the panel: contact details, addresses, notes and tags."""

from typing import Any

import pytest

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.shops.models import Shop
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith
from tests.panel.html_forms import get_form

EDIT = "orders_order_edit"
HOME = {"first_name": "Anna", "address1": "Storgatan 1", "zip": "111 22", "city": "Stockholm", "country": "Sweden"}
WHOLE = {**HOME, "last_name": "Lindqvist", "country_code": "SE", "province": "", "province_code": "", "company": None}


@pytest.fixture
def order_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders")


def reload_order(order: Order) -> Order:
    with shop_scope(order.shop):
        return Order.objects.get(pk=order.pk)


def save_order(panel: Panel, order: Order, **typed: str | None) -> Any:
    """Submit the displayed form with the typed values. A value of None unchecks a checkbox."""
    data = get_form(panel.get(EDIT, order.pk).content, model="order").data | {
        name: [value] for name, value in typed.items()
    }
    return panel.http.post(panel.url(EDIT, order.pk), {k: v for k, v in data.items() if v != [None]})


def test_one_address_for_both_is_changed_once(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE, billing_address=WHOLE, email="anna@example.com")

    response = save_order(order_client, order, shipping_address1="Lillgatan 2", shipping_city="Umeå", tags="vip")

    after = reload_order(order)
    assert response.status_code == 302
    assert after.shipping_address == after.billing_address == {**WHOLE, "address1": "Lillgatan 2", "city": "Umeå"}
    with shop_scope(shop):
        event = Event.objects.get(topic="orders/updated")
    assert event.actor == f"staff:{order_client.user.pk}"
    assert event.changes["shipping_address"] == ["(hidden)", "(hidden)"]


def test_saving_what_is_shown_changes_nothing(order_client: Panel, shop: Shop) -> None:
    # Like an imported address, this address has a country but no country code.
    order = make_order(shop, shipping_address=HOME, email="anna@example.com")

    assert save_order(order_client, order).status_code == 302

    assert reload_order(order).version == order.version
    with shop_scope(shop):
        assert not Event.objects.filter(topic="orders/updated").exists()


def test_the_billing_address_can_be_another(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE, billing_address=WHOLE)
    unused = save_order(order_client, order, billing_city="Lund")
    assert "Clear this checkbox to use the billing address you entered." in unused.content.decode()

    saved = save_order(order_client, order, billing_same=None, billing_city="Lund", billing_country_code="DK")

    after = reload_order(order)
    assert saved.status_code == 302
    assert after.shipping_address == WHOLE
    assert after.billing_address == {**WHOLE, "city": "Lund", "country": "Denmark", "country_code": "DK"}


def test_an_address_is_added_and_taken_away(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)

    save_order(order_client, order, shipping_city="Oslo", shipping_country_code="NO")
    added: dict[str, str] = reload_order(order).shipping_address or {}
    save_order(order_client, order, shipping_city="", shipping_country_code="")

    assert (added["city"], added["country"]) == ("Oslo", "Norway")
    assert reload_order(order).shipping_address is None


def test_invalid_values_are_reported_at_their_fields_and_nothing_is_saved(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE)

    nowhere = save_order(order_client, order, shipping_country_code="XX", email="no address")
    nul = save_order(order_client, order, shipping_city="a\0b")

    form = nowhere.context["adminform"].form
    assert {"shipping_country_code", "email"} <= form.errors.keys(), form.errors
    assert nul.status_code == 200
    assert reload_order(order).version == order.version


def test_the_second_editor_sees_a_conflict_and_overwrites_only_on_request(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, shipping_address=WHOLE)
    opened = get_form(order_client.get(EDIT, order.pk).content, model="order").data
    save_order(order_client, order, shipping_city="Lund")

    second = order_client.http.post(order_client.url(EDIT, order.pk), opened | {"shipping_city": ["Malmö"]})

    assert "changed this in the meantime" in second.content.decode()
    assert reload_order(order).shipping_address == {**WHOLE, "city": "Lund"}
