"""Tests with requests exactly as existing clients send them."""

from unittest.mock import patch

import pytest
from django.test import Client

from apps.catalog.models import Collection
from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import VERSION, ApiClient
from tests.support.factories.catalog import make_image, make_product, make_smart
from tests.support.types import JsonObject


def test_products_of_a_smart_collection_are_listed_below_either_name(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))
        smart = make_smart("Cheap", ("variant_price", "less_than", "5"))
        custom = Collection.objects.exclude(pk=smart.pk).first()

    below = [api.get(f"{name}/{smart.pk}/products.json").json() for name in ("collections", "smart_collections")]

    assert below[0] == below[1]
    assert [row["id"] for row in below[0]["products"]] == [product.pk]
    assert custom is not None
    assert api.get(f"smart_collections/{custom.pk}/products.json").status_code == 404


@pytest.mark.parametrize("path", ["/admin/shop.json", "/admin/articles/tags.json", "/admin/products/count.json"])
def test_an_address_without_a_version_is_served_by_the_oldest(api: ApiClient, path: str) -> None:
    response = api.http.get(path)

    assert response.status_code == 200
    assert response["X-Platform-API-Version"] == "2024-10"


def test_paths_without_a_version_create_find_and_page_objects(api: ApiClient) -> None:
    created = [
        api.http.post("/admin/products.json", {"product": {"title": title}}, content_type="application/json")
        for title in ("A", "B")
    ]

    assert [response.status_code for response in created] == [201, 201]
    assert api.http.get(created[0]["Location"].removeprefix("http://127.0.0.1:8000")).json() == created[0].json()
    first = api.http.get("/admin/products.json?limit=1")
    link = first["Link"].partition(">")[0].removeprefix("<http://127.0.0.1:8000")
    assert api.http.get(link).json()["products"][0]["title"] == "B"


@pytest.mark.parametrize("path", ["nothing.json", "login.json", ".json", "shops/1/change.json", "x/y.json"])
def test_json_urls_below_admin_never_return_html(db: None, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        response = Client().generic(method, f"/admin/{path}")

        assert (response.status_code, response["Content-Type"]) == (404, "application/json; charset=utf-8"), method
        assert response.json() == {"errors": "Not Found"}


@pytest.mark.parametrize(
    ("first", "attributes", "expected"),
    [("platform", {}, "platform"), (None, {}, None), ("platform", {"inventory_management": None}, None)],
)
def test_an_added_variant_is_counted_like_the_first_unless_stated(
    api: ApiClient, first: str | None, attributes: JsonObject, expected: str | None
) -> None:
    variant = {"option1": "S", "inventory_management": first}
    product = api.post("products.json", {"product": {"title": "Mug", "variants": [variant]}}).json()["product"]
    path = f"products/{product['id']}"

    added = api.post(f"{path}/variants.json", {"variant": {"option1": "M"} | attributes}).json()["variant"]
    variants = [product["variants"][0], {"option1": "L"} | attributes]
    updated = api.put(f"{path}.json", {"product": {"variants": variants}}).json()["product"]

    assert [row["inventory_management"] for row in (*updated["variants"], added)] == [first, expected, expected]


def test_customers_of_the_oldest_version_show_whether_they_accept_marketing(api: ApiClient) -> None:
    consent = {"state": "subscribed", "opt_in_level": "confirmed_opt_in", "consent_updated_at": "2024-01-01T00:00:00Z"}
    body = {"customer": {"email": "a@example.com", "email_marketing_consent": consent}}
    created = api.post("customers.json", body).json()["customer"]

    old = api.at("2024-10").get(f"customers/{created['id']}.json").json()["customer"]
    plain = api.at("2024-10").post("customers.json", {"customer": {"first_name": "Ann"}}).json()["customer"]
    names = ("accepts_marketing", "accepts_marketing_updated_at", "marketing_opt_in_level")

    shown_at = created["email_marketing_consent"]["consent_updated_at"]
    assert [old[name] for name in names] == [True, shown_at, "confirmed_opt_in"]
    assert [plain[name] for name in names] == [False, None, "single_opt_in"]
    assert not set(names) & created.keys()


@pytest.mark.parametrize(("version", "has_variant_ids"), [("2024-10", True), (VERSION, False)])
def test_images_of_a_collections_products_name_their_variants_in_the_oldest_version(
    api: ApiClient, shop: Shop, version: str, has_variant_ids: bool
) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))
        product.variants.update(image=make_image(product))
        variant = product.variants.get()
        smart = make_smart("Cheap", ("variant_price", "less_than", "5"))

    listed_rows = api.at(version).get(f"collections/{smart.pk}/products.json").json()["products"][0]

    for row in (*listed_rows["images"], listed_rows["image"]):
        assert row.get("variant_ids") == ([variant.pk] if has_variant_ids else None)


@pytest.fixture
def articles(api: ApiClient) -> str:
    """Create a blog and return the path of its articles."""
    return f"blogs/{api.post('blogs.json', {'blog': {'title': 'News'}}).json()['blog']['id']}/articles"


@pytest.mark.parametrize("kind", ["custom_collection", "article"])
def test_published_state_is_shown(api: ApiClient, articles: str, kind: str) -> None:
    path = articles if kind == "article" else "custom_collections"

    created = api.post(f"{path}.json", {kind: {"title": "A", "published": False}}).json()[kind]
    published = api.put(f"{path}/{created['id']}.json", {kind: {"published": True}}).json()[kind]
    unpublished = api.put(f"{path}/{created['id']}.json", {kind: published | {"published": False}}).json()[kind]

    assert [(row["published"], row["published_at"] is None) for row in (created, published, unpublished)] == [
        (False, True),
        (True, False),
        (False, True),
    ]


def test_article_sent_back_with_one_change_is_published_as_the_change_says(api: ApiClient, articles: str) -> None:
    unpublished = api.post(f"{articles}.json", {"article": {"title": "A", "published": False}}).json()["article"]
    own = f"{articles}/{unpublished['id']}.json"

    dated = api.put(own, {"article": unpublished | {"published_at": "2024-01-01T00:00:00-05:00"}}).json()["article"]
    undated = api.put(own, {"article": dated | {"published_at": None}}).json()["article"]

    assert (dated["published"], dated["published_at"]) == (True, "2024-01-01T00:00:00-05:00")
    assert (undated["published"], undated["published_at"]) == (False, None)


def test_a_blank_template_suffix_is_none(api: ApiClient) -> None:
    blog = api.post("blogs.json", {"blog": {"title": "News", "template_suffix": ""}}).json()["blog"]
    path, body = f"blogs/{blog['id']}", {"article": {"title": "A", "template_suffix": ""}}
    article = api.post(f"{path}/articles.json", body).json()["article"]
    changed = [api.put(f"{path}.json", {"blog": {"template_suffix": text}}).json()["blog"] for text in ("x", "")]

    assert [row["template_suffix"] for row in (blog, article, *changed)] == [None, None, "x", None]


def test_https_in_capitals_is_https(api: ApiClient) -> None:
    body = {"script_tag": {"src": "HTTPS://a.example/A.js", "event": "onload"}}

    created = api.post("script_tags.json", body)

    assert (created.status_code, created.json()["script_tag"]["src"]) == (201, "https://a.example/A.js")


def test_events_of_collections_say_how_many_products_they_have(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product()

    with patch.dict(audiences, {lambda shop, topic: frozenset({VERSION}): None}):
        body = {"custom_collection": {"title": "Bags", "collects": [{"product_id": product.pk}]}}
        created = api.post("custom_collections.json", body).json()["custom_collection"]

    with shop_scope(shop):
        payload = Event.objects.get(topic="collections/create").payload
    collection = api.get(f"collections/{created['id']}.json").json()["collection"]
    assert payload == {VERSION: collection}
    assert collection["products_count"] == 1
