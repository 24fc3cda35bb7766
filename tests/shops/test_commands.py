import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.core.tenancy.models import App, Shop
from tests.support.api_client import ApiClient

pytestmark = pytest.mark.django_db


def run_command(command: str, *arguments: str) -> dict[str, str]:
    out = StringIO()
    call_command(command, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_a_new_shop_and_a_new_app_answer_at_once() -> None:
    run_command("create_shop", "Fresh.example", "--timezone", "Asia/Tokyo", "--currency", "jpy", "--country", "jp")
    scopes = "read_products, write_script_tags"
    keys = run_command("create_app", "Scripts", "--shop", "fresh.example", "--scopes", scopes)

    shop_body = ApiClient(keys["access_token"], None).get("shop.json").json()["shop"]  # type: ignore[arg-type]

    assert (shop_body["domain"], shop_body["currency"], shop_body["country"]) == ("fresh.example", "JPY", "JP")
    assert shop_body["created_at"].endswith("+09:00")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no domain"], "domain: Enter a domain"),
        ([""], "domain: This field cannot be blank."),
        (["a.example", "--timezone", "Mars/Base"], "timezone: Mars/Base is not an IANA time zone."),
        (["a.example", "--currency", "zzz"], "currency: ZZZ is not a supported currency."),
        (["a.example", "--currency", "xxx"], "currency: XXX is not a supported currency."),
        (["a.example", "--country", "ZZ"], "country_code: ZZ is not a country code."),
        (["a.example", "--plan", "gold"], "plan: Value 'gold'"),
        (["a.example", "--name", "x" * 256], "name: Ensure this value has at most 255"),
        (["ACME.example"], "domain has already been taken"),
    ],
)
def test_a_shop_that_cannot_be_is_refused_in_a_sentence(shop: Shop, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        run_command("create_shop", *arguments)

    assert list(Shop.objects.all()) == [shop]


@pytest.mark.parametrize(
    ("name", "domain", "scopes", "message"),
    [
        ("", "acme.example", "read_products", "name: This field cannot be blank."),
        ("x" * 256, "acme.example", "read_products", "name: Ensure this value has at most 255"),
        ("A", "nowhere.example", "read_products", "No shop has the domain nowhere.example"),
        ("A", "acme.example", "read_everything", "Unknown scope: read_everything"),
    ],
)
def test_invalid_apps_are_refused(shop: Shop, name: str, domain: str, scopes: str, message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        run_command("create_app", name, "--shop", domain, "--scopes", scopes)

    assert not App.objects.exists()
