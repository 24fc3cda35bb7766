"""Tests for product and collection listings: an app's own sales channel, and the events about it."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from django.utils import timezone

from apps.catalog.domain import products
from apps.catalog.models import CollectionListing, Product, ProductListing
from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.events.topics import topics
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain import app_installation
from tests.support.api_client import ApiClient, ClientWith
from tests.support.factories.catalog import ATTACHMENT, make_custom, make_product
from tests.support.types import JsonObject
from tests.support.wire_tables import find_misfits, get_routes


@pytest.fixture
def other_api(client_with: ClientWith) -> ApiClient:
    return client_with("write_product_listings", "read_products")


@pytest.fixture
def product(shop: Shop) -> Product:
    with shop_scope(shop):
        return make_product(
            "Mug", prices=("10.00", "12.00"), body_html="<p>Blue.</p>", tags="a, b", product_type="Cups"
        )


@pytest.fixture
def listened() -> Iterator[None]:
    with patch.dict(audiences, {lambda shop, topic: frozenset({"2026-10"}): None}):
        yield


def publish(api: ApiClient, kind: str, pk: int) -> JsonObject:
    response = api.put(f"{kind}_listings/{pk}.json", {f"{kind}_listing": {f"{kind}_id": pk}})
    assert response.status_code == 200, response.content
    return response.json()[f"{kind}_listing"]


def get_events(shop: Shop) -> list[tuple[str, JsonObject]]:
    with shop_scope(shop):
        rows = Event.objects.filter(topic__contains="_listings/").order_by("pk")
        return [(row.topic, row.payload["2026-10"]) for row in rows if row.payload is not None]


def test_listings_fit_the_tables(api: ApiClient, product: Product) -> None:
    body = {
        "title": "Kitchen",
        "body_html": "",
        "image": {"attachment": ATTACHMENT},
        "collects": [{"product_id": product.pk}],
    }
    collection_id = api.post("custom_collections.json", {"custom_collection": body}).json()["custom_collection"]["id"]
    codes = {"sku": "MUG", "barcode": "400001", "inventory_management": "own", "inventory_policy": "continue"}
    for variant in api.get(f"products/{product.pk}.json").json()["product"]["variants"]:
        api.put(f"variants/{variant['id']}.json", {"variant": codes})
    listing = publish(api, "product", product.pk)
    publish(api, "collection", collection_id)

    for resource, pk in (("product_listing", product.pk), ("collection_listing", collection_id)):
        for route in get_routes(resource):
            method, path = route.split(" ")
            if method in {"GET", "PUT"}:
                where = path.replace("{id}", str(pk))
                response = api.get(where) if method == "GET" else api.put(where, {resource: {}})
                assert find_misfits(resource, route, response.json()) == []
    first = listing["variants"][0]
    assert (listing["available"], first["formatted_price"], first["price"]) == (True, "$10.00", "10.00")
    option = listing["options"][0]
    assert first["option_values"] == [{"option_id": option["id"], "name": "Size", "value": "1"}]
    assert api.get(f"collection_listings/{collection_id}/product_ids.json").json() == {"product_ids": [product.pk]}


def test_each_app_sees_only_its_own_listings(api: ApiClient, other_api: ApiClient, product: Product) -> None:
    publish(api, "product", product.pk)

    assert other_api.get("product_listings.json").json() == {"product_listings": []}
    assert other_api.get("product_listings/count.json").json() == {"count": 0}
    assert other_api.get("product_listings/product_ids.json").json() == {"product_ids": []}
    assert other_api.get(f"product_listings/{product.pk}.json").status_code == 404
    assert other_api.delete(f"product_listings/{product.pk}.json").status_code == 404
    assert api.get("product_listings/count.json").json() == {"count": 1}


def test_publishing_twice_keeps_the_first_date(api: ApiClient, shop: Shop, product: Product) -> None:
    first = publish(api, "product", product.pk)

    assert publish(api, "product", product.pk)["published_at"] == first["published_at"]
    with shop_scope(shop):
        assert ProductListing.objects.count() == 1


def test_drafts_are_not_listed(api: ApiClient, shop: Shop, product: Product) -> None:
    publish(api, "product", product.pk)

    api.put(f"products/{product.pk}.json", {"product": {"status": "draft"}})

    assert api.get("product_listings.json").json() == {"product_listings": []}
    with shop_scope(shop):
        draft = make_product("Draft", status="draft")
    response = api.put(f"product_listings/{draft.pk}.json", {"product_listing": {}})
    assert response.status_code == 404
    with shop_scope(shop):
        assert not ProductListing.objects.filter(product=draft).exists()


def test_fields_and_filters_limit_the_list(api: ApiClient, shop: Shop, product: Product) -> None:
    with shop_scope(shop):
        others = [make_product(f"Plate {number}") for number in range(3)]
    for row in (product, *others):
        publish(api, "product", row.pk)

    assert api.get("product_listings.json", fields="title,published_at", limit=1).json()["product_listings"] == [
        {
            "title": "Mug",
            "published_at": api.get(f"product_listings/{product.pk}.json").json()["product_listing"]["published_at"],
        }
    ]
    found = api.get("product_listings.json", product_ids=f"{others[0].pk},{others[2].pk}", fields="product_id")
    assert found.json()["product_listings"] == [{"product_id": others[0].pk}, {"product_id": others[2].pk}]
    assert len(api.get("product_listings.json", handle="mug").json()["product_listings"]) == 1
    page = api.get("product_listings/product_ids.json", limit=3)
    assert page.json()["product_ids"] == [product.pk, others[0].pk, others[1].pk]
    assert 'rel="next"' in page["Link"]


@pytest.mark.usefixtures("listened")
def test_apps_learn_of_each_change_of_their_listings(api: ApiClient, shop: Shop, product: Product) -> None:
    path = f"products/{product.pk}.json"

    publish(api, "product", product.pk)
    api.put(path, {"product": {"title": "Cup"}})
    api.put(path, {"product": {"status": "archived"}})
    api.put(path, {"product": {"title": "Beaker"}})
    api.put(path, {"product": {"status": "active"}})
    api.delete(path)

    events = get_events(shop)
    assert [(topic, payload["product_listing"].get("title")) for topic, payload in events] == [
        ("product_listings/add", "Mug"),
        ("product_listings/update", "Cup"),
        ("product_listings/remove", None),
        ("product_listings/add", "Beaker"),
        ("product_listings/remove", None),
    ]
    assert events[-1][1]["product_listing"] == {"product_id": product.pk}
    assert {payload["app_id"] for _, payload in events} == {api.installation.app_id}


@pytest.mark.usefixtures("listened")
def test_apps_learn_of_changes_of_listed_collections(api: ApiClient, shop: Shop, product: Product) -> None:
    with shop_scope(shop):
        collection = make_custom("Kitchen", product, body_html="")
    publish(api, "collection", collection.pk)

    api.put(f"custom_collections/{collection.pk}.json", {"custom_collection": {"title": "Table"}})
    api.delete(f"collection_listings/{collection.pk}.json")
    publish(api, "collection", collection.pk)
    api.delete(f"custom_collections/{collection.pk}.json")

    assert [(topic, payload["collection_listing"].get("title")) for topic, payload in get_events(shop)] == [
        ("collection_listings/add", "Kitchen"),
        ("collection_listings/update", "Table"),
        ("collection_listings/remove", None),
        ("collection_listings/add", "Table"),
        ("collection_listings/remove", None),
    ]
    with shop_scope(shop):
        assert not CollectionListing.objects.exists()


def test_other_apps_do_not_receive_the_events() -> None:
    is_allowed = topics["product_listings/update"].is_allowed

    assert is_allowed is not None
    assert is_allowed({"app_id": 4}, 4, ())
    assert not is_allowed({"app_id": 4}, 5, ())


def test_changes_of_unlisted_products_record_no_listing_events(api: ApiClient, shop: Shop, product: Product) -> None:
    api.put(f"products/{product.pk}.json", {"product": {"title": "Cup"}})

    assert get_events(shop) == []


def test_uninstalling_an_app_deletes_its_listings(api: ApiClient, shop: Shop, product: Product) -> None:
    publish(api, "product", product.pk)

    app_installation.uninstall_app(api.installation, actor="system", at=timezone.now())

    with shop_scope(shop):
        assert not ProductListing.objects.exists()
        products.delete_product(product, actor="system", at=timezone.now())


def test_publishing_needs_the_scope(client_with: ClientWith, product: Product) -> None:
    reader = client_with("read_product_listings")

    assert reader.put(f"product_listings/{product.pk}.json", {"product_listing": {}}).status_code == 403
    assert client_with("write_products").get("product_listings.json").status_code == 403
