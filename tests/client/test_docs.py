"""Tests for the pages for app developers: each snippet runs against a real server."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import shopify
from django.conf import settings

from apps.catalog.models import Variant
from apps.content.models import Asset, Theme
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.demo.webhook_receiver import WebhookReceiver
from apps.gift_cards.models import GiftCard
from apps.inventory.models import InventoryLevel
from tests.support import factories
from tests.support.factories.catalog import make_product
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.servers.live import LiveServer, stop_process
from tests.support.types import Json, JsonObject

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]
DOCS = settings.BASE_DIR / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def get_snippets(page: str, language: str) -> list[str]:
    """Return a page's snippets in a language, adapted to the brand of the tests' server."""
    text = (DOCS / page).read_text().replace("X-Platform-", "X-Shopify-")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


@pytest.fixture
def app_token(server_shop: Shop) -> str:
    return factories.make_token(factories.make_installation(server_shop))


@pytest.fixture
def environment(server: LiveServer, app_token: str) -> dict[str, str]:
    return {**os.environ, "BACKOFFICE": server.url, "TOKEN": app_token}


def run_snippet(environment: dict[str, str], *command: str) -> Json:
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(process.stdout)


needs_tools = pytest.mark.skipif(not (shutil.which("node") and shutil.which("curl")), reason="needs node and curl")


@pytest.fixture
def teapot(server_shop: Shop) -> int:
    """Create a product and return its id."""
    with shop_scope(server_shop):
        return int(make_product("Teapot").pk)


@needs_tools
def test_the_first_call_works_in_every_language(environment: dict[str, str], teapot: int) -> None:
    python, node = get_snippets("first-app.md", "python")[0], get_snippets("first-app.md", "js")[0]
    shell = get_snippets("first-app.md", "sh")[0]

    results = [
        run_snippet(environment, "sh", "-c", shell),
        run_snippet(environment, sys.executable, "-c", python),
        run_snippet(environment, "node", "-e", node),
    ]

    assert results == [{"products": [{"id": teapot, "title": "Teapot"}]}] * 3


def test_the_public_client_is_pointed_here_by_its_own_settings(
    server: LiveServer, app_token: str, teapot: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (snippet,) = get_snippets("first-app.md", "py")

    try:
        exec(snippet.replace("port=8000", f"port={server.port}"), {"shopify": shopify, "token": app_token})
    finally:
        shopify.ShopifyResource.clear_session()

    assert capsys.readouterr().out == f"[product({teapot})]\n"


@pytest.mark.usefixtures("node_packages")
def test_the_public_client_of_node_is_pointed_here_by_its_own_settings(
    environment: dict[str, str], server: LiveServer, teapot: int
) -> None:
    (snippet,) = get_snippets("first-app.md", "cjs")

    results = run_snippet(environment, "node", "-e", snippet.replace(":8000", f":{server.port}"))

    # The client parses numbers as strings, so that large ids are not rounded.
    assert results == {"products": [{"id": str(teapot), "title": "Teapot"}]}


@needs_tools
def test_first_app_receives_a_verified_webhook(
    environment: dict[str, str], server: LiveServer, server_shop: Shop
) -> None:
    _, subscribe, create = get_snippets("first-app.md", "sh")
    languages = {
        "curl": ("sh", "-c", create),
        "Python": (sys.executable, "-c", get_snippets("first-app.md", "python")[1]),
        "Node": ("node", "-e", get_snippets("first-app.md", "js")[1]),
    }
    with shop_scope(server_shop):
        secret = Installation.objects.latest("pk").app.api_secret
    worker = server.start("backoffice.entrypoints.worker", "-B")
    try:
        with WebhookReceiver([secret]) as catcher:
            subscribe = subscribe.replace("http://127.0.0.1:8099/", catcher.url)
            # Run the command twice to check that it can be repeated.
            subscriptions = [run_snippet(environment, "sh", "-c", subscribe)["webhook"]["id"] for _ in range(2)]
            for count, (language, command) in enumerate(languages.items(), 1):
                created = run_snippet(environment, *command)
                received = catcher.wait_for(count, seconds=60)[-1]

                assert json.loads(received.body)["id"] == created["product"]["id"], language
                assert received.verified == {"X-Hmac-Sha256": True, "webhook-signature": True}, language
    finally:
        stop_process(worker)

    assert subscriptions[0] == subscriptions[1]


@pytest.fixture
def recipes(environment: dict[str, str], server_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonObject]:
    """Run the Python snippets of the recipes page and yield the names that they define, in the shop's scope."""
    for name in ("BACKOFFICE", "TOKEN"):
        monkeypatch.setenv(name, environment[name])
    results: JsonObject = {}
    for block in get_snippets("recipes.md", "python"):
        exec(block, results)
    with shop_scope(server_shop):
        yield results


def test_products_are_fetched_and_kept_in_step(recipes: JsonObject) -> None:
    ids = {make_product(title).pk for title in ("Teapot", "Mug")}
    mine: dict[int, Any] = {}

    since = recipes["sync_products"](mine)
    first = set(mine)
    third = make_product("Bowl").pk
    recipes["sync_products"](mine, since)
    second = set(mine)
    old = {**mine[third], "title": "Old", "updated_at": "2020-01-01T00:00:00+00:00"}
    sequences: dict[int, int] = {}
    recipes["apply_webhook"](mine, sequences, "products/update", 5, old)
    recipes["apply_webhook"](mine, sequences, "products/delete", 7, {"id": min(ids)})
    recipes["apply_webhook"](mine, sequences, "products/update", 6, mine[max(ids)] | {"id": min(ids)})

    assert (first, second) == (ids, ids | {third})
    assert mine[third]["title"] == "Bowl"
    assert set(mine) == {max(ids), third}


def test_stock_is_what_the_warehouse_counted(recipes: JsonObject) -> None:
    variant = {"price": "9.50", "sku": "MUG", "inventory_management": "shopify"}
    body = {"product": {"title": "Mug", "variants": [variant]}}
    product = recipes["call"]("POST", "products.json", body)[0]["product"]

    assert recipes["set_inventory"]({"MUG": 7, "NONE": 1}) == ["NONE"]
    assert InventoryLevel.objects.get(item=product["variants"][0]["inventory_item_id"]).available == 7


def test_an_order_is_placed_and_followed(recipes: JsonObject) -> None:
    variant = Variant.objects.get(product=make_product("Mug", prices=("9.50",)))

    order = recipes["create_order"](variant.pk, "ada@example.com")
    output = recipes["get_order_status"](order)

    assert (output["name"], output["financial_status"], output["fulfillment_status"]) == ("#1001", "paid", None)
    assert output["order_status_url"].startswith("http")


def test_discounts_are_calculated(recipes: JsonObject) -> None:
    recipes["create_discount"]("TEN", 10)

    result = recipes["calculate_discounts"]([{"price": "19.99", "quantity": 2}], ["ten", "OTHER"])

    assert result["total_discounts"] == "4.00"
    assert [row["code"] for row in result["refused_codes"]] == ["OTHER"]


def test_an_order_is_paid_with_gift_cards(recipes: JsonObject) -> None:
    order = make_order()
    for value, code in (("15.00", "lunch0001"), ("80.00", "dinner0001")):
        make_gift_card(value, code=code)

    due = [recipes["pay_with_gift_card"](order.pk, code) for code in ("unknown01", "0001", "LUNCH 0001", "dinner0001")]

    assert due == ["20.00", "20.00", "5.00", "0.00"]
    assert set(GiftCard.objects.values_list("balance", flat=True)) == {0, 75}


def test_customers_are_imported_once(recipes: JsonObject) -> None:
    first = recipes["import_customer"]({"email": "ada@example.com", "first_name": "Ada"})
    second = recipes["import_customer"]({"email": "ada@example.com", "first_name": "Augusta"})

    assert (first, Customer.objects.get().first_name) == (second, "Augusta")


def test_a_theme_is_copied(recipes: JsonObject, worker: None) -> None:
    source = Theme.objects.get(role="main").pk

    copy = recipes["copy_theme"](source, "Second")

    of_source, of_copy = (set(Asset.objects.filter(theme=pk).values_list("key", "content")) for pk in (source, copy))
    assert of_source == of_copy
