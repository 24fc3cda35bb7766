"""Tests of ``manage.py import_store`` with a store that another process serves under another brand."""

import re
import subprocess
import sys
from collections import Counter
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain.personal_data import redact_customer
from apps.customers.models import Customer
from apps.metafields.models import Metafield
from apps.store_imports.domain import runner, source_client
from apps.store_imports.models import ImportProblem, MappedId, StoreImport, StreamState
from apps.store_imports.resources import collections, customers, metafields, online_store, products
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.models import Delivery
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import BROKEN, CUT, HELD, LIMITED, OK, REORDERED, FaultyProxy
from tests.store_imports.old_store import add_metafield, describe_store, fill_store, post
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.servers.live import LiveServer
from tests.support.webhooks import make_subscription

# The tables that record the progress of an import.
OWN_TABLES = {model._meta.label for model in (StoreImport, StreamState, MappedId, ImportProblem)}


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (products, collections, customers, metafields, online_store):
        monkeypatch.setattr(module, "PAGE_SIZE", 2)
    monkeypatch.setattr(source_client, "PAGE_SIZE", 2)
    monkeypatch.setattr(source_client, "FIRST_PAUSE_SECONDS", 0.01)


def get_counts(output: str) -> dict[str, list[int]]:
    """Return the numbers of new, changed, unchanged and failed objects by stream."""
    lines = re.findall(r"^(\w+): (\d+) new, (\d+) changed, (\d+) unchanged, (\d+) failed$", output, re.MULTILINE)
    return {name: list(map(int, counts)) for name, *counts in lines}


def test_a_store_is_imported_with_everything_and_a_second_run_writes_nothing(importer: StoreImporter) -> None:
    fill_store(importer.source)

    output = importer.run()

    assert describe_store(importer.target) == describe_store(importer.source)
    counts = get_counts(output)
    # The new shop already has the collection *frontpage*, perhaps published in the same second.
    assert (counts["custom_collections"][0], sum(counts.pop("custom_collections"))) == (1, 2)
    assert counts == {
        "locations": [0, 1, 0, 0],
        "products": [5, 0, 0, 0],
        "smart_collections": [1, 0, 0, 0],
        "customers": [5, 0, 0, 0],
        "pages": [3, 0, 0, 0],
        "redirects": [3, 0, 0, 0],
        "product_metafields": [1, 0, 4, 0],
        "collection_metafields": [1, 0, 2, 0],
        "customer_metafields": [1, 0, 4, 0],
        "page_metafields": [1, 0, 2, 0],
    }
    assert "passwords of customers: the API does not return them" in output
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        second = get_counts(importer.run())
    assert {(new, changed, failed) for new, changed, _, failed in second.values()} == {(0, 0, 0)}


def test_the_map_names_each_object_and_metafields_refer_to_the_imported_objects(importer: StoreImporter) -> None:
    fill_store(importer.source)

    importer.run()

    old = {row["handle"]: row for row in importer.source.get("products.json").json()["products"]}
    new = {row["handle"]: row for row in importer.target.get("products.json").json()["products"]}
    with shop_scope(importer.shop):
        ids = {(row.resource, row.source_id): row.target_id for row in MappedId.objects.all()}
        reference = Metafield.objects.get(owner_resource="product").value
    for handle, product in old.items():
        assert ids["product", product["id"]] == new[handle]["id"]
        for ours, theirs in zip(new[handle]["variants"], product["variants"], strict=True):
            assert ids["variant", theirs["id"]] == ours["id"]
            assert ids["inventory_item", theirs["inventory_item_id"]] == ours["inventory_item_id"]
        assert ids["product_image", product["images"][0]["id"]] == new[handle]["images"][0]["id"]
    assert reference == f"gid://platform/Product/{new['seat-0']['id']}"
    assert Counter(resource for resource, _ in ids)["customer"] == 5


def test_later_changes_in_the_store_are_imported_and_nothing_is_doubled(importer: StoreImporter) -> None:
    fill_store(importer.source)
    importer.run()
    source = importer.source
    product = source.get("products.json").json()["products"][0]
    assert source.put(f"products/{product['id']}.json", {"product": {"title": "Stool"}}).status_code == 200
    row = source.get("customers.json").json()["customers"]
    person = next(customer for customer in row if customer["last_name"] == "Number 0")
    nobody = next(customer for customer in row if customer["email"] is None)
    assert source.put(f"customers/{person['id']}.json", {"customer": {"email": "new@example.com"}}).status_code == 200
    assert source.put(f"customers/{nobody['id']}.json", {"customer": {"note": "Moved"}}).status_code == 200
    collection = source.get("custom_collections.json", title="Best").json()["custom_collections"][0]
    page = source.get("pages.json", handle="about").json()["pages"][0]
    assert source.put(f"pages/{page['id']}.json", {"page": {"title": "About us"}}).status_code == 200
    post(source, "collects", "collect", {"product_id": product["id"], "collection_id": collection["id"]})

    counts = get_counts(importer.run())

    assert describe_store(importer.target) == describe_store(source)
    assert counts["products"] == [0, 1, 4, 0]
    assert counts["customers"] == [0, 2, 3, 0]
    assert counts["custom_collections"] == [0, 1, 1, 0]
    assert counts["pages"] == [0, 1, 2, 0]


def test_errors_and_truncated_and_unsorted_responses_change_nothing(
    importer: StoreImporter, proxy: FaultyProxy
) -> None:
    fill_store(importer.source)
    faults = [LIMITED, BROKEN, CUT, OK, REORDERED]
    proxy.choose_fault = lambda number: faults[number % len(faults)]

    counts = get_counts(importer.run())

    assert describe_store(importer.target) == describe_store(importer.source)
    assert counts["products"] == [5, 0, 0, 0]


def test_an_import_killed_at_any_request_loses_and_doubles_nothing(
    importer: StoreImporter, proxy: FaultyProxy, server: LiveServer
) -> None:
    fill_store(importer.source)
    # The process must download images, although it uses the same files.
    environment = {**server.env, "BACKOFFICE_BASE_URL": "http://127.0.0.1:1"}
    command = [sys.executable, "manage.py", "import_store", *importer.get_arguments()]
    for held in (4, 11, 17):
        start = len(proxy.paths)
        proxy.is_holding.clear()
        proxy.choose_fault = lambda number, last=start + held: HELD if number >= last else OK  # type: ignore[misc]
        process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.DEVNULL)
        assert proxy.is_holding.wait(120)
        process.kill()
        process.wait(30)
        with shop_scope(importer.shop):
            # The lease of the killed process has expired.
            assert StoreImport.objects.filter(state="running").update(claimed_until=None) == 1
    proxy.choose_fault = lambda number: OK
    imported = len(importer.target.get("products.json").json()["products"])

    counts = get_counts(importer.run())

    assert describe_store(importer.target) == describe_store(importer.source)
    assert imported > 0
    assert counts["products"] == [5, 0, 0, 0]
    assert counts["customers"] == [5, 0, 0, 0]


def test_a_failure_while_a_page_is_saved_saves_nothing_of_the_page(
    importer: StoreImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_store(importer.source)
    save, calls = runner._advance, Counter[str]()

    def fail_sometimes(state: StreamState, *arguments: object) -> None:
        calls[state.name] += 1
        save(state, *arguments)  # type: ignore[arg-type]
        if calls[state.name] in {1, 3}:
            raise RuntimeError("killed")

    monkeypatch.setattr(runner, "_advance", fail_sometimes)
    for _ in range(30):
        try:
            output = importer.run()
            break
        except RuntimeError:
            continue

    assert sum(calls.values()) > 20
    assert describe_store(importer.target) == describe_store(importer.source)
    assert get_counts(output)["customers"] == [5, 0, 0, 0]


def test_apps_receive_no_webhooks_about_an_import(importer: StoreImporter) -> None:
    fill_store(importer.source)
    for topic in ("products/create", "customers/create", "collections/update", "inventory_levels/update"):
        make_subscription(importer.target.installation, "https://app.example/hooks", topic=topic)

    importer.run()

    while create_deliveries().events:
        pass
    with shop_scope(importer.shop):
        assert Delivery.objects.count() == 0
        assert Event.objects.filter(topic="products/create", actor="system").count() == 5
    post(importer.target, "products", "product", {"title": "By hand"})
    while create_deliveries().events:
        pass
    with shop_scope(importer.shop):
        assert Delivery.objects.count() == 1


def test_a_refused_object_is_reported_and_imported_by_the_next_run(importer: StoreImporter) -> None:
    fill_store(importer.source)
    taken = post(importer.target, "smart_collections", "smart_collection", {
        "title": "Best", "rules": [{"column": "tag", "relation": "equals", "condition": "x"}],
    })  # fmt: skip

    with pytest.raises(CommandError, match="1 object was not imported"):
        importer.run()

    with shop_scope(importer.shop):
        problem = ImportProblem.objects.get(is_failure=True)
    assert (problem.stream, "with the handle best" in problem.reason) == ("custom_collections", True)
    assert importer.target.delete(f"smart_collections/{taken['id']}.json").status_code == 200
    assert get_counts(importer.run())["custom_collections"] == [1, 0, 1, 0]
    assert describe_store(importer.target) == describe_store(importer.source)


def test_an_erased_customer_stays_erased(importer: StoreImporter, settings: Settings) -> None:
    fill_store(importer.source)
    importer.run()
    with shop_scope(importer.shop):
        customer = Customer.objects.get(last_name="Number 1")
        redact_customer(customer, actor="system", at=customer.created_at)
        source_id = MappedId.objects.get(resource="customer", target_id=customer.pk).source_id
    assert importer.source.put(f"customers/{source_id}.json", {"customer": {"note": "Again"}}).status_code == 200

    output = importer.run()

    with shop_scope(importer.shop):
        assert Customer.objects.get(pk=customer.pk).last_name == ""
        assert Customer.objects.count() == 5
    assert f"customers {source_id}: note: The customer's personal data was erased in this shop." in output


def test_two_imports_of_one_store_do_not_run_at_the_same_time(importer: StoreImporter) -> None:
    with shop_scope(importer.shop):
        store_import = runner.get_or_create_import(importer.url)
        with runner._claim_import(store_import), pytest.raises(CommandError, match="Another process is importing"):
            importer.run()

    assert importer.run()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--token": "bko_wrong"}, "does not accept the token"),
        ({"--brand": "other"}, "does not accept the token"),
        ({"--shop": "nowhere.example"}, "No shop has the domain nowhere.example"),
        ({"--api-version": "x"}, "There is no REST API at"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_do(
    importer: StoreImporter, change: dict[str, str], message: str
) -> None:
    arguments = importer.get_arguments()
    for name, value in change.items():
        if name in arguments:
            arguments[arguments.index(name) + 1] = value
        else:
            arguments += [name, value]

    with assert_database_unchanged(), pytest.raises(CommandError, match=message):
        call_command("import_store", *arguments)


def test_a_store_with_another_currency_is_refused(importer: StoreImporter) -> None:
    type(importer.shop).objects.filter(pk=importer.shop.pk).update(currency="EUR")

    with pytest.raises(CommandError, match="currency is USD, but this shop's is EUR"):
        importer.run()


def test_private_addresses_are_refused(importer: StoreImporter, settings: Settings, proxy: FaultyProxy) -> None:
    settings.OUTGOING_ALLOW = []

    with pytest.raises(CommandError, match="address not allowed"):
        importer.run()

    assert proxy.paths == []


@pytest.mark.parametrize(
    "url", ["", "ftp://shop.example", "https://user:secret@shop.example", "https://shop.example:x"]
)
def test_an_invalid_address_is_refused(importer: StoreImporter, url: str) -> None:
    with pytest.raises(CommandError, match="Enter the address of the store"):
        call_command("import_store", url, *importer.get_arguments()[1:])


def test_a_missing_scope_is_named(importer: StoreImporter) -> None:
    fill_store(importer.source)
    importer.source.installation.scopes = ["read_locations"]
    importer.source.installation.save()

    with pytest.raises(CommandError, match="may not read"):
        importer.run()


def test_a_metafield_that_refers_to_a_missing_object_is_reported(importer: StoreImporter) -> None:
    fill_store(importer.source)
    product = post(importer.source, "products", "product", {"title": "Last"})
    page = post(importer.source, "pages", "page", {"title": "About"})
    add_metafield(importer.source, f"products/{product['id']}", "page_reference", f"gid://platform/Page/{page['id']}")

    assert importer.source.delete(f"pages/{page['id']}.json").status_code == 200

    output = importer.run()

    assert f"product_metafields {product['id']}: note: The metafield facts.about was not imported" in output


def test_the_token_is_not_stored(importer: StoreImporter) -> None:
    importer.run()

    with shop_scope(importer.shop):
        row = StoreImport.objects.values().get()
    assert row["source_url"] == importer.url
    assert not [value for value in row.values() if importer.source.token in str(value)]
    assert urlsplit(importer.url).port
