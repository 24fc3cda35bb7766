"""The settings page *Taxes*: rates of countries and provinces, and the settings of the shop."""

from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain import shop_countries
from apps.shops.domain.countries import get_zones
from apps.shops.domain.tax_rates.starter_rates import STARTER_RATES
from apps.shops.models import ShopCountry, ShopProvince
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_forms

pytestmark = pytest.mark.usefixtures("in_shop")

EDIT, COUNTRY, ADD, STARTER, REMOVE = (
    f"shops_shopcountry_{name}" for name in ("edit", "change", "add_country", "starter_rates", "remove")
)


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("preferences")


def add_country(code: str, tax: str = "0") -> ShopCountry:
    attrs = {"code": code, "tax": Decimal(tax)}
    return shop_countries.create_country(attrs, actor="system", at=timezone.now())


def get_data(panel: Panel, name: str, *page: object) -> dict[str, object]:
    """Return the data of the page's form with tax rates, as a browser would send it."""
    forms = get_forms(panel.get(name, *page).content)
    return dict(next(form.data for form in forms if "form_key" in form.names and not form.attrs.get("action")))


def get_key(region: ShopCountry | ShopProvince, name: str) -> str:
    return f"{region._meta.model_name}-{region.pk}-{name}"


def get_changes(topic: str) -> list[dict[str, object]]:
    return [event.changes for event in Event.objects.filter(topic=topic).order_by("id")]


def test_rates_and_settings_are_saved_with_their_old_and_new_values(panel: Panel, shop: Shop) -> None:
    germany, france = add_country("DE", "0.16"), add_country("FR", "0.2")
    data = get_data(panel, EDIT)
    typed = {get_key(germany, "tax"): "19,5 %", get_key(germany, "tax_name"): "USt", "shipping_taxed": "on"}

    response = panel.post(EDIT, **{**data, **typed})

    assert response.status_code == 302, response.content.decode()
    germany.refresh_from_db()
    france.refresh_from_db()
    shop.refresh_from_db()
    assert (germany.tax, germany.tax_name, france.tax) == (Decimal("0.195"), "USt", Decimal("0.2"))
    assert (shop.shipping_taxed, shop.taxes_included) == (True, False)
    assert get_changes("countries/update") == [{"tax": ["0.16", "0.195"], "tax_name": ["VAT", "USt"]}]
    assert get_changes("shop/update") == [{"shipping_taxed": [False, True]}]
    history = panel.get("shops_shopcountry_history", germany.pk).content.decode()
    assert "0.195" in history


def test_changed_fields_are_saved_alone(panel: Panel, shop: Shop) -> None:
    """Values that someone else changed while the page was open are kept."""
    germany = add_country("DE", "0.16")
    data = get_data(panel, EDIT)
    ShopCountry.objects.filter(pk=germany.pk).update(tax_name="USt")
    Shop.objects.filter(pk=shop.pk).update(taxes_included=True)
    france = add_country("FR", "0.2")

    response = panel.post(EDIT, **{**data, get_key(germany, "tax"): "19"})

    assert response.status_code == 302
    germany.refresh_from_db()
    france.refresh_from_db()
    assert (germany.tax, germany.tax_name, france.tax) == (Decimal("0.19"), "USt", Decimal("0.2"))
    assert Shop.objects.get(pk=shop.pk).taxes_included


def test_an_unchanged_form_records_nothing(panel: Panel) -> None:
    canada = add_country("CA", "0.0714285714285714")
    before = Event.objects.count()

    for page in ((EDIT,), (COUNTRY, canada.pk)):
        assert panel.post(*page, **get_data(panel, *page)).status_code == 302

    assert Event.objects.count() == before
    assert ShopProvince.objects.get(country=canada, code="AB").tax_type is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tax", "101", "less than or equal to 100"),
        ("tax", "-1", "greater than or equal to 0"),
        ("tax", "a lot", "Enter a number"),
        ("tax", "", "required"),
        ("tax", "1.123456789012345", "14 decimal places"),
        ("tax_name", "", "required"),
        ("tax_name", "x" * 256, "255"),
    ],
)
def test_an_invalid_rate_is_refused_and_nothing_changes(panel: Panel, name: str, value: str, message: str) -> None:
    germany, france = add_country("DE", "0.16"), add_country("FR", "0.2")
    data = {**get_data(panel, EDIT), get_key(france, "tax"): "21", get_key(germany, name): value}

    response = panel.post(EDIT, **data)

    assert response.status_code == 200
    assert message in response.content.decode()
    assert {row.tax for row in ShopCountry.objects.exclude(code="US")} == {Decimal("0.16"), Decimal("0.2")}


def test_rates_of_provinces_are_saved_and_shown_with_their_combination(panel: Panel) -> None:
    canada = add_country("CA", "0.05")
    quebec, ontario = (ShopProvince.objects.get(country=canada, code=code) for code in ("QC", "ON"))
    typed = {
        get_key(quebec, "tax"): "9.5",
        get_key(quebec, "tax_type"): "compounded",
        get_key(ontario, "tax"): "13",
        get_key(ontario, "tax_name"): "",
    }

    panel.post(COUNTRY, canada.pk, **{**get_data(panel, COUNTRY, canada.pk), **typed})

    quebec.refresh_from_db()
    ontario.refresh_from_db()
    assert (quebec.tax, quebec.tax_type) == (Decimal("0.095"), "compounded")
    assert (ontario.tax, ontario.tax_name, ontario.tax_type) == (Decimal("0.13"), None, "harmonized")
    page = panel.get(COUNTRY, canada.pk).content.decode()
    assert "5% GST + 9.975% QST" in page
    assert "13% GST" in page
    assert "2 of 13 with their own rate" in panel.get(EDIT).content.decode()
    assert [changes.get("tax_type") for changes in get_changes("provinces/update")] == [None, ["normal", "compounded"]]


def test_a_country_is_added_with_its_starter_rate_and_removed(panel: Panel) -> None:
    response = panel.forge(ADD, code="CA")

    assert response.status_code == 302
    canada = ShopCountry.objects.get(code="CA")
    taxes = {row.code: (row.tax, row.tax_type) for row in ShopProvince.objects.filter(country=canada)}
    assert canada.tax == Decimal("0.05")
    assert (taxes["ON"], taxes["QC"]) == ((Decimal("0.13"), "harmonized"), (Decimal("0.09975"), "normal"))
    assert taxes["AB"] == (Decimal(0), None)
    assert "Canada was added: 5% GST. Check the rate." in panel.get(EDIT).content.decode()

    for code in ("CA", "ZZ", ""):
        panel.forge(ADD, code=code)
        assert "Choose a country that is not in the table." in panel.get(EDIT).content.decode()
    assert ShopCountry.objects.count() == 2
    panel.forge(ADD, code="*")
    assert "Rest of the world was added: No tax." in panel.get(EDIT).content.decode()

    assert "Remove Canada?" in panel.get(REMOVE, canada.pk).content.decode()
    panel.forge(REMOVE, canada.pk)
    assert not ShopCountry.objects.filter(code="CA").exists()
    assert not ShopProvince.objects.filter(country_id=canada.pk).exists()
    assert Event.objects.filter(topic="countries/delete").count() == 1


def test_starter_rates_only_add_missing_countries(panel: Panel) -> None:
    add_country("DE", "0.07")
    page = panel.get(STARTER).content.decode()
    assert "Check all rates with your accountant" in page
    assert "1 Aug 2025" in page
    assert "Canada: 5%, with the rates of 9 provinces" in page
    assert 'value="DE"' not in page

    panel.forge(STARTER, codes=["FR", "CH"])

    rates = {row.code: row.tax for row in ShopCountry.objects.all()}
    assert rates == {"US": 0, "DE": Decimal("0.07"), "FR": Decimal("0.2"), "CH": Decimal("0.081")}
    for codes in ([], ["DE"], ["ZZ"]):
        assert panel.forge(STARTER, codes=codes).status_code == 200
    assert ShopCountry.objects.count() == len(rates)

    panel.forge(STARTER, codes=[code for code in STARTER_RATES if code not in rates])
    assert ShopCountry.objects.count() == len(STARTER_RATES) + 1
    assert "All countries with a starter rate are already in the table." in panel.get(STARTER).content.decode()


def test_starter_rates_belong_to_known_countries_and_provinces() -> None:
    for code, starter in STARTER_RATES.items():
        provinces = {zone.code for zone in get_zones(code)}
        assert 0 < starter.tax < Decimal("0.3"), code
        assert set(starter.provinces) <= provinces, code
        add_country(code)


def test_a_country_at_zero_shows_its_starter_rate(panel: Panel) -> None:
    add_country("DE")
    add_country("FR", "0.2")

    page = panel.get(EDIT).content.decode()

    assert "Starter rate: 19%" in page
    assert "Starter rate: 20%" not in page


def test_a_shop_without_countries_is_told_what_to_do(panel: Panel) -> None:
    ShopCountry.objects.all().delete()

    assert "No countries yet" in panel.get(EDIT).content.decode()


def test_viewing_does_not_allow_changes(admin_client_with: PanelWith, shop: Shop) -> None:
    germany = add_country("DE", "0.16")
    viewer, stranger = admin_client_with(view_only=("preferences",)), admin_client_with("orders")

    for page in ((EDIT,), (COUNTRY, germany.pk)):
        text = viewer.get(*page).content.decode()
        assert 'value="16"' in text
        assert 'bo-primary">Save' not in text
        assert stranger.get(*page).status_code == 403
    for page in ((EDIT,), (COUNTRY, germany.pk), (ADD,), (STARTER,), (REMOVE, germany.pk)):
        data = {get_key(germany, "tax"): "19", get_key(germany, "tax_name"): "VAT", "code": "FR", "codes": "FR"}
        for client in (viewer, stranger):
            assert client.forge(*page, **data).status_code == 403, page
    assert {row.code: row.tax for row in ShopCountry.objects.all()} == {"US": 0, "DE": Decimal("0.16")}


def test_countries_of_another_shop_are_not_found(panel: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = add_country("DE", "0.16")

    for page in ((COUNTRY, foreign.pk), (REMOVE, foreign.pk)):
        assert panel.get(*page).status_code == 404
        assert panel.forge(*page).status_code == 404
    data = {**get_data(panel, EDIT), get_key(foreign, "tax"): "19", get_key(foreign, "tax_name"): "x"}
    assert panel.post(EDIT, **data).status_code == 302
    with shop_scope(other_shop):
        foreign.refresh_from_db()
        assert (foreign.tax, foreign.tax_name) == (Decimal("0.16"), "VAT")
