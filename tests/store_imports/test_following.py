"""Tests of ``import_store --follow`` and ``--final``: changes, deletions, clocks, interruptions and the end."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from urllib.parse import unquote

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.utils import timezone

from apps.catalog.models import Product
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.models import InventoryLevel
from apps.metafields.models import Metafield
from apps.orders.models import Order
from apps.store_imports.domain import runner
from apps.store_imports.domain.following import Following, PassResult
from apps.store_imports.domain.source_client import SourceClient
from apps.store_imports.models import ImportProblem, StoreImport, StreamState
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import HELD, OK, FaultyProxy
from tests.store_imports.old_store import add_metafield, describe_store, fill_store, post
from tests.store_imports.test_orders import create_order, create_product
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import ATTACHMENT
from tests.support.factories.inventory import make_location
from tests.support.servers.live import LiveServer
from tests.support.types import Json, JsonObject


@contextmanager
def follow(importer: StoreImporter) -> Iterator[Iterator[PassResult]]:
    """Yield the results of passes, which run when they are requested."""
    client = SourceClient(importer.url, importer.source.token, "shopify", get_latest_version())
    with shop_scope(importer.shop):
        following = Following(store_import=runner.get_or_create_import(importer.url), client=client)
        with closing(following.follow(interval=0)) as results:
            yield results


def get_all(api: ApiClient, name: str) -> list[Json]:
    rows: list[Json] = api.get(f"{name}.json", limit=250).json()[name]
    return rows


def delete(api: ApiClient, path: str) -> None:
    assert api.delete(f"{path}.json").status_code == 200


@pytest.mark.parametrize("hours", [-3, 3])
def test_following_brings_changes_and_deletions_despite_different_clocks(
    importer: StoreImporter, proxy: FaultyProxy, hours: int
) -> None:
    fill_store(importer.source)
    proxy.skew = timedelta(hours=hours)
    source = importer.source
    with follow(importer) as passes:
        assert next(passes).is_complete
        products = get_all(source, "products")
        add_image(source, products[1])
        collection = source.get("custom_collections.json", title="Best").json()["custom_collections"][0]
        members = source.get("collects.json", collection_id=collection["id"]).json()["collects"]
        next(passes)
        assert describe_store(importer.target) == describe_store(source)

        delete(source, f"products/{products[0]['id']}")
        delete(source, f"products/{products[1]['id']}/variants/{products[1]['variants'][0]['id']}")
        delete(source, f"products/{products[1]['id']}/images/{products[1]['images'][0]['id']}")
        delete(source, f"collects/{members[0]['id']}")
        delete(source, f"customers/{get_all(source, 'customers')[2]['id']}")
        delete(source, f"pages/{get_all(source, 'pages')[0]['id']}")
        delete(source, f"redirects/{get_all(source, 'redirects')[0]['id']}")
        post(source, "customers", "customer", {"last_name": "New", "email": "new@example.com"})
        set_stock(source, products[3], 77)
        result = next(passes)

        assert describe_store(importer.target) == describe_store(source)
        assert (result.deleted, result.is_complete) == (4, True)
        before = len(proxy.paths)
        idle = next(passes)
        assert (idle.changed, idle.deleted) == (0, 0)
    # The lists of blogs, countries and staff have no filter. The lists of ids are not read if the numbers of objects
    # are equal.
    lists = [unquote(path) for path in proxy.paths[before:] if "limit=" in path and "metafields" not in path]
    assert lists
    assert not [
        path
        for path in lists
        if not re.search(r"updated_at_min|page_info|[?&]ids=|_ids=|collection_id=|/(blogs|countries|users)\.json", path)
    ]


def add_image(api: ApiClient, product: JsonObject) -> None:
    image = {"attachment": ATTACHMENT, "filename": "second.png", "position": 1}
    assert api.post(f"products/{product['id']}/images.json", {"image": image}).status_code in {200, 201}


def set_stock(api: ApiClient, product: JsonObject, available: int) -> None:
    location_id = api.get("locations.json").json()["locations"][0]["id"]
    item_id = product["variants"][0]["inventory_item_id"]
    body = {"inventory_item_id": item_id, "location_id": location_id, "available": available}
    assert api.post("inventory_levels/set.json", body).status_code == 200


def test_implausible_lists_delete_nothing_and_changed_objects_are_kept(
    importer: StoreImporter, proxy: FaultyProxy
) -> None:
    pages = [post(importer.source, "pages", "page", {"title": f"Page {number}"}) for number in range(4)]
    listed, count = [0], [4]

    def spoil(path: str, data: JsonObject) -> None:
        """Shorten the list of ids, which has all pages in one response."""
        if "fields=id" in path and "/pages.json" in path:
            data["pages"] = data["pages"][: listed[0]] if "since_id=0" in path else []
        elif "/pages/count.json" in path and "updated_at_min" not in path:
            data["count"] = count[0]

    with follow(importer) as passes:
        next(passes)
        ours = get_all(importer.target, "pages")
        response = importer.target.put(f"pages/{ours[1]['id']}.json", {"page": {"author": "Staff"}})
        assert response.status_code == 200
        for page in pages[:2]:
            delete(importer.source, f"pages/{page['id']}")
        proxy.edit = spoil
        # An empty list, and a list with fewer objects than the store counts.
        count[0] = 2
        assert next(passes).deleted == 0
        listed[0] = 1
        assert next(passes).deleted == 0
        assert len(get_all(importer.target, "pages")) == 4
        proxy.edit = None
        assert next(passes).deleted == 1
        assert next(passes).deleted == 0

        assert [row["title"] for row in get_all(importer.target, "pages")] == ["Page 1", "Page 2", "Page 3"]
        note = ImportProblem.objects.get(stream="pages")
        assert (note.source_id, note.is_failure) == (pages[1]["id"], False)
        assert "changed in this shop" in note.reason


def test_the_final_pass_brings_everything_and_ends_the_import(importer: StoreImporter) -> None:
    fill_store(importer.source)
    importer.run()
    page = importer.source.get("pages.json", handle="shipping").json()["pages"][0]
    metafield = importer.source.get(f"pages/{page['id']}/metafields.json").json()["metafields"][0]
    delete(importer.source, f"metafields/{metafield['id']}")
    delete(importer.source, f"pages/{get_all(importer.source, 'pages')[0]['id']}")

    output = importer.run("--final")

    behind = re.search(r"The shop was ([0-9.]+) seconds behind the store", output)
    assert behind is not None
    assert float(behind[1]) < 30
    importer.run("--verify")
    with pytest.raises(CommandError, match=r"ended on .* import_store --reopen"):
        importer.run("--follow")
    with pytest.raises(CommandError, match="ended on"):
        importer.run()
    importer.run("--reopen")


def test_the_final_pass_is_not_behind_by_an_interrupted_one(importer: StoreImporter) -> None:
    post(importer.source, "pages", "page", {"title": "Terms"})
    states: list[StreamState] = []
    client = SourceClient(importer.url, importer.source.token, "shopify", get_latest_version())
    with follow(importer) as passes:
        next(passes)
    with shop_scope(importer.shop):
        store_import = StoreImport.objects.get()
        stops = Following(
            store_import=store_import, client=client, is_stopped=lambda: bool(states), on_progress=states.append
        )
        assert [result.is_complete for result in stops.follow(interval=0)] == [False]
        yesterday = timezone.now() - timedelta(days=1)
        StoreImport.objects.update(pass_started_at=yesterday)

        assert next(Following(store_import=store_import, client=client).finish()).is_complete

        assert StoreImport.objects.filter(complete_since__gt=yesterday + timedelta(hours=23)).exists()


def test_the_final_pass_finds_holds_and_removed_stock(importer: StoreImporter) -> None:
    source = importer.source
    with shop_scope(source.installation.shop):
        depot = make_location(source.installation.shop)
    product = create_product(source, stock=4)
    item_id = product["variants"][0]["inventory_item_id"]
    stock = {"inventory_item_id": item_id, "location_id": depot.pk, "available": 9}
    assert source.post("inventory_levels/set.json", stock).status_code == 200
    order = create_order(source, {"variant_id": product["variants"][0]["id"], "quantity": 2})
    importer.run()
    (waiting,) = source.get(f"orders/{order['id']}/fulfillment_orders.json").json()["fulfillment_orders"]
    hold = {"fulfillment_hold": {"reason": "awaiting_payment"}}
    assert source.post(f"fulfillment_orders/{waiting['id']}/hold.json", hold).status_code == 200
    level = f"inventory_levels.json?inventory_item_id={item_id}&location_id={depot.pk}"
    assert source.delete(level).status_code == 200
    with shop_scope(source.installation.shop):
        # The store does not note them as changes of the order and of the product.
        past = timezone.now() - timedelta(days=1)
        Order.objects.filter(pk=order["id"]).update(updated_at=past)
        Product.objects.filter(pk=product["id"]).update(updated_at=past)
        InventoryLevel.objects.update(updated_at=past)

    importer.run("--final")

    with shop_scope(importer.shop):
        assert FulfillmentOrder.objects.get().status == "on_hold"
        assert dict(InventoryLevel.objects.values_list("location__name", "available"))["Depot"] == 0


def test_a_final_pass_without_metafields_reads_changed_objects(importer: StoreImporter, proxy: FaultyProxy) -> None:
    unchanged, changed = (create_product(importer.source, title=title) for title in ("Mug", "Table"))
    importer.run()
    with shop_scope(importer.source.installation.shop):
        Product.objects.filter(pk=unchanged["id"]).update(updated_at=timezone.now() - timedelta(days=1))
    add_metafield(importer.source, f"products/{changed['id']}", "single_line_text_field", "Wash")
    assert importer.source.put(f"products/{changed['id']}.json", {"product": {"title": "Stool"}}).status_code == 200
    with pytest.raises(CommandError, match="--skip-metafields needs --final"):
        importer.run("--skip-metafields")
    proxy.paths.clear()

    importer.run("--final", "--skip-metafields")

    owners = {match[1] for path in proxy.paths if (match := re.search(r"products/(\d+)/metafields\.json", path))}
    assert owners == {str(changed["id"])}
    with shop_scope(importer.shop):
        assert Metafield.objects.get().value == "Wash"


def test_following_survives_a_kill_and_ends_cleanly_on_a_signal(
    importer: StoreImporter, proxy: FaultyProxy, server: LiveServer
) -> None:
    fill_store(importer.source)
    importer.run()
    product = get_all(importer.source, "products")[0]
    assert importer.source.put(f"products/{product['id']}.json", {"product": {"title": "Stool"}}).status_code == 200
    delete(importer.source, f"pages/{get_all(importer.source, 'pages')[0]['id']}")
    environment = {**server.env, "BACKOFFICE_BASE_URL": "http://127.0.0.1:1"}
    command = [sys.executable, "manage.py", "import_store", *importer.get_arguments(), "--follow", "--interval", "0"]
    start = len(proxy.paths)
    proxy.choose_fault = lambda number: HELD if number >= start + 12 else OK
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.DEVNULL)
    assert proxy.is_holding.wait(120)
    process.kill()
    process.wait(30)
    proxy.choose_fault = lambda number: OK
    with shop_scope(importer.shop):
        assert StoreImport.objects.filter(state="running").update(claimed_until=None) == 1

    again = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True)
    assert again.stdout is not None
    for line in again.stdout:
        if "1 deleted" in line:
            break
    again.send_signal(signal.SIGTERM)
    output = again.communicate(timeout=60)[0]

    assert again.returncode == 0
    assert "Stopped." in output
    assert describe_store(importer.target) == describe_store(importer.source)
    with shop_scope(importer.shop):
        assert StoreImport.objects.get().claim is None
