import pytest

from apps.core.tenancy.models import Shop
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import ATTACHMENT
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits, get_routes

RULES = [{"column": "title", "relation": "contains", "condition": "bag"}]


@pytest.fixture
def product(api: ApiClient) -> JsonObject:
    body = {
        "title": "Canvas bag",
        "body_html": "<p>Strong.</p>",
        "vendor": "Weavers",
        "product_type": "Bags",
        "status": "active",
        "tags": ["summer", "Canvas"],
        "published": True,
        "options": [{"name": "Colour", "values": ["Sand", "Olive"]}],
        "variants": [
            {"option1": "Sand", "price": "19.90", "sku": "CB-S", "barcode": "400001", "inventory_management": "own"},
            {"option1": "Olive", "price": "21.90", "sku": "CB-O", "barcode": "400002", "inventory_management": "own"},
        ],
        "images": [{"attachment": ATTACHMENT, "filename": "bag.png"}],
        "metafields": [{"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "cold"}],
    }
    response = api.post("products.json", {"product": body})
    assert response.status_code == 201, response.content
    new_product = response.json()["product"]
    variant_ids = [new_product["variants"][0]["id"]]
    image_id = new_product["images"][0]["id"]
    api.put(f"products/{new_product['id']}/images/{image_id}.json", {"image": {"variant_ids": variant_ids}})
    return api.get(f"products/{new_product['id']}.json").json()["product"]


def build_collection_body(**fields: object) -> JsonObject:
    return {"title": "Bags", "body_html": "<p>All.</p>", "image": {"attachment": ATTACHMENT, "alt": "Bags"}, **fields}


def test_products_fit_the_table(api: ApiClient, product: JsonObject) -> None:
    path = f"products/{product['id']}.json"

    assert_fits("product", "GET /products.json", api.get("products.json").json())
    assert_fits("product", "GET /products/count.json", api.get("products/count.json").json())
    assert_fits("product", "GET /products/{id}.json", api.get(path).json())
    changed = api.put(path, {"product": {"id": product["id"], "title": "Bag", "tags": "a, b"}})
    assert_fits("product", "PUT /products/{id}.json", changed.json())
    response = api.post("products.json", {"product": {"title": "Cup", "body_html": "", "published": False}})
    assert_fits("product", "POST /products.json", response.json())
    assert api.delete(path).json() == {}
    assert len(get_routes("product")) == 6


def test_variants_fit_the_table(api: ApiClient, product: JsonObject) -> None:
    below = f"products/{product['id']}/variants"
    alone = f"variants/{product['variants'][0]['id']}.json"
    new = {"variant": {"option1": "Rust", "price": "1.00", "inventory_management": "own"}}

    assert_fits("variant", "GET /products/{id}/variants.json", api.get(f"{below}.json").json())
    assert_fits("variant", "GET /products/{id}/variants/count.json", api.get(f"{below}/count.json").json())
    assert_fits("variant", "GET /variants/{id}.json", api.get(alone).json())
    assert_fits("variant", "PUT /variants/{id}.json", api.put(alone, {"variant": {"price": "2.00"}}).json())
    response = api.post(f"{below}.json", new)
    assert_fits("variant", "POST /products/{id}/variants.json", response.json())
    assert api.delete(f"{below}/{response.json()['variant']['id']}.json").json() == {}
    assert len(get_routes("variant")) == 6


def test_images_fit_the_table(api: ApiClient, product: JsonObject) -> None:
    below = f"products/{product['id']}/images"
    path = f"{below}/{product['images'][0]['id']}.json"

    assert_fits("image", "GET /products/{id}/images.json", api.get(f"{below}.json").json())
    assert_fits("image", "GET /products/{id}/images/count.json", api.get(f"{below}/count.json").json())
    assert_fits("image", "GET /products/{id}/images/{id}.json", api.get(path).json())
    assert_fits("image", "PUT /products/{id}/images/{id}.json", api.put(path, {"image": {"alt": "Bag"}}).json())
    response = api.post(f"{below}.json", {"image": {"attachment": ATTACHMENT, "position": 1}})
    assert_fits("image", "POST /products/{id}/images.json", response.json())
    assert api.delete(path).json() == {}
    assert len(get_routes("image")) == 6


@pytest.mark.parametrize("kind", ["custom", "smart"])
def test_collections_fit_the_table(api: ApiClient, product: JsonObject, kind: str) -> None:
    plural, singular = f"{kind}_collections", f"{kind}_collection"
    extra = {"collects": [{"product_id": product["id"]}]} if kind == "custom" else {"rules": RULES}

    response = api.post(f"{plural}.json", {singular: build_collection_body(**extra)})

    assert response.status_code == 201, response.content
    path = f"{plural}/{response.json()[singular]['id']}.json"
    assert_fits(singular, f"POST /{plural}.json", response.json())
    assert_fits(singular, f"GET /{plural}/count.json", api.get(f"{plural}/count.json").json())
    assert_fits(singular, f"GET /{plural}/{{id}}.json", api.get(path).json())
    changed = api.put(path, {singular: response.json()[singular] | {"published": True}})
    assert_fits(singular, f"PUT /{plural}/{{id}}.json", changed.json())
    if kind == "custom":
        frontpage = api.get(f"{plural}.json", handle="frontpage").json()[plural][0]
        api.put(f"{plural}/{frontpage['id']}.json", {singular: {"image": build_collection_body()["image"]}})
    assert_fits(singular, f"GET /{plural}.json", api.get(f"{plural}.json").json())
    ordered = api.put(f"smart_collections/{response.json()[singular]['id']}/order.json?sort_order=manual")
    assert ordered.status_code == (200 if kind == "smart" else 404)
    assert api.delete(path).json() == {}
    assert len(get_routes(singular)) == (6 if kind == "custom" else 7)


def test_the_view_on_collections_fits_the_table(api: ApiClient, product: JsonObject) -> None:
    body = api.post("smart_collections.json", {"smart_collection": build_collection_body(rules=RULES)}).json()
    path = f"collections/{body['smart_collection']['id']}"

    assert_fits("collection", "GET /collections/{id}.json", api.get(f"{path}.json").json())
    listed_body = api.get(f"{path}/products.json").json()
    assert_fits("collection", "GET /collections/{id}/products.json", listed_body)
    assert [item["status"] for item in listed_body["products"]] == ["active"]
    assert len(get_routes("collection")) == 2


def test_collects_fit_the_table(api: ApiClient, shop: Shop, product: JsonObject) -> None:
    frontpage = api.get("custom_collections.json").json()["custom_collections"][0]
    response = api.post("collects.json", {"collect": {"product_id": product["id"], "collection_id": frontpage["id"]}})

    assert response.status_code == 201, response.content
    path = f"collects/{response.json()['collect']['id']}.json"
    assert_fits("collect", "POST /collects.json", response.json())
    assert_fits("collect", "GET /collects.json", api.get("collects.json").json())
    assert_fits("collect", "GET /collects/count.json", api.get("collects/count.json").json())
    assert_fits("collect", "GET /collects/{id}.json", api.get(path).json())
    assert api.delete(path).json() == {}
    assert len(get_routes("collect")) == 5
