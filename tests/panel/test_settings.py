"""Tests for the shop settings form, including behavior that is common to all forms of the panel."""

from decimal import Decimal
from unittest.mock import patch

import pytest

from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.money import is_currency
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.inventory.models import InventoryItem
from apps.orders.domain import updates
from apps.orders.domain.create.numbering import CurrencyChanged
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith


def build_settings_form(panel: Panel, shop: Shop) -> Attrs:
    """Return the data that a browser sends for the unchanged form."""
    form = panel.get("shops_shop_change", shop.pk).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in values.items() if value not in (None, False)}


@pytest.fixture
def settings_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("preferences")


def test_saving_changes_the_shop_and_is_recorded_once(settings_client: Panel, shop: Shop) -> None:
    data = build_settings_form(settings_client, shop) | {
        "name": "Acme & Daughters",
        "presentment_currencies-currency": ["gbp", "EUR", ""],
        "presentment_currencies-rate": ["", "0,920", ""],
        "presentment_currencies-rounding": ["", "0.99", ""],
    }

    response = settings_client.post("shops_shop_change", shop.pk, **data)

    shop.refresh_from_db()
    assert response.status_code == 302
    assert shop.name == "Acme & Daughters"
    assert shop.presentment_currencies == [
        {"currency": "EUR", "rate": "0.92", "rounding": "0.99"},
        {"currency": "GBP", "rate": None, "rounding": ""},
    ]
    with shop_scope(shop):
        event = Event.objects.get(topic="shop/update")
    assert event.actor == f"staff:{settings_client.user.pk}"
    assert event.changes["name"] == ["Acme", "Acme & Daughters"]
    assert event.request_id
    assert event.address == "127.0.0.1"


def test_saving_nothing_records_nothing(settings_client: Panel, shop: Shop) -> None:
    settings_client.post("shops_shop_change", shop.pk, **build_settings_form(settings_client, shop))

    with shop_scope(shop):
        assert not Event.objects.filter(topic="shop/update").exists()


def test_offered_currencies_are_those_that_are_accepted(settings_client: Panel, shop: Shop) -> None:
    form = settings_client.get("shops_shop_change", shop.pk).context["adminform"].form
    offered = {code for code, _ in form.fields["currency"].choices}

    assert {"USD", "JPY", "KWD", "XOF"} <= offered
    assert not offered & {"XXX", "XTS", "XAU", "CLF", "CHE"}
    assert all(is_currency(code) for code in offered)


def test_the_currency_stays_once_there_are_orders(settings_client: Panel, shop: Shop) -> None:
    data = build_settings_form(settings_client, shop)
    order = make_order(shop)

    refused = settings_client.post("shops_shop_change", shop.pk, **data | {"currency": "EUR"})
    response = settings_client.post("shops_shop_change", shop.pk, **data | {"name": "Renamed"})

    assert refused.status_code == 200
    assert "The currency cannot change from USD to EUR: the shop has orders." in refused.content.decode()
    assert response.status_code == 302
    shop.refresh_from_db()
    assert (shop.currency, shop.name) == ("USD", "Renamed")
    with shop_scope(shop):
        updates.delete_order(order, actor="system", at=order.created_at)
    changed = settings_client.post(
        "shops_shop_change", shop.pk, **build_settings_form(settings_client, shop) | {"currency": "EUR"}
    )
    shop.refresh_from_db()
    assert (changed.status_code, shop.currency) == (302, "EUR")


@pytest.mark.parametrize(("column", "what"), [("price", "variants have prices"), ("cost", "items have costs")])
def test_the_currency_stays_if_amounts_have_decimals(
    settings_client: Panel, shop: Shop, column: str, what: str
) -> None:
    with shop_scope(shop):
        product = make_product("Mug", prices=("10.00", "7.25") if column == "price" else ("10.00",))
        if column == "cost":
            InventoryItem.objects.update(cost=Decimal("1.50"))
    data = build_settings_form(settings_client, shop)

    refused = settings_client.post("shops_shop_change", shop.pk, **data | {"currency": "JPY"})
    response = settings_client.post("shops_shop_change", shop.pk, **data | {"currency": "KWD"})

    assert f"some {what} with more decimal places than the currency allows" in refused.content.decode()
    assert response.status_code == 302
    with shop_scope(shop):
        assert product.variants.get(price=10).price == 10


def test_an_order_created_during_a_currency_change_is_reported(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        Shop.objects.filter(pk=shop.pk).update(currency="EUR")
        with pytest.raises(CurrencyChanged):
            make_order()
        assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("NOPE", "1", ""), "NOPE is not included in the list."),
        (("", "1", ""), "? is not included in the list."),
        (("USD", "1", ""), "USD is the shop&#x27;s own currency."),
        (("EUR", "0", ""), "EUR: the rate is invalid"),
        (("EUR", "1,234.5", ""), "EUR: the rate is invalid"),
        (("EUR", "1000000", ""), "EUR: the rate is invalid"),
        (("EUR", "-1", ""), "EUR: the rate is invalid"),
        (("EUR", "٣", ""), "EUR: the rate is invalid"),
        (("JPY", "150", "0.99"), "JPY does not support this rounding."),
        (("EUR", "1", "7"), "EUR does not support this rounding."),
    ],
)
def test_invalid_rates_are_refused(settings_client: Panel, shop: Shop, row: tuple[str, str, str], message: str) -> None:
    parts = dict(zip(("currency", "rate", "rounding"), row, strict=True))
    data = {f"presentment_currencies-{name}": [value] for name, value in parts.items()}

    response = settings_client.post("shops_shop_change", shop.pk, **build_settings_form(settings_client, shop) | data)

    assert response.status_code == 200
    assert message in response.content.decode()
    shop.refresh_from_db()
    assert shop.presentment_currencies == []


@pytest.mark.parametrize("field", ["domain", "handle", "plan"])
def test_settings_of_the_operator_cannot_be_forged(settings_client: Panel, shop: Shop, field: str) -> None:
    before = getattr(shop, field)
    data = build_settings_form(settings_client, shop) | {field: "premium"}

    settings_client.post("shops_shop_change", shop.pk, **data)

    shop.refresh_from_db()
    assert getattr(shop, field) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timezone", "Mars/Olympus"),
        ("currency", "XXQ"),
        ("currency", "XXX"),
        ("country_code", "ZZ"),
    ],
)
def test_values_that_do_not_exist_are_refused(settings_client: Panel, shop: Shop, field: str, value: str) -> None:
    before = getattr(shop, field)

    page = settings_client.post(
        "shops_shop_change", shop.pk, **build_settings_form(settings_client, shop) | {field: value}
    )

    shop.refresh_from_db()
    assert field in page.context["adminform"].form.errors
    assert getattr(shop, field) == before


def test_an_outdated_form_names_the_other_user(settings_client: Panel, owner_client: Panel, shop: Shop) -> None:
    mine, theirs = build_settings_form(settings_client, shop), build_settings_form(owner_client, shop)
    owner_client.post("shops_shop_change", shop.pk, **theirs | {"name": "Theirs"})

    page = settings_client.post("shops_shop_change", shop.pk, **mine | {"name": "Mine"})

    shop.refresh_from_db()
    assert shop.name == "Theirs"
    assert page.context["adminform"].form.conflict.fields == ["name"]
    assert f"{owner_client.user} changed this" in page.content.decode()
    assert 'value="Mine"' in page.content.decode()


def test_overwriting_is_possible_after_a_conflict(settings_client: Panel, owner_client: Panel, shop: Shop) -> None:
    mine, theirs = build_settings_form(settings_client, shop), build_settings_form(owner_client, shop)
    owner_client.post("shops_shop_change", shop.pk, **theirs | {"name": "Theirs"})
    response = settings_client.post("shops_shop_change", shop.pk, **mine | {"name": "Mine"})
    version = response.context["adminform"].form.conflict.version

    settings_client.post("shops_shop_change", shop.pk, **mine | {"name": "Mine", "_overwrite": version})

    shop.refresh_from_db()
    assert shop.name == "Mine"


def test_overwriting_spares_newer_changes(settings_client: Panel, owner_client: Panel, shop: Shop) -> None:
    mine = build_settings_form(settings_client, shop)
    owner_client.post("shops_shop_change", shop.pk, **build_settings_form(owner_client, shop) | {"name": "Second"})
    response = settings_client.post("shops_shop_change", shop.pk, **mine | {"name": "Mine"})
    version = response.context["adminform"].form.conflict.version
    owner_client.post("shops_shop_change", shop.pk, **build_settings_form(owner_client, shop) | {"name": "Third"})

    settings_client.post("shops_shop_change", shop.pk, **mine | {"name": "Mine", "_overwrite": version})

    shop.refresh_from_db()
    assert shop.name == "Third"


def test_a_form_without_a_version_saves_nothing(settings_client: Panel, shop: Shop) -> None:
    data = build_settings_form(settings_client, shop) | {"name": "Mine"}
    del data["seen_version"]

    settings_client.post("shops_shop_change", shop.pk, **data)

    shop.refresh_from_db()
    assert shop.name == "Acme"


def test_service_errors_are_shown_on_the_form(
    settings_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.shops.admin.settings import ShopAdmin

    def save_and_refuse(self: object, request: object, obj: Shop, form: object, change: bool) -> None:
        obj.save()
        raise DomainError({"name": ["is not to our taste"], "colour": ["is missing"]})

    monkeypatch.setattr(ShopAdmin, "save_model", save_and_refuse)

    page = settings_client.post(
        "shops_shop_change", shop.pk, **build_settings_form(settings_client, shop) | {"name": "Mine"}
    )

    shop.refresh_from_db()
    errors = page.context["adminform"].form.errors
    assert page.status_code == 200
    assert errors == {"name": ["Is not to our taste."], "__all__": ["Colour is missing."]}
    assert shop.name == "Acme"
    assert 'value="Mine"' in page.content.decode()


def test_a_new_handle_moves_the_panel(operator_client: Panel, shop: Shop) -> None:
    response = operator_client.post(
        "shops_shop_change", shop.pk, **build_settings_form(operator_client, shop) | {"handle": "acme-new"}
    )

    assert response.headers["Location"] == f"/s/acme-new/admin/shops/shop/{shop.pk}/change/"
    assert operator_client.http.get(response.headers["Location"]).status_code == 200


def test_view_only_users_get_no_save_button(admin_client_with: PanelWith, shop: Shop) -> None:
    from apps.core.tenancy import permissions

    with patch.dict(permissions.grants, {"test": permissions.allow("reports", "v", "shops.shop")}):
        panel = admin_client_with("reports")
        page = panel.get("shops_shop_change", shop.pk).content.decode()
        refused = panel.post("shops_shop_change", shop.pk, name="Mine")

    assert 'name="_save"' not in page
    assert refused.status_code == 403
