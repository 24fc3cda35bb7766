"""Fill a store with one or a few objects of each kind that an import reads, through the REST API."""

from tests.support.api_client import ApiClient
from tests.support.factories.catalog import ATTACHMENT
from tests.support.types import Json, JsonObject


def post(api: ApiClient, path: str, name: str, body: JsonObject) -> Json:
    response = api.post(f"{path}.json", {name: body})
    assert response.status_code in {200, 201}, response.content
    return response.json()[name]


def build_variant(number: int, **values: object) -> JsonObject:
    return {
        "price": "12.50",
        "compare_at_price": "20.00",
        "barcode": f"40000{number}",
        "weight": 1.25,
        "weight_unit": "lb",
        "taxable": False,
        "inventory_management": "platform",
        "inventory_policy": "continue",
        **values,
    }


def fill_store(api: ApiClient) -> None:
    """Create a few objects of each kind, and metafields that refer to other objects."""
    products = [
        post(api, "products", "product", {
            "title": f"Chair {number}",
            "handle": f"seat-{number}",
            "body_html": "<p>Oak</p>",
            "vendor": "Oakwright",
            "product_type": "Chairs",
            "tags": "oak, new",
            "status": "active" if number else "draft",
            "options": [{"name": "Color"}, {"name": "Size"}],
            "variants": [
                build_variant(number, option1="Red", option2="S", sku=f"R-{number}"),
                build_variant(number, option1="Blue", option2="M", sku=f"B-{number}", price="13.00"),
            ],
            "images": [{"attachment": ATTACHMENT, "alt": f"Chair {number}", "filename": f"chair-{number}.png"}],
        })
        for number in range(5)
    ]  # fmt: skip
    for number, product in enumerate(products):
        variants, image = product["variants"], product["images"][0]
        for variant in variants:
            _count_item(api, variant["inventory_item_id"], 3 + number)
        response = api.put(f"variants/{variants[1]['id']}.json", {"variant": {"image_id": image["id"]}})
        assert response.status_code == 200
    ids = [product["id"] for product in reversed(products)]
    custom = post(api, "custom_collections", "custom_collection", {
        "title": "Best", "body_html": "The best", "sort_order": "manual", "published": False,
        "image": {"attachment": ATTACHMENT, "alt": "Best", "filename": "best.png"},
        "collects": [{"product_id": pk} for pk in ids[:3]],
    })  # fmt: skip
    post(api, "smart_collections", "smart_collection", {
        "title": "Oak", "disjunctive": True,
        "rules": [
            {"column": "tag", "relation": "equals", "condition": "oak"},
            {"column": "variant_price", "relation": "greater_than", "condition": "10"},
        ],
    })  # fmt: skip
    for number in range(5):
        _create_customer(api, number)
    for title, published in (("About", True), ("Imprint", False), ("Shipping", True)):
        body = {"title": title, "body_html": f"<p>{title}</p>", "author": "Ada", "published": published}
        page = post(api, "pages", "page", body)
        post(api, "redirects", "redirect", {"path": f"/old-{title.lower()}", "target": f"/pages/{page['handle']}"})
    add_metafield(api, f"pages/{page['id']}", "single_line_text_field", "Legal")
    add_metafield(api, f"products/{ids[0]}", "product_reference", f"gid://platform/Product/{ids[-1]}")
    add_metafield(api, f"collections/{custom['id']}", "single_line_text_field", "Top")
    customer = api.get("customers.json", limit=1).json()["customers"][0]
    add_metafield(api, f"customers/{customer['id']}", "json", '{"size":[1,2]}')


def add_metafield(api: ApiClient, owner: str, kind: str, value: str) -> None:
    body = {"namespace": "facts", "key": "about", "type": kind, "value": value}
    post(api, f"{owner}/metafields", "metafield", body)


def _count_item(api: ApiClient, item_id: int, available: int) -> None:
    location_id = api.get("locations.json").json()["locations"][0]["id"]
    body = {"inventory_item_id": item_id, "location_id": location_id, "available": available}
    assert api.post("inventory_levels/set.json", body).status_code == 200
    item = {"cost": "4.20", "country_code_of_origin": "DE", "harmonized_system_code": "940161"}
    assert api.put(f"inventory_items/{item_id}.json", {"inventory_item": item}).status_code == 200


def _create_customer(api: ApiClient, number: int) -> None:
    address = {"address1": f"{number} Main Street", "city": "Berlin", "zip": "10115", "country_code": "DE"}
    body: JsonObject = {
        "first_name": "Ada", "last_name": f"Number {number}", "note": "Rings twice", "tags": "vip",
        # All customers have the same phone number in their address, and the last has no contact of its own.
        "addresses": [{**address, "phone": "+49 30 1234567"}, {**address, "address1": "Side Street"}],
        **({"email": f"ada-{number}@example.com", "verified_email": True} if number < 4 else {}),
    }  # fmt: skip
    if number < 2:
        body["email_marketing_consent"] = {
            "state": "subscribed", "opt_in_level": "confirmed_opt_in", "consent_updated_at": "2024-05-06T07:08:09Z",
        }  # fmt: skip
    post(api, "customers", "customer", body)


# Members that differ in each shop, or that the report of an import lists as limits.
_DIFFERENT = {"id", "created_at", "updated_at", "admin_graphql_api_id", "src", "current_total_price_set"}


def _remove_ids(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            name: _remove_ids(item)
            for name, item in value.items()
            if name not in _DIFFERENT and not name.endswith(("_id", "_ids"))
        }
    return [_remove_ids(item) for item in value] if isinstance(value, list) else value


def describe_store(api: ApiClient) -> JsonObject:
    """Return everything that an import brings, without ids and times."""
    store: JsonObject = {}
    titles = {}
    for product in api.get("products.json", limit=250).json()["products"]:
        titles[product["id"]] = product["handle"]
        item_ids = [variant["inventory_item_id"] for variant in product["variants"]]
        ids = ",".join(map(str, item_ids))
        levels = api.get("inventory_levels.json", inventory_item_ids=ids).json()["inventory_levels"]
        items = api.get("inventory_items.json", ids=ids).json()["inventory_items"]
        images = {image["id"]: image["position"] for image in product["images"]}
        store[product["handle"]] = {
            **_remove_ids(product),
            "images of variants": [images.get(variant["image_id"]) for variant in product["variants"]],
            "items": sorted((_remove_ids(item) for item in items), key=str),
            "levels": [sorted(row["available"] for row in levels if row["inventory_item_id"] == pk) for pk in item_ids],
        }
    for kind in ("custom_collections", "smart_collections"):
        for collection in api.get(f"{kind}.json", limit=250).json()[kind]:
            collects = api.get("collects.json", collection_id=collection["id"], limit=250).json()["collects"]
            members = [titles[row["product_id"]] for row in sorted(collects, key=lambda row: row["position"])]
            published = {"published_at": bool(collection["published_at"])}
            store[collection["handle"]] = {**_remove_ids(collection), **published, "members": members}
    for customer in api.get("customers.json", limit=250).json()["customers"]:
        created = {"created_at": customer["created_at"]}
        store[customer["last_name"]] = {**_remove_ids(customer), **created}
    for page in api.get("pages.json", limit=250).json()["pages"]:
        store[page["handle"]] = _remove_ids(page)
    for redirect in api.get("redirects.json", limit=250).json()["redirects"]:
        store[redirect["path"]] = _remove_ids(redirect)
    return store
