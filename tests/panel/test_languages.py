"""Tests of languages in the panel: the reader's choice, texts, and amounts in each format."""

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
from apps.core.tenancy.scope import shop_scope
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


def test_persons_choice_comes_before_the_browsers(owner_client: Panel) -> None:
    User.objects.filter(pk=owner_client.user.pk).update(language="de")

    assert get_response_language(owner_client.http.get(PROFILE, HTTP_ACCEPT_LANGUAGE="en")) == "de"
    assert get_response_language(owner_client.http.get("/s/acme/admin/", HTTP_ACCEPT_LANGUAGE="en")) == "de"
    assert get_response_language(owner_client.http.get("/s/acme/admin/nowhere/", HTTP_ACCEPT_LANGUAGE="en")) == "de"
    assert translation.get_language() == "en"


def test_language_is_chosen_on_the_profile(owner_client: Panel) -> None:
    response = owner_client.http.post(PROFILE, {"first_name": "Kim", "language": "de"}, follow=True)

    assert User.objects.get(pk=owner_client.user.pk).language == "de"
    assert "Ihr Profil ist gespeichert." in response.content.decode()


def test_language_without_a_catalogue_is_refused(owner_client: Panel) -> None:
    owner_client.http.post(PROFILE, {"first_name": "Kim", "language": "tlh"})

    assert User.objects.get(pk=owner_client.user.pk).language == ""


def test_interface_answers_in_english(owner_client: Panel, shop: Shop) -> None:
    User.objects.filter(pk=owner_client.user.pk).update(language="de")
    paths = ("/admin/api/2024-01/shop.json", "/admin/oauth/access_scopes.json", "/docs/api/", "/healthz")

    for path in paths:
        spoken = owner_client.http.get(path, HTTP_ACCEPT_LANGUAGE="de")
        assert spoken.content == owner_client.http.get(path, HTTP_ACCEPT_LANGUAGE="en").content, path
        assert "Accept-Language" not in spoken.headers.get("Vary", ""), path


def test_amounts_are_written_as_in_the_language() -> None:
    assert formats.format_money(Decimal("1234.5"), "EUR") == "1,234.50 EUR"
    assert formats.format_money(Decimal("-1234567.8"), "EUR") == "-1,234,567.80 EUR"
    assert formats.format_money(Decimal("999.5"), "EUR") == "999.50 EUR"
    assert formats.format_integer(12345) == "12,345"
    with formats.language_override("de-CH"):
        assert formats.format_money(Decimal("1234.5"), "EUR") == "1.234,50 EUR"
        assert formats.format_money(Decimal(1234), "JPY") == "1.234 JPY"
        assert formats.format_integer(12345) == "12.345"


def test_first_wish_that_a_language_serves_counts() -> None:
    assert formats.match_language("tlh", "de_AT", "en") == "de"
    assert formats.match_language("", "tlh") == "en"


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


def test_account_pages_speak_to_people_as_the_panel_does(owner_client: Panel) -> None:
    User.objects.filter(pk=owner_client.user.pk).update(language="de")
    inside = ("logout/", "password/change/", "2fa/", "profile/")
    outside = (
        "password/reset/",
        "password/reset/done/",
        "password/reset/key/1-x/",
        "password/reset/key/done/",
        "login/",
    )
    wrong = {"oldpassword": "x", "password1": "y", "password2": "z"}
    pages = [owner_client.http.get(f"/accounts/{path}", follow=True, HTTP_ACCEPT_LANGUAGE="de") for path in inside]
    pages += [Client().get(f"/accounts/{path}", follow=True, HTTP_ACCEPT_LANGUAGE="de") for path in outside]
    pages += [owner_client.http.post("/accounts/password/change/", wrong, HTTP_ACCEPT_LANGUAGE="de")]
    texts = [strip_tags(page.content.decode()) for page in pages]

    assert "Möchten Sie sich wirklich abmelden?" in texts[0]
    assert [
        match[0] for text in texts if (match := re.search(r"\b([Dd](u|ich|ir|ein\w*)|[Gg]ib|[Ww]ähle)\b.*", text))
    ] == []


def test_a_device_is_named_in_the_language() -> None:
    with translation.override("de"):
        assert (
            describe_device("Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0")
            == "Firefox unter Linux"
        )
        assert describe_device("") == "Unbekanntes Gerät"


@pytest.mark.parametrize(("language", "expected_output"), [("en", "1,234.50"), ("de", "1.234,50")])
def test_amounts_have_digit_groups_on_pages(
    owner_client: Panel, shop: Shop, language: str, expected_output: str
) -> None:
    User.objects.filter(pk=owner_client.user.pk).update(language=language)
    order = create_bogus_order(shop, "1234.50")
    refund = refund_amount(order, "1234.50")
    with shop_scope(shop):
        make_product(prices=("1234.50",))
        pages: list[tuple[Any, ...]] = [
            ("index",),
            ("orders_order_changelist",),
            ("orders_order_change", order.pk),
            ("orders_order_report",),
            ("catalog_variant_changelist",),
            ("refunds_refund_report",),
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


@pytest.mark.parametrize("currency", ["EUR", "JPY", "KWD"])
@pytest.mark.parametrize(
    ("language", "expected_output"),
    [
        ("en", {"EUR": "1234.50", "JPY": "1234", "KWD": "1.234"}),
        ("de", {"EUR": "1234,50", "JPY": "1234", "KWD": "1.234"}),
    ],
)
def test_forms_read_amounts_as_they_show_them(language: str, expected_output: dict[str, str], currency: str) -> None:
    field = MoneyField(currency=currency)
    amount = Decimal({"EUR": "1234.500", "JPY": "1234.000", "KWD": "1.234"}[currency])

    with translation.override(language):
        assert field.prepare_value(amount) == expected_output[currency]
        assert field.clean(field.prepare_value(amount)) == amount
        assert not field.has_changed(amount, field.prepare_value(amount))
