import pytest

from apps.catalog.models import Collect, Collection, Product
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.catalog import ATTACHMENT, make_custom, make_product, make_smart
from tests.support.types import JsonObject


def get_positions(collection_id: int) -> list[tuple[int, int]]:
    rows = Collect.objects.filter(collection_id=collection_id).order_by("position", "id")
    return list(rows.values_list("product_id", "position"))


def test_a_new_shop_has_the_frontpage_and_nothing_else(api: ApiClient) -> None:
    custom_collections = api.get("custom_collections.json").json()["custom_collections"]

    assert [(row["handle"], row["title"], row["sort_order"]) for row in custom_collections] == [
        ("frontpage", "Home page", "best-selling")
    ]
    assert api.get("smart_collections/count.json").json() == {"count": 0}


def post_collection(api: ApiClient, **fields: object) -> Response:
    return api.post("custom_collections.json", {"custom_collection": {"title": "Kitchen", **fields}})


def put_image(api: ApiClient, collection: JsonObject, image: object) -> JsonObject:
    body = {"custom_collection": {"image": image}}
    return api.put(f"custom_collections/{collection['id']}.json", body).json()["custom_collection"].get("image")


def test_create_puts_products_in_and_shows_the_picture(api: ApiClient, in_shop: Shop) -> None:
    first, second = make_product("A"), make_product("B")
    body = {
        "title": "Küche",
        "published": False,
        "image": {"attachment": ATTACHMENT, "alt": "Pots", "filename": "pots.png"},
        "collects": [{"product_id": first.pk}, {"product_id": second.pk, "position": 1}],
        "metafields": [{"namespace": "seo", "key": "line", "type": "single_line_text_field", "value": "Pots"}],
    }

    response = post_collection(api, **body)

    assert response.status_code == 201
    row = response.json()["custom_collection"]
    assert (row["handle"], row["published_at"], row["published_scope"]) == ("kuche", None, "web")
    assert (row["image"]["alt"], row["image"]["width"], row["image"]["height"]) == ("Pots", 40, 20)
    assert row["image"]["src"].endswith("/pots.png")
    assert api.get(f"custom_collections/{row['id']}.json").json()["custom_collection"]["products_count"] == 2
    assert get_positions(row["id"]) == [(second.pk, 1), (first.pk, 2)]
    assert Event.objects.get(topic="collections/create").subject_id == row["id"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": "x" * 256}, "title"),
        ({"handle": "x" * 256}, "handle"),
        ({"sort_order": "random"}, "sort_order"),
        ({"body_html": "<" * 10_001}, "body_html"),
        ({"image": "x"}, "image"),
        ({"image": {"attachment": "%"}}, "attachment"),
        ({"image": {"src": "https://127.0.0.1/a.png"}}, "image"),
        ({"collects": "x"}, "collects"),
        ({"collects": [{}]}, "collects.0.product_id"),
        ({"collects": [{"product_id": "x"}]}, "collects.0.product_id"),
        ({"collects": [{"product_id": 10**12}]}, "product_id"),
    ],
)
def test_invalid_values_are_refused(api: ApiClient, fields: JsonObject, field: str) -> None:
    assert list(get_errors(post_collection(api, **fields))) == [field]
    assert api.get("custom_collections/count.json").json() == {"count": 1}


def test_update_keeps_the_products_that_it_does_not_name(api: ApiClient, in_shop: Shop) -> None:
    first, second, third = (make_product(title) for title in "ABC")
    collection = make_custom("Kitchen", first, second)
    collects = [{"product_id": third.pk}, {"id": Collect.objects.get(product=second).pk, "position": 1}]

    response = api.put(f"custom_collections/{collection.pk}.json", {"custom_collection": {"collects": collects}})

    assert response.status_code == 200
    assert get_positions(collection.pk) == [(second.pk, 1), (first.pk, 2), (third.pk, 3)]


@pytest.mark.parametrize("sent_back", [("src",), ("src", "created_at", "width", "height")])
def test_the_address_of_its_own_picture_is_no_new_picture(api: ApiClient, sent_back: tuple[str, ...]) -> None:
    collection = post_collection(api, image={"attachment": ATTACHMENT, "alt": "before"}).json()["custom_collection"]

    changed = put_image(api, collection, {name: collection["image"][name] for name in sent_back} | {"alt": "after"})

    assert changed == collection["image"] | {"alt": "after"}


def test_collects_of_a_body_are_placed_at_their_positions(api: ApiClient, in_shop: Shop) -> None:
    mugs = [make_product(f"Mug {number}").pk for number in range(3)]

    response = post_collection(
        api, collects=[{"product_id": pk, "position": 3 - index} for index, pk in enumerate(mugs)]
    )

    assert get_positions(response.json()["custom_collection"]["id"]) == [(mugs[2], 1), (mugs[1], 2), (mugs[0], 3)]


def test_the_picture_goes_with_a_blank_and_stays_without_a_word(api: ApiClient) -> None:
    collection = post_collection(api, image={"attachment": ATTACHMENT}).json()["custom_collection"]

    renamed = api.put(f"custom_collections/{collection['id']}.json", {"custom_collection": {"title": "K"}})
    described = put_image(api, collection, {"alt": "Pots"})
    sent_back = put_image(api, collection, described)

    assert renamed.json()["custom_collection"]["image"] == collection["image"]
    assert described == sent_back == collection["image"] | {"alt": "Pots"}
    assert put_image(api, collection, "") is None


def test_lists_are_by_title_and_narrowed(api: ApiClient, in_shop: Shop) -> None:
    mug, bag = make_product("Mug"), make_product("Bag")
    kitchen, attic = make_custom("Kitchen", mug), make_custom("Attic", bag, published_at=None)
    mugs = make_smart("Mugs", ("title", "contains", "mug"))
    make_smart("Bags", ("title", "contains", "bag"))

    def titles(plural: str, **query: object) -> list[str]:
        matching_titles = [row["title"] for row in api.get(f"{plural}.json", **query).json()[plural]]
        assert api.get(f"{plural}/count.json", **query).json()["count"] == len(matching_titles)
        return matching_titles

    assert titles("custom_collections") == ["Attic", "Home page", "Kitchen"]
    assert titles("custom_collections", product_id=mug.pk) == ["Kitchen"]
    assert titles("custom_collections", published_status="unpublished") == ["Attic"]
    assert titles("custom_collections", ids=f"{kitchen.pk},{mugs.pk}") == ["Kitchen"]
    assert titles("custom_collections", handle="attic") == ["Attic"]
    assert titles("smart_collections", product_id=mug.pk) == ["Mugs"]
    assert titles("smart_collections", product_id=10**12) == []
    by_id = api.get("custom_collections.json", since_id=kitchen.pk).json()["custom_collections"]
    assert [row["id"] for row in by_id] == [attic.pk]


def test_each_kind_answers_under_its_own_address_only(api: ApiClient, in_shop: Shop) -> None:
    custom, smart = make_custom("Kitchen"), make_smart("Mugs", ("title", "contains", "mug"))

    assert api.get(f"custom_collections/{smart.pk}.json").status_code == 404
    assert api.get(f"smart_collections/{custom.pk}.json").status_code == 404
    assert api.get(f"collections/{custom.pk}.json").json()["collection"]["collection_type"] == "custom"
    assert api.get(f"collections/{smart.pk}.json").json()["collection"]["collection_type"] == "smart"
    collection = api.get(f"collections/{smart.pk}.json", fields="products_count").json()["collection"]
    assert collection == {"products_count": 0}


def test_collects_are_dense_and_known_once(api: ApiClient, in_shop: Shop) -> None:
    first, second = make_product("A"), make_product("B")
    collection, smart = make_custom("Kitchen"), make_smart("Mugs", ("title", "contains", "mug"))

    def post(product: Product, collection: Collection, **fields: object) -> Response:
        body = {"product_id": product.pk, "collection_id": collection.pk, **fields}
        return api.post("collects.json", {"collect": body})

    collect = post(first, collection).json()["collect"]
    assert (collect["position"], collect["sort_value"]) == (1, "0000000001")
    assert post(second, collection, position=1).json()["collect"]["position"] == 1
    assert get_positions(collection.pk) == [(second.pk, 1), (first.pk, 2)]
    assert list(get_errors(post(first, collection))) == ["product_id"]
    assert list(get_errors(post(first, smart))) == ["collection_id"]
    assert get_errors(api.post("collects.json", {"collect": {}})).keys() == {"product_id", "collection_id"}
    collects = api.get("collects.json", collection_id=collection.pk, product_id=first.pk).json()["collects"]
    assert [row["id"] for row in collects] == [collect["id"]]
    api.delete(f"collects/{Collect.objects.get(product=second).pk}.json")
    assert get_positions(collection.pk) == [(first.pk, 1)]
    assert api.get(f"collects/{collect['id']}.json").json()["collect"]["position"] == 1


def test_collects_close_up_when_a_product_is_deleted(api: ApiClient, in_shop: Shop) -> None:
    first, second, third = make_product("A"), make_product("B"), make_product("C")
    kitchen, table = make_custom("Kitchen", first, second, third), make_custom("Table", second, third)

    assert api.delete(f"products/{second.pk}.json").status_code == 200

    assert get_positions(kitchen.pk) == [(first.pk, 1), (third.pk, 2)]
    assert get_positions(table.pk) == [(third.pk, 1)]


def test_a_foreign_product_cannot_be_collected(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign, theirs = make_product(), make_custom()
    with shop_scope(shop):
        own, product = make_custom(), make_product()

    response = api.post("collects.json", {"collect": {"product_id": foreign.pk, "collection_id": own.pk}})
    input_response = api.post("collects.json", {"collect": {"product_id": product.pk, "collection_id": theirs.pk}})

    assert get_errors(response) == {"product_id": ["must exist"]}
    assert get_errors(input_response) == {"collection_id": ["must exist"]}
    assert api.get("products.json", collection_id=theirs.pk).json() == {"products": []}


def test_delete_leaves_the_products(api: ApiClient, in_shop: Shop) -> None:
    product = make_product()
    collection = make_custom("Kitchen", product)

    assert api.delete(f"custom_collections/{collection.pk}.json").json() == {}

    assert Product.objects.filter(pk=product.pk).exists()
    assert not Collect.objects.exists()
    assert Event.objects.filter(topic="collections/delete").exists()
