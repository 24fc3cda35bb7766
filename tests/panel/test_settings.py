from decimal import Decimal

import pytest

from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.money import is_currency
from apps.core.tenancy import permissions
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.models import InventoryItem
from apps.orders.domain import updates
from apps.orders.domain.create.numbering import CurrencyChanged
from apps.orders.models import Order
from apps.shops.admin.settings import ShopAdmin
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")


PAGE = "shops_shop_change"


def build_settings_form(panel: Panel, shop: Shop) -> Attrs:
    """Return the data that a browser sends for the unchanged form."""
    form = panel.get(PAGE, shop.pk).context["adminform"].form
    return {name: value for name in form.fields if (value := form[name].value()) not in (None, False)}


def save_settings(panel: Panel, shop: Shop, **changed: object) -> Response:
    """Submit the settings form with changed values and reload the shop."""
    response = panel.post(PAGE, shop.pk, **build_settings_form(panel, shop) | changed)
    shop.refresh_from_db()
    return response


@pytest.fixture
def settings_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("preferences")


def test_saving_changes_the_shop_and_is_recorded_once(settings_client: Panel, shop: Shop) -> None:
    rows = {"currency": ["gbp", "EUR", ""], "rate": ["", "0,920", ""], "rounding": ["", "0.99", ""]}
    currencies = {f"presentment_currencies-{name}": values for name, values in rows.items()}

    response = save_settings(settings_client, shop, name="Acme & Daughters", **currencies)

    assert (response.status_code, shop.name) == (302, "Acme & Daughters")
    at = shop.presentment_currencies[0]["rate_updated_at"]
    assert shop.presentment_currencies == [
        {"currency": "EUR", "rate": "0.92", "rounding": "0.99", "rate_updated_at": at},
        {"currency": "GBP", "rate": None, "rounding": "", "rate_updated_at": at},
    ]
    event = Event.objects.get(topic="shop/update")
    assert (event.actor, event.address) == (f"staff:{settings_client.user.pk}", "127.0.0.1")
    assert event.changes["name"] == ["Acme", "Acme & Daughters"]
    assert event.request_id


def test_offered_currencies_are_those_that_are_accepted(settings_client: Panel, shop: Shop) -> None:
    form = settings_client.get(PAGE, shop.pk).context["adminform"].form
    offered = {code for code, _ in form.fields["currency"].choices}

    assert {"USD", "JPY", "KWD", "XOF"} <= offered
    assert not offered & {"XXX", "XTS", "XAU", "CLF", "CHE"}
    assert all(is_currency(code) for code in offered)


def test_the_currency_stays_once_there_are_orders(settings_client: Panel, shop: Shop) -> None:
    order = make_order(shop)

    refused = save_settings(settings_client, shop, currency="EUR")
    response = save_settings(settings_client, shop, name="Renamed")

    assert (refused.status_code, response.status_code) == (200, 302)
    assert "The currency cannot change from USD to EUR: the shop has orders." in refused.content.decode()
    assert (shop.currency, shop.name) == ("USD", "Renamed")
    updates.delete_order(order, actor="system", at=order.created_at)
    assert (save_settings(settings_client, shop, currency="EUR").status_code, shop.currency) == (302, "EUR")


@pytest.mark.parametrize(("column", "what"), [("price", "variants have prices"), ("cost", "items have costs")])
def test_the_currency_stays_if_amounts_have_decimals(
    settings_client: Panel, shop: Shop, column: str, what: str
) -> None:
    product = make_product("Mug", prices=("10.00", "7.25") if column == "price" else ("10.00",))
    if column == "cost":
        InventoryItem.objects.update(cost=Decimal("1.50"))

    refused, response = (save_settings(settings_client, shop, currency=currency) for currency in ("JPY", "KWD"))

    assert f"some {what} with more decimal places than the currency allows" in refused.content.decode()
    assert response.status_code == 302
    assert product.variants.get(price=10).price == 10


def test_an_order_created_during_a_currency_change_is_reported(shop: Shop) -> None:
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

    response = save_settings(settings_client, shop, **data)

    assert (response.status_code, shop.presentment_currencies) == (200, [])
    assert message in response.content.decode()


@pytest.mark.parametrize("field", ["domain", "handle", "plan"])
def test_settings_of_the_operator_cannot_be_forged(settings_client: Panel, shop: Shop, field: str) -> None:
    before = getattr(shop, field)

    save_settings(settings_client, shop, **{field: "premium"})

    assert getattr(shop, field) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [("timezone", "Mars/Olympus"), ("currency", "XXQ"), ("currency", "XXX"), ("country_code", "ZZ")],
)
def test_values_that_do_not_exist_are_refused(settings_client: Panel, shop: Shop, field: str, value: str) -> None:
    before = getattr(shop, field)

    page = save_settings(settings_client, shop, **{field: value})

    assert field in page.context["adminform"].form.errors
    assert getattr(shop, field) == before


def test_an_outdated_form_names_the_other_user(settings_client: Panel, owner_client: Panel, shop: Shop) -> None:
    mine = build_settings_form(settings_client, shop) | {"name": "Mine"}
    save_settings(owner_client, shop, name="Theirs")

    page = settings_client.post(PAGE, shop.pk, **mine)

    shop.refresh_from_db()
    assert shop.name == "Theirs"
    assert page.context["adminform"].form.conflict.fields == ["Name"]
    assert f"{owner_client.user} changed this" in page.content.decode()
    assert 'value="Mine"' in page.content.decode()


@pytest.mark.parametrize(("newer", "result"), [((), "Mine"), (("Third",), "Third")])
def test_overwriting_after_a_conflict_spares_newer_changes(
    settings_client: Panel, owner_client: Panel, shop: Shop, newer: tuple[str, ...], result: str
) -> None:
    mine = build_settings_form(settings_client, shop) | {"name": "Mine"}
    save_settings(owner_client, shop, name="Second")
    version = settings_client.post(PAGE, shop.pk, **mine).context["adminform"].form.conflict.version
    for name in newer:
        save_settings(owner_client, shop, name=name)

    settings_client.post(PAGE, shop.pk, **mine, _overwrite=version)

    shop.refresh_from_db()
    assert shop.name == result


def test_a_form_without_a_version_saves_nothing(settings_client: Panel, shop: Shop) -> None:
    data = build_settings_form(settings_client, shop) | {"name": "Mine"}
    del data["seen_version"]

    settings_client.post(PAGE, shop.pk, **data)

    shop.refresh_from_db()
    assert shop.name == "Acme"


def test_service_errors_are_shown_on_the_form(
    settings_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save_and_refuse(self: object, request: object, obj: Shop, form: object, change: bool) -> None:
        obj.save()
        raise DomainError({"name": ["is not to our taste"], "colour": ["is missing"]})

    monkeypatch.setattr(ShopAdmin, "save_model", save_and_refuse)

    page = save_settings(settings_client, shop, name="Mine")

    errors = page.context["adminform"].form.errors
    assert errors == {"name": ["Is not to our taste."], "__all__": ["Colour is missing."]}
    assert (page.status_code, shop.name) == (200, "Acme")
    assert 'value="Mine"' in page.content.decode()


def test_a_new_handle_moves_the_panel(operator_client: Panel, shop: Shop) -> None:
    response = save_settings(operator_client, shop, handle="acme-new")

    assert response.headers["Location"] == f"/s/acme-new/admin/shops/shop/{shop.pk}/change/"
    assert operator_client.http.get(response.headers["Location"]).status_code == 200


def test_a_permission_to_view_gives_no_save_button(
    admin_client_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(permissions.grants, "test", permissions.allow("reports", "v", "shops.shop"))
    panel = admin_client_with("reports")

    assert 'name="_save"' not in panel.get(PAGE, shop.pk).content.decode()
    assert panel.post(PAGE, shop.pk, name="Mine").status_code == 403
