"""Tests of ``manage.py import_store`` with a store that another process serves under another brand."""

import re
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain.personal_data import redact_customer
from apps.customers.models import Customer
from apps.inventory.models import InventoryLevel
from apps.metafields.models import Metafield
from apps.notifications.models import Notification
from apps.store_imports.domain import runner
from apps.store_imports.management.commands import import_store
from apps.store_imports.models import ImportProblem, MappedId, StoreImport, StreamState
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.models import Delivery
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import BROKEN, CUT, HELD, LIMITED, OK, REORDERED, FaultyProxy
from tests.store_imports.old_store import add_metafield, describe_store, fill_store, post
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.factories.inventory import make_location
from tests.support.servers.live import LiveServer
from tests.support.types import JsonObject
from tests.support.webhooks import make_subscription

# The tables that record the progress of an import.
OWN_TABLES = {model._meta.label for model in (StoreImport, StreamState, MappedId, ImportProblem)}


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
    assert {name: numbers for name, numbers in counts.items() if any(numbers)} == {
        "settings": [0, 1, 0, 0],
        "locations": [0, 1, 0, 0],
        "countries": [0, 0, 1, 0],
        "products": [5, 0, 0, 0],
        "smart_collections": [1, 0, 0, 0],
        "customers": [5, 0, 0, 0],
        "pages": [3, 0, 0, 0],
        "redirects": [3, 0, 0, 0],
        "themes": [1, 0, 0, 0],
        "theme_files": [12, 0, 0, 0],
        "shop_metafields": [0, 0, 1, 0],
        "product_metafields": [1, 0, 4, 0],
        "collection_metafields": [1, 0, 2, 0],
        "customer_metafields": [1, 0, 4, 0],
        "page_metafields": [1, 0, 2, 0],
        # The note that the store does not offer the list.
        "staff": [0, 0, 1, 0],
    }
    assert "passwords of customers: the API does not return them" in output
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        second = get_counts(importer.run())
    assert {(new, changed, failed) for new, changed, _, failed in second.values()} == {(0, 0, 0)}


def test_selected_objects_are_imported_and_later_the_rest(importer: StoreImporter) -> None:
    product = post(importer.source, "products", "product", {"title": "Chair"})
    post(importer.source, "pages", "page", {"title": "About"})
    add_metafield(importer.source, f"products/{product['id']}", "single_line_text_field", "Oak")

    output = importer.run("--only", "product_metafields,pages")

    assert set(get_counts(output)) == {"product_metafields", "pages"}
    assert "product_metafields refer to products" in output
    assert importer.target.get("products/count.json").json()["count"] == 0
    with pytest.raises(CommandError, match="--only can't be combined with --follow"):
        importer.run("--only", "pages", "--follow")
    with pytest.raises(CommandError, match="Unknown: shelves"):
        importer.run("--only", "shelves")

    counts = get_counts(importer.run())

    assert (counts["products"], counts["pages"]) == ([1, 0, 0, 0], [0, 0, 1, 0])
    assert counts["product_metafields"] == [1, 0, 0, 0]


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
    assert source.put(f"customers/{person['id']}.json", {"customer": {"note": None}}).status_code == 200
    item_id = product["variants"][0]["inventory_item_id"]
    assert source.put(f"inventory_items/{item_id}.json", {"inventory_item": {"cost": None}}).status_code == 200
    with_metafield = source.get("pages.json", handle="shipping").json()["pages"][0]
    metafield = source.get(f"pages/{with_metafield['id']}/metafields.json").json()["metafields"][0]
    assert source.put(f"metafields/{metafield['id']}.json", {"metafield": {"value": "Free"}}).status_code == 200

    counts = get_counts(importer.run())

    assert describe_store(importer.target) == describe_store(source)
    assert counts["products"] == [0, 1, 4, 0]
    assert counts["customers"] == [0, 2, 3, 0]
    assert counts["custom_collections"] == [0, 1, 1, 0]
    assert counts["pages"] == [0, 1, 2, 0]
    assert counts["page_metafields"] == [0, 1, 2, 0]


def test_stock_at_a_location_without_the_item_in_the_store_becomes_zero(importer: StoreImporter) -> None:
    source = importer.source
    with shop_scope(source.installation.shop):
        depot = make_location(source.installation.shop, name="Depot")
    primary = next(row for row in source.get("locations.json").json()["locations"] if row["id"] != depot.pk)
    variant = {"sku": "CHAIR", "inventory_management": "platform"}
    product = post(source, "products", "product", {"title": "Chair", "variants": [variant]})
    item_id = product["variants"][0]["inventory_item_id"]
    for location_id, available in ((primary["id"], 4), (depot.pk, 9)):
        body = {"inventory_item_id": item_id, "location_id": location_id, "available": available}
        assert source.post("inventory_levels/set.json", body).status_code == 200
    importer.run()
    level = f"inventory_levels.json?inventory_item_id={item_id}&location_id={primary['id']}"
    assert source.delete(level).status_code == 200

    changed = get_counts(importer.run())
    unchanged = get_counts(importer.run())

    assert (changed["products"], unchanged["products"]) == ([0, 1, 0, 0], [0, 0, 1, 0])
    with shop_scope(importer.shop):
        levels = InventoryLevel.objects.values_list("location__name", "available")
        assert dict(levels) == {primary["name"]: 0, "Depot": 9}


def test_all_addresses_of_a_customer_are_replaced_with_those_of_the_store(importer: StoreImporter) -> None:
    source = importer.source
    customer = post(source, "customers", "customer", {"email": "ada@example.com"})
    path = f"customers/{customer['id']}/addresses"
    rows = [post(source, path, "customer_address", {"address1": f"{number} Street"}) for number in range(14)]
    importer.run()
    assert get_addresses(importer) == ([f"{number} Street" for number in range(14)], "0 Street")
    assert source.put(f"{path}/{rows[12]['id']}/default.json").status_code == 200
    for row in (rows[0], rows[13]):
        assert source.delete(f"{path}/{row['id']}.json").status_code == 200
    body = {"customer_address": {"address1": "Moved"}}
    assert source.put(f"{path}/{rows[1]['id']}.json", body).status_code == 200

    counts = get_counts(importer.run())

    assert get_addresses(importer) == ([*(f"{number} Street" for number in range(2, 13)), "Moved"], "12 Street")
    assert counts["customers"] == [0, 1, 0, 0]
    assert source.put(f"{path}/{rows[5]['id']}/default.json").status_code == 200
    assert get_counts(importer.run())["customers"] == [0, 1, 0, 0]
    assert get_addresses(importer)[1] == "5 Street"


def test_a_customer_created_during_the_import_keeps_the_time_of_creation(
    importer: StoreImporter, proxy: FaultyProxy
) -> None:
    post(importer.source, "customers", "customer", {"email": "ada@example.com"})
    moments: list[datetime] = []

    def create_now(path: str, data: JsonObject) -> None:
        for row in data.get("customers", ()):
            if not moments:
                # Moments of the API have no fractions of seconds.
                time.sleep(1.1)
                moments.append(timezone.now().replace(microsecond=0))
            row["created_at"] = moments[0].isoformat()

    proxy.edit = create_now

    importer.run()

    with shop_scope(importer.shop):
        assert Customer.objects.get().created_at == moments[0]


def get_addresses(importer: StoreImporter) -> tuple[list[str], str]:
    """Return all addresses of the only imported customer, sorted by number, and the default address."""
    with shop_scope(importer.shop):
        customer = Customer.objects.get()
        assert customer.default_address is not None
        texts = [str(address.address1) for address in customer.addresses.all()]
        default = str(customer.default_address.address1)
    return sorted(texts, key=lambda text: (text == "Moved", len(text), text)), default


def test_an_object_with_a_reused_handle_does_not_overwrite_another_imported_object(importer: StoreImporter) -> None:
    source = importer.source
    bodies: dict[str, dict[str, object]] = {
        "product": {}, "custom_collection": {}, "page": {}, "smart_collection": {
            "rules": [{"column": "tag", "relation": "equals", "condition": "x"}]
        },
    }  # fmt: skip
    old = {
        name: post(source, f"{name}s", name, {"title": "Old", "handle": f"{name}-a", **body})
        for name, body in bodies.items()
    }
    importer.run()
    for name, body in bodies.items():
        changed = source.put(f"{name}s/{old[name]['id']}.json", {name: {"handle": f"{name}-b"}})
        assert changed.status_code == 200
        post(source, f"{name}s", name, {"title": "New", "handle": f"{name}-a", **body})

    with pytest.raises(CommandError, match="4 objects were not imported"):
        importer.run()

    for name, row in old.items():
        found = importer.target.get(f"{name}s.json", handle=f"{name}-a").json()[f"{name}s"]
        assert [item["title"] for item in found] == ["Old"]
        reason = f"with the handle {name}-a was imported from the store's object {row['id']}"
        assert reason in importer.output.getvalue()


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

        def choose_fault(_number: int, start: int = start, held: int = held) -> str:
            # Each import begins with the counts of all lists.
            read = [path for path in proxy.paths[start:] if "count.json" not in path]
            return HELD if len(read) >= held else OK

        proxy.choose_fault = choose_fault
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


def test_nobody_is_notified_about_stock_that_an_import_changes(importer: StoreImporter) -> None:
    fill_store(importer.source)
    importer.run()
    type(importer.shop).objects.filter(pk=importer.shop.pk).update(low_stock_at=2)
    set_stock(importer.source, "seat-0", 1)

    importer.run()

    with shop_scope(importer.shop):
        assert InventoryLevel.objects.filter(is_low=True).count() == 1
        assert Notification.objects.count() == 0
    set_stock(importer.target, "seat-1", 1)
    with shop_scope(importer.shop):
        assert Notification.objects.count() == 1


def set_stock(api: ApiClient, handle: str, available: int) -> None:
    variant = api.get("products.json", handle=handle).json()["products"][0]["variants"][0]
    location_id = api.get("locations.json").json()["locations"][0]["id"]
    body = {"inventory_item_id": variant["inventory_item_id"], "location_id": location_id, "available": available}
    assert api.post("inventory_levels/set.json", body).status_code == 200


def test_a_refused_object_is_reported_and_imported_by_the_next_run(
    importer: StoreImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_store(importer.source)
    monkeypatch.setattr(import_store, "MAX_SHOWN_NOTES", 0)
    taken = post(importer.target, "smart_collections", "smart_collection", {
        "title": "Best", "rules": [{"column": "tag", "relation": "equals", "condition": "x"}],
    })  # fmt: skip

    with pytest.raises(CommandError, match="1 object was not imported"):
        importer.run()

    with shop_scope(importer.shop):
        problem = ImportProblem.objects.get(is_failure=True)
    assert (problem.stream, "with the handle best" in problem.reason) == ("custom_collections", True)
    assert f"custom_collections {problem.source_id}: not imported: {problem.reason}" in importer.output.getvalue()
    assert importer.target.delete(f"smart_collections/{taken['id']}.json").status_code == 200
    assert get_counts(importer.run())["custom_collections"] == [1, 0, 1, 0]
    assert describe_store(importer.target) == describe_store(importer.source)


def test_an_erased_customer_stays_erased(importer: StoreImporter, settings: Settings) -> None:
    fill_store(importer.source)
    importer.run()
    with shop_scope(importer.shop):
        customer = Customer.objects.get(pk=Metafield.objects.get(owner_resource="customer").owner_id)
        redact_customer(customer, actor="system", at=customer.created_at)
        source_id = MappedId.objects.get(resource="customer", target_id=customer.pk).source_id
    assert importer.source.put(f"customers/{source_id}.json", {"customer": {"note": "Again"}}).status_code == 200
    metafield = importer.source.get(f"customers/{source_id}/metafields.json").json()["metafields"][0]
    body = {"metafield": {"value": '{"size":[3]}'}}
    assert importer.source.put(f"metafields/{metafield['id']}.json", body).status_code == 200

    output = importer.run()

    with shop_scope(importer.shop):
        assert Customer.objects.get(pk=customer.pk).last_name == ""
        assert Customer.objects.count() == 5
        assert not Metafield.objects.filter(owner_resource="customer").exists()
    assert f"customers {source_id}: note: The customer's personal data was erased in this shop." in output


def test_two_imports_of_one_store_do_not_run_at_the_same_time(importer: StoreImporter) -> None:
    with shop_scope(importer.shop):
        store_import = runner.get_or_create_import(importer.url)
        with runner.claim_import(store_import), pytest.raises(CommandError, match="Another process is importing"):
            importer.run()

    assert importer.run()


def test_a_metafield_that_refers_to_a_missing_object_is_reported(importer: StoreImporter, proxy: FaultyProxy) -> None:
    fill_store(importer.source)
    product = post(importer.source, "products", "product", {"title": "Last"})
    page = post(importer.source, "pages", "page", {"title": "About"})
    add_metafield(importer.source, f"products/{product['id']}", "page_reference", f"gid://platform/Page/{page['id']}")

    assert importer.source.delete(f"pages/{page['id']}.json").status_code == 200
    # An object of the shop happens to have the ID of the deleted object.
    other = f"gid://platform/Page/{post(importer.target, 'pages', 'page', {'title': 'Other'})['id']}"

    def replace_reference(path: str, data: JsonObject) -> None:
        for row in data.get("metafields", ()):
            row["value"] = other if row["type"] == "page_reference" else row["value"]

    proxy.edit = replace_reference

    output = importer.run()

    note = f"product_metafields {product['id']}: note: The metafield facts.about was not imported: It refers to {other}"
    assert note in output


def test_the_token_is_not_stored(importer: StoreImporter) -> None:
    importer.run()

    with shop_scope(importer.shop):
        row = StoreImport.objects.values().get()
    assert row["source_url"] == importer.url
    assert not [value for value in row.values() if importer.source.token in str(value)]
    assert urlsplit(importer.url).port
