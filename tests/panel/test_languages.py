import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import translation
from django.utils.html import strip_tags

from apps.core.admin.display.money import MoneyField
from apps.core.i18n import catalogs, formats
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.sessions import describe_device
from tests.panel.test_pseudo_language import get_texts
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.refunds import create_bogus_order, refund_amount
from tests.support.panel.client import Panel
from tests.support.subtests import Subtests

PROFILE = "/accounts/profile/"


def get_response_language(response: Response) -> str:
    return str(response.content.decode().partition('<html lang="')[2].partition('"')[0])


@pytest.fixture
def german_client(owner_client: Panel) -> Panel:
    """Return a client logged in as an owner who has chosen German."""
    User.objects.filter(pk=owner_client.user.pk).update(language="de")
    return owner_client


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("de", "de"), ("de-AT,en;q=0.5", "de"), ("en,de;q=0.5", "en"), ("tlh,de;q=0.1", "de"), ("tlh", "en"), ("", "en")],
)
def test_browser_is_answered_in_its_language(db: None, accepted: str, language: str) -> None:
    response = Client().get("/accounts/login/", HTTP_ACCEPT_LANGUAGE=accepted)

    assert get_response_language(response) == language
    assert "Accept-Language" in response.headers["Vary"]


def test_panel_speaks_the_browsers_language(owner_client: Panel) -> None:
    response = owner_client.http.get(PROFILE, HTTP_ACCEPT_LANGUAGE="de-AT, en;q=0.5")

    assert get_response_language(response) == "de"
    assert "Deutsch" in response.content.decode()


def test_titles_of_forms_begin_with_a_capital_letter(german_client: Panel) -> None:
    page = german_client.get("catalog_smartcollection_add").content.decode()

    assert "<h1>Automatische Kategorie hinzufügen</h1>" in page


def test_persons_choice_comes_before_the_browsers(german_client: Panel) -> None:
    for path in (PROFILE, "/s/acme/admin/", "/s/acme/admin/nowhere/"):
        assert get_response_language(german_client.http.get(path, HTTP_ACCEPT_LANGUAGE="en")) == "de", path
    assert translation.get_language() == "en"


def test_language_with_a_catalogue_is_chosen_on_the_profile(owner_client: Panel) -> None:
    owner_client.http.post(PROFILE, {"first_name": "Kim", "language": "tlh"})
    assert User.objects.get(pk=owner_client.user.pk).language == ""

    response = owner_client.http.post(PROFILE, {"first_name": "Kim", "language": "de"}, follow=True)
    assert User.objects.get(pk=owner_client.user.pk).language == "de"
    assert "Ihr Profil ist gespeichert." in response.content.decode()


def test_interface_answers_in_english(german_client: Panel) -> None:
    for path in ("/admin/api/2024-01/shop.json", "/admin/oauth/access_scopes.json", "/docs/api/", "/healthz"):
        spoken = german_client.http.get(path, HTTP_ACCEPT_LANGUAGE="de")
        assert spoken.content == german_client.http.get(path, HTTP_ACCEPT_LANGUAGE="en").content, path
        assert "Accept-Language" not in spoken.headers.get("Vary", ""), path


def test_amounts_are_written_as_in_the_language() -> None:
    amounts = [formats.format_money(Decimal(amount), "EUR") for amount in ("1234.5", "-1234567.8", "999.5")]
    assert amounts == ["1,234.50 EUR", "-1,234,567.80 EUR", "999.50 EUR"]
    assert formats.format_integer(12345) == "12,345"
    with formats.language_override("de-CH"):
        assert formats.format_money(Decimal("1234.5"), "EUR") == "1.234,50 EUR"
        assert formats.format_money(Decimal(1234), "JPY") == "1.234 JPY"
        assert formats.format_integer(12345) == "12.345"


def test_first_wish_that_a_language_serves_counts() -> None:
    assert [formats.match_language(*tags) for tags in (("tlh", "de_AT", "en"), ("", "tlh"))] == ["de", "en"]


def test_each_language_says_all_that_is_marked() -> None:
    texts = catalogs.collect_texts(Path(settings.BASE_DIR))

    for path in Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po"):
        assert catalogs.find_problems(path, texts) == []


def test_faults_of_a_catalogue_are_named(tmp_path: Path) -> None:
    path = tmp_path / "locale" / "de" / "LC_MESSAGES" / "django.po"
    path.parent.mkdir(parents=True)
    message = {"a": "A", "{n} b": "B", "c": ""}
    catalogs.update_catalog(path, {catalogs.TranslatableText(text): ["x.py"] for text in message}, message)
    path.with_suffix(".mo").write_bytes(path.with_suffix(".mo").read_bytes().replace(b"A", b"Z"))

    problems = catalogs.find_problems(path, {catalogs.TranslatableText(text): ["x.py"] for text in (*message, "d")})

    assert sorted(problems) == [
        "django.mo is outdated: django.po has changed",
        "missing: 'd' (x.py)",
        "untranslated: 'c'",
        "wrong placeholders: '{n} b'",
    ]


def test_account_pages_speak_to_people_as_the_panel_does(german_client: Panel) -> None:
    inside = ("logout/", "password/change/", "2fa/", "profile/")
    outside = ("login/", *(f"password/reset/{path}" for path in ("", "done/", "key/1-x/", "key/done/")))
    wrong = {"oldpassword": "x", "password1": "y", "password2": "z"}
    pages = [german_client.http.get(f"/accounts/{path}", follow=True, HTTP_ACCEPT_LANGUAGE="de") for path in inside]
    pages += [Client().get(f"/accounts/{path}", follow=True, HTTP_ACCEPT_LANGUAGE="de") for path in outside]
    pages += [german_client.http.post("/accounts/password/change/", wrong, HTTP_ACCEPT_LANGUAGE="de")]
    texts = [strip_tags(page.content.decode()) for page in pages]

    assert "Möchten Sie sich wirklich abmelden?" in texts[0]
    assert re.findall(r"\b(?:[Dd](?:u|ich|ir|ein\w*)|[Gg]ib|[Ww]ähle)\b.*", "\n".join(texts)) == []


def test_a_device_is_named_in_the_language() -> None:
    browser = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
    with translation.override("de"):
        assert [describe_device(name) for name in (browser, "")] == ["Firefox unter Linux", "Unbekanntes Gerät"]


@pytest.mark.parametrize(("language", "expected_output"), [("en", "1,234.50"), ("de", "1.234,50")])
def test_amounts_have_digit_groups_on_pages(
    owner_client: Panel, in_shop: Shop, language: str, expected_output: str
) -> None:
    User.objects.filter(pk=owner_client.user.pk).update(language=language)
    order = create_bogus_order(in_shop, "1234.50")
    refund = refund_amount(order, "1234.50")
    make_product(prices=("1234.50",))
    lists = ("orders_order_changelist", "orders_order_report", "catalog_variant_changelist", "refunds_refund_report")
    pages: list[tuple[Any, ...]] = [
        *((name,) for name in ("index", *lists)),
        ("orders_order_change", order.pk),
        ("refunds_refund_change", refund.pk),
        ("customers_customer_change", order.customer_id),
    ]

    with Subtests() as checks:
        for name, *args in pages:
            with checks(name):
                text = " ".join(get_texts(owner_client.get(name, *args).content.decode()))
                assert expected_output in text
                assert not re.search(r"\d{4,}[.,]\d\d\b", text)
    file = owner_client.get("orders_order_report_file", table="sales")
    assert "1234.50" in file.content.decode("utf-8-sig")


@pytest.mark.parametrize(
    ("typed", "currency", "intended"),
    [
        ("9.90", "EUR", "9.90"),
        ("9,90", "EUR", "9.90"),
        (" 9,9 ", "EUR", "9.90"),
        ("9", "EUR", "9.00"),
        (",5", "EUR", "0.50"),
        ("0,500", "KWD", "0.500"),
        ("1234,5", "EUR", "1234.50"),
        ("1.234,50", "EUR", "1234.50"),
        ("1,234.50", "EUR", "1234.50"),
        ("1.234.567,89", "EUR", "1234567.89"),
        ("1,234,567", "EUR", "1234567.00"),
        ("1 234,50", "EUR", "1234.50"),
        ("1\u202f234,50", "EUR", "1234.50"),
        ("1'234.50", "CHF", "1234.50"),
        ("9,90 €", "EUR", "9.90"),
        ("$9.90", "USD", "9.90"),
        ("EUR 9,90", "EUR", "9.90"),
        ("1,234", "JPY", "1234"),
        ("1.234", "KWD", "1.234"),
    ],
)
def test_an_amount_is_read_as_it_is_written(typed: str, currency: str, intended: str) -> None:
    assert MoneyField(currency=currency).clean(typed) == Decimal(intended)


@pytest.mark.parametrize(
    ("typed", "currency", "message"),
    [
        ("1,234", "EUR", "Is this 1234 or 1.234?"),
        ("1,234", "KWD", "Is this 1234 or 1.234?"),
        ("1.234", "EUR", "This amount has too many decimal places for EUR."),
        ("1,2345", "EUR", "decimal places"),
        ("1,23,4", "EUR", "Enter a number."),
        ("1.23,456.7", "EUR", "Enter a number."),
        ("12.34,50", "EUR", "Enter a number."),
        ("1,234,567.8.9", "EUR", "Enter a number."),
        ("9,90 $", "EUR", "Enter an amount in EUR."),
        ("NaN", "EUR", "Enter an amount in EUR."),
        ("1e3", "EUR", "Enter an amount in EUR."),
        ("-1", "EUR", "greater than or equal to 0"),
        ("-1.234,50", "EUR", "greater than or equal to 0"),
        (",", "EUR", "Enter a number."),
        ("1 2", "EUR", "Enter a number."),
        ("10,5", "JPY", "This amount has too many decimal places for JPY."),
        ("9" * 30, "EUR", "Must be less than 1,000,000,000,000"),
    ],
)
def test_ambiguous_amounts_are_refused(typed: str, currency: str, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        MoneyField(currency=currency).clean(typed)

    assert message in " ".join(error.value.messages)


@pytest.mark.parametrize(("language", "limit"), [("en", "1,000,000,000,000"), ("de", "1.000.000.000.000")])
def test_the_limit_is_written_as_the_language_writes_numbers(language: str, limit: str) -> None:
    with translation.override(language), pytest.raises(ValidationError, match=limit.replace(".", r"\.")):
        MoneyField(currency="EUR").clean("1000000000000")


@pytest.mark.parametrize(
    ("currency", "amount", "english", "german"),
    [
        ("EUR", Decimal("1234.500"), "1234.50", "1234,50"),
        ("JPY", Decimal("1234.000"), "1234", "1234"),
        ("KWD", Decimal("1.234"), "1.234", "1.234"),
    ],
)
def test_forms_read_amounts_as_they_show_them(currency: str, amount: Decimal, english: str, german: str) -> None:
    field = MoneyField(currency=currency)

    for language, shown in (("en", english), ("de", german)):
        with translation.override(language):
            assert field.prepare_value(amount) == shown
            assert field.clean(shown) == amount
            assert not field.has_changed(amount, shown)
