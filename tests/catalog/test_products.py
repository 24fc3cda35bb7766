"""Tests of products over REST: creation, changes, handles and lists."""

import pytest
from pytest_django import DjangoAssertNumQueries

from apps.catalog.models import Product, ProductTag, Variant
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.inventory.models import InventoryItem
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.catalog import ATTACHMENT, make_custom, make_image, make_product, make_smart
from tests.support.types import JsonObject

OPTIONS = [{"name": "Colour", "values": ["Blue", "Black"]}, {"name": "Size", "values": ["155", "159"]}]


def post_product(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("products.json", {"product": {"title": "Board", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["product"]


def get_topics(shop: Shop) -> list[str]:
    with shop_scope(shop):
        return list(Event.objects.filter(topic__startswith="products/").order_by("id").values_list("topic", flat=True))


def test_create_with_a_title_alone_makes_one_variant_of_the_shops_own(api: ApiClient, shop: Shop) -> None:
    product = post_product(api)

    variant = product["variants"][0]
    assert (product["handle"], product["vendor"], product["status"]) == ("board", "Acme", "active")
    assert product["published_at"] is not None
    assert [option["name"] for option in product["options"]] == ["Title"]
    assert product["options"][0]["values"] == ["Default Title"]
    assert (variant["title"], variant["option1"], variant["price"]) == ("Default Title", "Default Title", "0.00")
    assert variant["presentment_prices"] == [
        {"price": {"amount": "0.00", "currency_code": "USD"}, "compare_at_price": None}
    ]
    assert (product["images"], product["image"]) == ([], None)
    assert get_topics(shop) == ["products/create"]


def test_create_takes_options_and_variants_in_one_body(api: ApiClient) -> None:
    variants = [{"option1": "Blue", "option2": "155"}, {"option1": "Black", "option2": "159", "price": 12.5}]

    product = post_product(api, options=OPTIONS, variants=variants)

    assert [variant["title"] for variant in product["variants"]] == ["Blue / 155", "Black / 159"]
    assert [variant["position"] for variant in product["variants"]] == [1, 2]
    assert product["variants"][1]["price"] == "12.50"
    assert [(option["name"], option["position"], option["values"]) for option in product["options"]] == [
        ("Colour", 1, ["Blue", "Black"]),
        ("Size", 2, ["155", "159"]),
    ]


def test_create_names_all_that_does_not_fit_at_once(api: ApiClient, shop: Shop) -> None:
    body = {
        "status": "sold",
        "options": [{"name": ""}],
        "variants": [{"price": "-1"}, {"weight_unit": "stone", "grams": -1}],
        "images": [{"attachment": "no base64"}, {"alt": "nothing"}],
        "metafields": [{"namespace": "a", "key": "b", "type": "number_integer", "value": "x"}],
    }

    errors = get_errors(api.post("products.json", {"product": body}))

    assert errors.keys() == {
        "title",
        "status",
        "options.0.name",
        "variants.0.price",
        "variants.1.weight_unit",
        "variants.1.grams",
        "images.0.attachment",
        "images.1.image",
        "metafields.0.value",
    }
    with shop_scope(shop):
        assert not Product.objects.exists()
        assert not InventoryItem.objects.exists()


@pytest.mark.parametrize("letter", "ßΐ")
def test_tags_may_grow_when_their_case_is_folded(api: ApiClient, letter: str) -> None:
    text = letter * 255
    response = api.post("products.json", {"product": {"title": "Mug", "tags": [text, text[1:] + "a"]}})

    assert response.status_code == 201, response.content
    assert response.json()["product"]["tags"] == ", ".join(sorted([text, text[1:] + "a"], key=str.casefold))


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"variants": [{"price": "-1"}]}, "variants.0.price", "must be greater than or equal to 0"),
        ({"variants": [{"price": -0.01}]}, "variants.0.price", "must be greater than or equal to 0"),
        ({"variants": [{"price": "-0.00"}]}, "variants.0.price", "is invalid"),
        ({"variants": [{"price": "--1"}]}, "variants.0.price", "is invalid"),
        ({"options": [{"name": str(n)} for n in range(4)]}, "options", "has too many options (maximum is 3)"),
        ({"options": [{"name": "A"}, {"name": "a"}]}, "options", "has two options with the same name"),
        ({"variants": [{"option1": "A"}, {"option1": "A"}]}, "base", "The variant 'A' already exists."),
        (
            {"variants": [{"option1": "A", "option2": "B"}]},
            "variants.0.option2",
            "must be blank because the product has only 1 option",
        ),
        (
            {"options": OPTIONS, "variants": [{"option1": "A"}, {"option2": "B"}]},
            "variants.0.option2",
            "can't be blank",
        ),
        ({"body_html": "a" * (512 * 1024 + 1)}, "body_html", "is too long (maximum is 512 KB)"),
        ({"body_html": "é" * (256 * 1024 + 1)}, "body_html", "is too long (maximum is 512 KB)"),
        ({"body_html": "<" * 10_001}, "body_html", "has too many tags (maximum is 10000)"),
        ({"tags": ",".join(f"t{n}" for n in range(251))}, "tags", "has too many tags (maximum is 250)"),
        ({"tags": ["x" * 256]}, "tags", "is too long (maximum is 255 characters)"),
        ({"title": "x" * 256}, "title", "is too long (maximum is 255 characters)"),
        ({"variants": [{"fulfillment_service": "nobody"}]}, "variants.0.fulfillment_service", None),
        ({"variants": [{"id": 99}]}, "variants.0.id", "is invalid"),
        ({"images": [{"id": 99}]}, "images.0.id", "is invalid"),
        ({"variants": "x"}, "variants", "is invalid"),
        ({"metafields_global_title_tag": ["x"]}, "metafields_global_title_tag", None),
    ],
)
def test_invalid_values_are_refused(
    api: ApiClient, shop: Shop, fields: JsonObject, field: str, message: str | None
) -> None:
    response = api.post("products.json", {"product": {"title": "Board", **fields}})

    errors = get_errors(response)
    assert field in errors
    assert message is None or errors[field] == [message]
    with shop_scope(shop):
        assert not Product.objects.exists()


@pytest.mark.parametrize(
    "amount", ["1_000", "１２", "٣", " 5 ", "1e2", "-0.00", "5.", "+5", "NaN", "0.005", "1e1000000", "", None, True]
)
def test_prices_are_plain_digits_with_the_currencys_decimals(api: ApiClient, amount: object) -> None:
    body = {"title": "Board", "variants": [{"price": amount}]}

    errors = get_errors(api.post("products.json", {"product": body}))

    assert errors.keys() == {"variants.0.price"}


@pytest.mark.parametrize(
    ("currency", "payload", "expected_output"), [("JPY", "1200", "1200"), ("KWD", "1.234", "1.234")]
)
def test_prices_have_the_currencys_decimals(
    api: ApiClient, shop: Shop, currency: str, payload: str, expected_output: str
) -> None:
    shop.currency = currency
    shop.save()

    product = post_product(api, variants=[{"price": payload}])

    assert product["variants"][0]["price"] == expected_output
    refused = api.post("products.json", {"product": {"title": "B", "variants": [{"price": f"{payload}.5678"}]}})
    assert refused.status_code == 422


def test_update_changes_what_the_body_names_and_nothing_else(api: ApiClient, shop: Shop) -> None:
    product = post_product(api, tags="b, a", variants=[{"price": "5.00", "sku": "S1"}])

    response = api.put(
        f"products/{product['id']}.json", {"product": {"id": 7, "title": "Snowboard", "created_at": "x"}}
    )

    changed = response.json()["product"]
    assert changed == product | {"title": "Snowboard", "updated_at": changed["updated_at"]}
    assert get_topics(shop) == ["products/create", "products/update"]
    with shop_scope(shop):
        assert Event.objects.get(topic="products/update").changes == {"title": ["Board", "Snowboard"]}


def test_update_makes_the_variants_those_of_the_list(api: ApiClient, shop: Shop) -> None:
    product = post_product(api, variants=[{"option1": "A", "sku": "1"}, {"option1": "B", "sku": "2"}])
    first, second = product["variants"]
    rows = [{"option1": "C"}, {"id": second["id"], "price": "7.00"}]

    response = api.put(f"products/{product['id']}.json", {"product": {"variants": rows}})

    displayed_product = response.json()["product"]
    assert [(row["option1"], row["price"], row["sku"]) for row in displayed_product["variants"]] == [
        ("C", "0.00", None),
        ("B", "7.00", "2"),
    ]
    assert displayed_product["options"][0]["values"] == ["B", "C"]
    with shop_scope(shop):
        assert not InventoryItem.objects.filter(pk=first["inventory_item_id"]).exists()
        assert InventoryItem.objects.count() == 2


def test_options_are_renamed_added_and_removed(api: ApiClient) -> None:
    product = post_product(api, options=OPTIONS[:1], variants=[{"option1": "Blue"}, {"option1": "Black"}])
    path = f"products/{product['id']}.json"
    renamed = {"id": product["options"][0]["id"], "name": "Paint"}

    added = api.put(path, {"product": {"options": [renamed, {"name": "Size", "values": ["L"]}]}}).json()["product"]
    lacking = api.put(path, {"product": {"options": [renamed, {"name": "Size"}, {"name": "Grip"}]}})
    removed = api.put(path, {"product": {"options": [renamed]}}).json()["product"]

    assert [option["name"] for option in added["options"]] == ["Paint", "Size"]
    assert added["options"][0]["id"] == product["options"][0]["id"]
    assert [row["title"] for row in added["variants"]] == ["Blue / L", "Black / L"]
    assert get_errors(lacking).keys() == {"variants.0.option3", "variants.1.option3"}
    assert [option["name"] for option in removed["options"]] == ["Paint"]
    assert [row["title"] for row in removed["variants"]] == ["Blue", "Black"]


TWO_OPTIONS = {
    "options": [{"name": "Size"}, {"name": "Colour"}],
    "variants": [{"option1": "S", "option2": "Red"}, {"option1": "M", "option2": "Blue"}],
}


@pytest.mark.parametrize("named_by", ["id", "name"])
def test_values_follow_options_that_change_places(api: ApiClient, named_by: str) -> None:
    product = post_product(api, **TWO_OPTIONS)
    swapped = [
        {"name": option["name"]} | ({"id": option["id"]} if named_by == "id" else {})
        for option in reversed(product["options"])
    ]

    api.put(f"products/{product['id']}.json", {"product": {"options": swapped}})

    displayed_product = api.get(f"products/{product['id']}.json").json()["product"]
    assert [(option["id"], option["name"], option["values"]) for option in displayed_product["options"]] == [
        (product["options"][1]["id"], "Colour", ["Red", "Blue"]),
        (product["options"][0]["id"], "Size", ["S", "M"]),
    ]
    assert [row["title"] for row in displayed_product["variants"]] == ["Red / S", "Blue / M"]


def test_an_option_takes_its_values_along_when_it_goes(api: ApiClient) -> None:
    product = post_product(api, **TWO_OPTIONS)
    colour = {"id": product["options"][1]["id"], "name": "Colour"}

    displayed_product = api.put(f"products/{product['id']}.json", {"product": {"options": [colour]}}).json()["product"]

    assert [(option["name"], option["values"]) for option in displayed_product["options"]] == [
        ("Colour", ["Red", "Blue"])
    ]
    assert [row["title"] for row in displayed_product["variants"]] == ["Red", "Blue"]


def test_an_option_in_use_stays_where_its_values_tell_variants_apart(api: ApiClient) -> None:
    variants = [{"option1": "S", "option2": "Red"}, {"option1": "M", "option2": "Red"}]
    product = post_product(api, **TWO_OPTIONS | {"variants": variants})
    path = f"products/{product['id']}.json"

    refused = api.put(path, {"product": {"options": [{"id": product["options"][1]["id"], "name": "Colour"}]}})

    assert get_errors(refused) == {"base": ["The variant 'Red' already exists."]}
    assert api.get(path).json()["product"] == product


def test_naming_an_option_twice_loses_none(api: ApiClient) -> None:
    product = post_product(api, **TWO_OPTIONS)
    colour = product["options"][1]["id"]

    rows = [{"id": colour, "name": "Hue"}, {"id": colour, "name": "Shade", "values": ["Dark"]}]
    displayed_product = api.put(f"products/{product['id']}.json", {"product": {"options": rows}}).json()["product"]

    assert [(row["name"], row["position"]) for row in displayed_product["options"]] == [("Hue", 1), ("Shade", 2)]
    assert [row["title"] for row in displayed_product["variants"]] == ["Red / S", "Blue / M"]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ((3, 2, 1), [2, 1, 0]),  # Reverses the variants.
        ((2, 3, 1), [2, 0, 1]),
        ((None, None, 1), [2, 0, 1]),
        ((1, 2, 1), [2, 0, 1]),  # Moves the last variant to the front.
        ((3, 2, 3), [1, 2, 0]),  # Moves the first variant to the end.
        ((99, None, None), [1, 2, 0]),
    ],
)
def test_complete_lists_set_the_positions(api: ApiClient, places: tuple[int | None, ...], expected: list[int]) -> None:
    product = post_product(
        api, images=[{"attachment": ATTACHMENT}] * 3, variants=[{"option1": "A"}, {"option1": "B"}, {"option1": "C"}]
    )
    before = {part: [row["id"] for row in product[part]] for part in ("images", "variants")}
    rows = {
        part: [{"id": pk, "position": location} for pk, location in zip(ids, places, strict=True)]
        for part, ids in before.items()
    }

    displayed_product = api.put(f"products/{product['id']}.json", {"product": rows}).json()["product"]

    for part, ids in before.items():
        assert [row["id"] for row in displayed_product[part]] == [ids[index] for index in expected]
        assert [row["position"] for row in displayed_product[part]] == [1, 2, 3]


def test_publication_follows_the_switch(api: ApiClient) -> None:
    product = post_product(api, published=False)
    path = f"products/{product['id']}.json"

    displayed_product = api.put(path, {"product": {"published": True}}).json()["product"]
    saved_product = api.put(path, {"product": {"published": True}}).json()["product"]
    second_product = api.put(path, {"product": {"published": False}}).json()["product"]

    assert product["published_at"] is None
    assert displayed_product["published_at"] is not None
    assert saved_product["published_at"] == displayed_product["published_at"]
    assert second_product["published_at"] is None


def test_tags_are_rows_too(api: ApiClient, shop: Shop) -> None:
    product = post_product(api, tags=["Summer", "summer", " sale"])

    assert product["tags"] == "sale, Summer"
    api.put(f"products/{product['id']}.json", {"product": {"tags": "sale, Winter"}})
    with shop_scope(shop):
        assert sorted(ProductTag.objects.values_list("key", "name")) == [("sale", "sale"), ("winter", "Winter")]


def test_metafields_of_a_body_are_stored_and_go_with_the_product(api: ApiClient, shop: Shop) -> None:
    fields = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "cold"}

    product = post_product(
        api, metafields=[fields], metafields_global_title_tag="Best board", variants=[{"metafields": [fields]}]
    )

    with shop_scope(shop):
        rows = Metafield.objects.order_by("id").values_list("owner_resource", "namespace", "key", "value")
        assert sorted(rows) == [
            ("product", "care", "wash", "cold"),
            ("product", "global", "title_tag", "Best board"),
            ("variant", "care", "wash", "cold"),
        ]
        api.delete(f"products/{product['id']}.json")
        assert not Metafield.objects.exists()


def test_delete_takes_everything_along(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00", "2.00"))
        make_image(product)
        make_custom("Kitchen", product)

    response = api.delete(f"products/{product.pk}.json")

    assert (response.status_code, response.json()) == (200, {})
    assert get_topics(shop)[-1] == "products/delete"
    with shop_scope(shop):
        assert not Variant.objects.exists()
        assert not InventoryItem.objects.exists()


def test_a_product_cannot_be_left_without_variants(api: ApiClient) -> None:
    product = api.post("products.json", {"product": {"title": "Mug", "variants": []}}).json()["product"]

    refused = api.put(f"products/{product['id']}.json", {"product": {"title": "Cup", "variants": []}})

    assert len(product["variants"]) == 1, "a new product has one without being asked"
    assert (refused.status_code, refused.json()) == (422, {"errors": {"variants": ["must have at least one variant"]}})
    assert api.get(f"products/{product['id']}.json").json()["product"] == product


def test_handles_are_transliterated_and_numbered(api: ApiClient) -> None:
    first = post_product(api, title="Crème Brûlée №1")
    second = post_product(api, title="Creme brulee №1")
    third = post_product(api, title="Creme brulee №1")
    nothing = post_product(api, title="※")

    assert [first["handle"], second["handle"], third["handle"]] == [
        "creme-brulee-no1",
        "creme-brulee-no1-1",
        "creme-brulee-no1-2",
    ]
    assert nothing["handle"] == "product"


def test_a_handle_that_is_named_and_taken_is_refused(api: ApiClient) -> None:
    post_product(api, handle="My Board")
    other = post_product(api, title="Other")

    response = api.post("products.json", {"product": {"title": "Board", "handle": "my-board"}})
    changed = api.put(f"products/{other['id']}.json", {"product": {"handle": "my-board"}})

    assert get_errors(response) == {"handle": ["has already been taken"]}
    assert get_errors(changed) == {"handle": ["has already been taken"]}


def test_the_handle_stays_when_the_title_changes(api: ApiClient) -> None:
    created_row = post_product(api)

    changed = api.put(f"products/{created_row['id']}.json", {"product": {"title": "Ski", "handle": ""}}).json()[
        "product"
    ]

    assert changed["handle"] == "board"


def test_a_thousand_handles_need_no_loop(in_shop: Shop, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    Product.objects.bulk_create(
        Product(shop=in_shop, title="Mug", handle="mug" if not n else f"mug-{n}") for n in range(1000)
    )

    with django_assert_max_num_queries(40):
        product = make_product("Mug")

    assert product.handle == "mug-1000"


FILTERS = {
    "title": "Red cup",
    "vendor": "Potters",
    "product_type": "Cups",
    "handle": "red-cup,none",
    "status": "draft",
    "published_status": "unpublished",
    "created_at_min": "2026-03-01",
    "published_at_max": "2000-01-01",
}


def test_lists_are_narrowed(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        cup = make_product("Red cup", vendor="Potters", product_type="Cups", status="draft", published_at=None)
        bag = make_product("Bag", tags="Summer", prices=("5.00",))
        custom, smart = make_custom("Hand", cup), make_smart("Sun", ("tag", "equals", "summer"))
        Product.objects.filter(pk=cup.pk).update(created_at="2026-03-01T12:00:00Z")
        Product.objects.filter(pk=bag.pk).update(created_at="2026-02-01T12:00:00Z")

    def ids(**query: object) -> list[int]:
        matching_ids = [row["id"] for row in api.get("products.json", **query).json()["products"]]
        assert api.get("products/count.json", **query).json() == {"count": len(matching_ids)}
        return matching_ids

    for name, value in FILTERS.items():
        expected = [] if name == "published_at_max" else [cup.pk]
        assert ids(**{name: value}) == expected, name
    assert ids(collection_id=custom.pk) == [cup.pk]
    assert ids(collection_id=smart.pk) == [bag.pk]
    assert ids(collection_id=10**12) == []
    assert ids(status="draft, active") == [cup.pk, bag.pk]
    assert ids(ids=f"{bag.pk}") == [bag.pk]
    assert ids(presentment_currencies="USD,EUR") == [cup.pk, bag.pk]
    assert [row["id"] for row in api.get("products.json", since_id=cup.pk).json()["products"]] == [bag.pk]
