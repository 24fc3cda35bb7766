from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.core.tenancy.models import App, Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain import subscriptions
from apps.webhooks.models import Subscription
from tests.support import factories
from tests.support.api_client import ApiClient

FILE = """
client_id = "{key}"
name = "Cheap mugs"
application_url = "https://app.example/"
embedded = false

[auth]
redirect_urls = ["https://app.example/auth"]

[access_scopes]
scopes = "read_products"

[webhooks]
api_version = "2026-10"

[[webhooks.subscriptions]]
topics = ["products/create", "products/update"]
uri = "/webhooks/"
filter = "variants.price:>=10.00"
include_fields = ["id", "variants.price"]
name = "cheap-products"

[[webhooks.subscriptions]]
compliance_topics = ["customers/redact", "shop/redact"]
uri = "https://app.example/compliance"

[webhooks.privacy_compliance]
customer_data_request_url = "https://app.example/data"
"""


ApplyConfiguration = Callable[..., list[str]]


@pytest.fixture
def app(shop: Shop) -> App:
    return factories.make_installation(shop, ["read_products"]).app


@pytest.fixture
def apply_configuration(app: App, tmp_path: Path) -> ApplyConfiguration:
    def run(text: str, *options: str) -> list[str]:
        file = tmp_path / "app.toml"
        file.write_text(text.replace("{key}", app.api_key))
        out = StringIO()
        call_command("apply_app_config", str(file), *options, stdout=out, stderr=out)
        return out.getvalue().splitlines()

    return run


def get_configured(app: App) -> dict[str, tuple[str, str, str | None]]:
    with all_shops_scope():
        return {row.topic: (row.uri, row.filter, row.name) for row in subscriptions.get_configured_subscriptions(app)}


def test_a_file_says_how_fast_and_in_which_order(app: App, apply_configuration: ApplyConfiguration) -> None:
    def paces() -> set[tuple[bool, int, int | None]]:
        with all_shops_scope():
            rows = subscriptions.get_configured_subscriptions(app)
            return set(rows.values_list("ordered", "max_in_flight", "max_per_second"))

    pace = 'name = "cheap-products"\nordered = true\nmax_in_flight = 2\nmax_per_second = 5\n'
    apply_configuration(FILE.replace('name = "cheap-products"\n', pace))
    rates = paces()
    apply_configuration(FILE)

    assert rates == {(True, 2, 5), (False, 10, None)}
    assert paces() == {(False, 10, None)}


def test_a_file_is_the_whole_truth(app: App, apply_configuration: ApplyConfiguration, api: ApiClient) -> None:
    def get_ids() -> dict[str, int]:
        with all_shops_scope():
            return dict(subscriptions.get_configured_subscriptions(app).values_list("topic", "pk"))

    before = get_configured(app)
    output = apply_configuration(FILE, "--dry-run")
    untouched = get_configured(app)
    finished_output = apply_configuration(FILE)
    app.refresh_from_db()
    first = get_configured(app)
    ids = get_ids()
    second_output = apply_configuration(FILE)
    moved = apply_configuration(FILE.replace("10.00", "20.00").replace('"products/create", ', ""))
    later = get_ids()
    emptied = apply_configuration('client_id = "{key}"\n')

    hooks = ("https://app.example/webhooks", "variants.price:>=10.00", "cheap-products")
    assert (before, untouched) == ({}, {})
    assert output == finished_output
    assert first == {
        "products/create": hooks,
        "products/update": hooks,
        **dict.fromkeys(("customers/redact", "shop/redact"), ("https://app.example/compliance", "", None)),
        "customers/data_request": ("https://app.example/data", "", None),
    }
    assert (app.name, app.application_url) == ("Cheap mugs", "https://app.example/")
    assert (app.redirect_urls, app.requested_scopes) == (["https://app.example/auth"], ["read_products"])
    assert second_output == ["No changes."]
    assert moved[0] == "- products/create → https://app.example/webhooks"
    assert moved[1].startswith("~ products/update → https://app.example/webhooks: filter")
    assert later["products/update"] == ids["products/update"], "changed in place, so nothing that waits is lost"
    assert len(emptied) == 4
    assert get_configured(app) == {}
    assert api.get("webhooks.json").json() == {"webhooks": []}


ONE = "webhooks.subscriptions[0] (line 3)"
HERE = 'uri = "https://app.example"\n'
ENTRY = '[webhooks]\napi_version = "2026-10"\n[[webhooks.subscriptions]]\n'
GOOD = 'topics = ["products/update"]\n' + HERE
WRONG = {
    "a = = 1": "This file is not valid TOML: Invalid value (at line 1, column 5)",
    'application_url = "nonsense"': "application_url: Enter a valid URL.",
    "webhooks = 1": "webhooks must be a table.",
    "[webhooks]\nnonsense = 1": "webhooks.nonsense is unknown.",
    "[[webhooks.subscriptions]]\n" + GOOD: "webhooks.api_version is required.",
    "[webhooks]": "webhooks.api_version is required.",
    '[webhooks]\napi_version = ""': "webhooks.api_version is required.",
    '[webhooks]\napi_version = "2099-01"': "webhooks.api_version 2099-01 is unknown.",
    "[webhooks]\napi_version = 2026": "webhooks.api_version must be a string.",
    ENTRY.replace("2026-10", "2025-02") + GOOD: "webhooks.api_version 2025-02 is unknown.",
    ENTRY + HERE: f"{ONE} must have topics or compliance_topics.",
    ENTRY + 'topics = ["products/update"]': f"{ONE}.uri is required.",
    ENTRY + 'topics = "products/update"': f"{ONE}.topics must be a list.",
    ENTRY + GOOD + "nonsense = 1": f"{ONE}.nonsense is unknown.",
    ENTRY + GOOD + "max_per_second = 5000": f"{ONE}: Max per second must be between 1 and 1000",
    ENTRY + GOOD + "ordered = 1": f"{ONE}: Ordered must be true or false",
    ENTRY + GOOD + "filter = 1": f"{ONE}.filter must be a string.",
    ENTRY + 'topics = ["products/update"]\nuri = "/a"': (
        f"{ONE}.uri: enter a full URL, or set application_url to use a path."
    ),
    ENTRY + 'topics = ["shop/redact"]\n' + HERE: f"{ONE}.topics: move shop/redact to compliance_topics.",
    ENTRY + 'compliance_topics = ["shop/update"]\n' + HERE: (
        f"{ONE}.compliance_topics: shop/update is not a compliance topic."
    ),
    ENTRY + 'topics = ["products/upd"]\n' + HERE: f"{ONE}: Topic is not included in the list",
    ENTRY + GOOD.replace("https", "http"): f"{ONE}: Address protocol http:// is not supported",
    ENTRY + GOOD + "[[webhooks.subscriptions]]\n" + GOOD: (
        "webhooks.subscriptions[1] (line 6): You can’t have duplicate subscriptions with the exact same `topic` and "
        "`uri`: products/update → https://app.example."
    ),
    ENTRY + 2 * f'compliance_topics = ["shop/redact"]\n{HERE}[[webhooks.subscriptions]]\n' + GOOD: (
        "webhooks.subscriptions[1] (line 6): You can’t have duplicate privacy compliance subscriptions with the exact "
        "same `uri`: shop/redact → https://app.example."
    ),
    f'{ENTRY}{GOOD}name = "a"\n[[webhooks.subscriptions]]\ntopics = ["products/create"]\n{HERE}name = "a"': (
        "webhooks.subscriptions[1] (line 7).name: Name already exists, no duplicate allowed: a."
    ),
    'client_id = "other"': "client_id belongs to another app.",
    'distribution = "planetary"': "distribution: Value 'planetary' is not a valid choice.",
    '[access_scopes]\nscopes = "read_minds"': "access_scopes.scopes: Unknown scope: read_minds.",
    "[access_scopes]\nscopes = []": "access_scopes.scopes must be a string.",
    '[auth]\nredirect_urls = ["http://app.example"]': (
        "auth.redirect_urls: http://app.example: must use HTTPS. HTTP is only allowed for localhost."
    ),
}


def test_errors_are_reported_with_their_position(app: App, apply_configuration: ApplyConfiguration) -> None:
    results = {}
    for text in WRONG:
        with pytest.raises(CommandError) as error:
            apply_configuration(text, "--app", app.api_key)
        results[text] = str(error.value).removeprefix("base ")

    assert results == WRONG
    with all_shops_scope():
        assert not Subscription.objects.exists()


def test_a_file_registers_an_app(apply_configuration: ApplyConfiguration, shop: Shop) -> None:
    text = FILE.replace('client_id = "{key}"', 'distribution = "public"')

    printed = apply_configuration(text, "--create")
    with pytest.raises(CommandError, match="already has a client_id"):
        apply_configuration(FILE, "--create")
    with pytest.raises(CommandError, match="no app name"):
        apply_configuration("", "--create")

    new_app = App.objects.get(name="Cheap mugs")
    assert printed[-2:] == [f"client_id: {new_app.api_key}", f"client_secret: {new_app.api_secret}"]
    assert (new_app.distribution, new_app.requested_scopes, new_app.owner) == ("public", ["read_products"], None)
    assert new_app.redirect_urls == ["https://app.example/auth"]
    assert len(get_configured(new_app)) == 5


def test_the_app_must_be_known(app: App, apply_configuration: ApplyConfiguration) -> None:
    with pytest.raises(CommandError, match=r"app.s key with --app"):
        apply_configuration("")
    with pytest.raises(CommandError, match="No app has the key nobody"):
        apply_configuration("", "--app", "nobody")
