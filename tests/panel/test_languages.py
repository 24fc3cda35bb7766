"""Tests for the page language: the user's setting, the browser's language, or English. The API is always English."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation
from django.utils.html import strip_tags

from apps.ground import languages
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.domain.sessions import describe_device
from apps.staff.models import User
from backoffice import translations
from tests.catalog.factories import make_product
from tests.collect_failures import Subtests
from tests.panel.conftest import Panel
from tests.panel.test_pseudo_language import get_texts
from tests.refunds.factories import create_bogus_order, refund_amount

PROFILE = "/accounts/profile/"


def get_response_language(response: Any) -> str:
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
    assert languages.format_money(Decimal("1234.5"), "EUR") == "1,234.50 EUR"
    assert languages.format_money(Decimal("-1234567.8"), "EUR") == "-1,234,567.80 EUR"
    assert languages.format_money(Decimal("999.5"), "EUR") == "999.50 EUR"
    assert languages.format_integer(12345) == "12,345"
    with languages.language_override("de-CH"):
        assert languages.format_money(Decimal("1234.5"), "EUR") == "1.234,50 EUR"
        assert languages.format_money(Decimal(1234), "JPY") == "1.234 JPY"
        assert languages.format_integer(12345) == "12.345"


def test_first_wish_that_a_language_serves_counts() -> None:
    assert languages.match_language("tlh", "de_AT", "en") == "de"
    assert languages.match_language("", "tlh") == "en"


def test_each_language_says_all_that_is_marked() -> None:
    texts = translations.collect_texts(Path(settings.BASE_DIR))

    for path in Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po"):
        assert translations.find_problems(path, texts) == []


def test_faults_of_a_catalogue_are_named(tmp_path: Path) -> None:
    path = tmp_path / "locale" / "de" / "LC_MESSAGES" / "django.po"
    path.parent.mkdir(parents=True)
    message = {"a": "A", "{n} b": "B", "c": ""}
    translations.update_catalog(path, {translations.TranslatableText(text): ["x.py"] for text in message}, message)
    path.with_suffix(".mo").write_bytes(path.with_suffix(".mo").read_bytes().replace(b"A", b"Z"))

    problems = translations.find_problems(
        path, {translations.TranslatableText(text): ["x.py"] for text in (*message, "d")}
    )

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
def test_amounts_that_are_shown_are_in_groups_and_those_of_files_are_not(
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
