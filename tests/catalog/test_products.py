import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.catalog.domain import products
from apps.catalog.domain.inputs import ProductParts, VariantInput
from apps.catalog.domain.variants import UnknownRow
from apps.catalog.models import Product, ProductTag, Variant
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.inventory.models import InventoryItem
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.catalog import ATTACHMENT, make_custom, make_image, make_product, make_smart
from tests.support.types import JsonObject

OPTION2 = "variants.0.option2"
ONE_OPTION = "must be blank because the product has only 1 option"
OPTIONS = [{"name": "Colour", "values": ["Blue", "Black"]}, {"name": "Size", "values": ["155", "159"]}]


def post_product(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("products.json", {"product": {"title": "Board", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["product"]


def put_product(api: ApiClient, product: JsonObject, **fields: object) -> JsonObject:
    response = api.put(f"products/{product['id']}.json", {"product": fields})
    assert response.status_code == 200, response.content
    return response.json()["product"]


def get_options(product: JsonObject) -> list[tuple[str, int, list[str]]]:
    return [(option["name"], option["position"], option["values"]) for option in product["options"]]


def get_variant_titles(product: JsonObject) -> list[str]:
    return [variant["title"] for variant in product["variants"]]


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
    price = {"amount": "0.00", "currency_code": "USD"}
    assert variant["presentment_prices"] == [{"price": price, "compare_at_price": None}]
    assert (product["images"], product["image"]) == ([], None)
    assert get_topics(shop) == ["products/create"]


def test_create_takes_options_and_variants_in_one_body(api: ApiClient) -> None:
    variants = [{"option1": "Blue", "option2": "155"}, {"option1": "Black", "option2": "159", "price": 12.5}]

    product = post_product(api, options=OPTIONS, variants=variants)

    assert get_variant_titles(product) == ["Blue / 155", "Black / 159"]
    assert [variant["position"] for variant in product["variants"]] == [1, 2]
    assert product["variants"][1]["price"] == "12.50"
    assert get_options(product) == [("Colour", 1, ["Blue", "Black"]), ("Size", 2, ["155", "159"])]


def test_create_names_all_that_does_not_fit_at_once(api: ApiClient, in_shop: Shop) -> None:
    body = {
        "status": "sold",
        "options": [{"name": ""}],
        "variants": [{"price": "-1"}, {"weight_unit": "stone", "grams": -1}],
        "images": [{"attachment": "no base64"}, {"alt": "nothing"}],
        "metafields": [{"namespace": "a", "key": "b", "type": "number_integer", "value": "x"}],
    }

    errors = get_errors(api.post("products.json", {"product": body}))

    assert errors.keys() == {
        *{"title", "status", "options.0.name", "variants.0.price", "variants.1.weight_unit", "variants.1.grams"},
        *{"images.0.attachment", "images.1.image", "metafields.0.value"},
    }
    assert not Product.objects.exists()
    assert not InventoryItem.objects.exists()


@pytest.mark.parametrize("letter", "ßΐ")
def test_tags_may_grow_when_their_case_is_folded(api: ApiClient, letter: str) -> None:
    tags = [letter * 255, letter * 254 + "a"]

    assert post_product(api, tags=tags)["tags"] == ", ".join(sorted(tags, key=str.casefold))


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
        ({"variants": [{"option1": "A", "option2": "B"}]}, OPTION2, ONE_OPTION),
        ({"options": OPTIONS, "variants": [{"option1": "A"}, {"option2": "B"}]}, OPTION2, "can't be blank"),
        ({"body_html": "a" * (512 * 1024 + 1)}, "body_html", "is too long (maximum is 512 KB)"),
        ({"body_html": "é" * (256 * 1024 + 1)}, "body_html", "is too long (maximum is 512 KB)"),
        ({"body_html": "<" * 10_001}, "body_html", "has too many tags (maximum is 10000)"),
        ({"tags": ",".join(f"t{n}" for n in range(251))}, "tags", "has too many tags (maximum is 250)"),
        ({"tags": ["x" * 256]}, "tags", "is too long (maximum is 255 characters)"),
        ({"title": "x" * 256}, "title", "is too long (maximum is 255 characters)"),
        ({"variants": [{"fulfillment_service": "nobody"}]}, "variants.0.fulfillment_service", None),
        ({"variants": "x"}, "variants", "is invalid"),
        ({"metafields_global_title_tag": ["x"]}, "metafields_global_title_tag", None),
    ],
)
def test_invalid_values_are_refused(
    api: ApiClient, in_shop: Shop, fields: JsonObject, field: str, message: str | None
) -> None:
    response = api.post("products.json", {"product": {"title": "Board", **fields}})

    errors = get_errors(response)
    assert field in errors
    assert message is None or errors[field] == [message]
    assert not Product.objects.exists()


def test_ids_and_a_null_tax_code_of_a_copied_product_are_ignored(api: ApiClient, in_shop: Shop) -> None:
    variants = [{"id": 99, "product_id": 7, "price": "5.00", "tax_code": None}]
    images = [{"id": 98, "product_id": 7, "attachment": ATTACHMENT}]

    response = api.post("products.json", {"product": {"title": "Board", "variants": variants, "images": images}})

    assert response.status_code == 201, response.content
    product = response.json()["product"]
    assert [(row["price"], row["tax_code"]) for row in product["variants"]] == [("5.00", "")]
    assert len(product["images"]) == 1
    variant = product["variants"][0]
    api.put(f"variants/{variant['id']}.json", {"variant": {"tax_code": "FR020000"}})
    changed = api.put(f"variants/{variant['id']}.json", {"variant": {"tax_code": None}})
    assert changed.json()["variant"]["tax_code"] == "FR020000"


def test_unknown_ids_in_an_update_are_refused(api: ApiClient, in_shop: Shop) -> None:
    product = api.post("products.json", {"product": {"title": "Board"}}).json()["product"]

    for part in ("variants", "images"):
        response = api.put(f"products/{product['id']}.json", {"product": {part: [{"id": 99}]}})
        assert get_errors(response) == {f"{part}.0.id": ["is invalid"]}


@pytest.mark.parametrize(
    "amount", ["1_000", "１２", "٣", " 5 ", "1e2", "-0.00", "5.", "+5", "NaN", "0.005", "1e1000000", True]
)
def test_prices_are_plain_digits_with_the_currencys_decimals(api: ApiClient, amount: object) -> None:
    response = api.post("products.json", {"product": {"title": "Board", "variants": [{"price": amount}]}})

    assert get_errors(response).keys() == {"variants.0.price"}


@pytest.mark.parametrize("blank", [None, ""])
def test_blank_prices_are_the_default_or_unchanged(api: ApiClient, blank: str | None) -> None:
    created = post_product(api, variants=[{"price": blank, "compare_at_price": blank, "sku": blank}])
    variant = created["variants"][0]
    api.put(f"variants/{variant['id']}.json", {"variant": {"price": "5.00", "compare_at_price": "6.00", "sku": "A"}})
    blanks = {"price": blank, "compare_at_price": blank, "sku": blank, "inventory_policy": blank, "grams": blank}

    alone = api.put(f"variants/{variant['id']}.json", {"variant": blanks}).json()["variant"]
    nested = api.put(
        f"products/{created['id']}.json",
        {"product": {"vendor": blank, "status": blank, "variants": [{"id": variant["id"], **blanks}]}},
    ).json()["product"]

    assert (variant["price"], variant["compare_at_price"]) == ("0.00", None)
    for row in (alone, nested["variants"][0]):
        assert (row["price"], row["compare_at_price"], row["inventory_policy"]) == ("5.00", None, "deny")
        assert not row["sku"]
    assert (nested["title"], nested["status"]) == (created["title"], created["status"])


@pytest.mark.parametrize(("currency", "price"), [("JPY", "1200"), ("KWD", "1.234")])
def test_prices_have_the_currencys_decimals(api: ApiClient, shop: Shop, currency: str, price: str) -> None:
    shop.currency = currency
    shop.save()

    product = post_product(api, variants=[{"price": price}])

    assert product["variants"][0]["price"] == price
    assert get_errors(api.post("products.json", {"product": {"title": "B", "variants": [{"price": f"{price}.5678"}]}}))


def test_update_changes_what_the_body_names_and_nothing_else(api: ApiClient, in_shop: Shop) -> None:
    product = post_product(api, tags="b, a", variants=[{"price": "5.00", "sku": "S1"}])

    changed = put_product(api, product, id=7, title="Snowboard", created_at="x")

    assert changed == product | {"title": "Snowboard", "updated_at": changed["updated_at"]}
    assert get_topics(in_shop) == ["products/create", "products/update"]
    assert Event.objects.get(topic="products/update").changes == {"title": ["Board", "Snowboard"]}


def test_update_makes_the_variants_those_of_the_list(api: ApiClient, in_shop: Shop) -> None:
    product = post_product(api, variants=[{"option1": "A", "sku": "1"}, {"option1": "B", "sku": "2"}])
    first, second = product["variants"]

    changed = put_product(api, product, variants=[{"option1": "C"}, {"id": second["id"], "price": "7.00"}])

    rows = [(row["option1"], row["price"], row["sku"]) for row in changed["variants"]]
    assert rows == [("C", "0.00", None), ("B", "7.00", "2")]
    assert changed["options"][0]["values"] == ["B", "C"]
    assert not InventoryItem.objects.filter(pk=first["inventory_item_id"]).exists()
    assert InventoryItem.objects.count() == 2


def test_options_are_renamed_added_and_removed(api: ApiClient) -> None:
    product = post_product(api, options=OPTIONS[:1], variants=[{"option1": "Blue"}, {"option1": "Black"}])
    renamed = {"id": product["options"][0]["id"], "name": "Paint"}

    added = put_product(api, product, options=[renamed, {"name": "Size", "values": ["L"]}])
    lacking = {"product": {"options": [renamed, {"name": "Size"}, {"name": "Grip"}]}}
    refused = api.put(f"products/{product['id']}.json", lacking)
    removed = put_product(api, product, options=[renamed])

    assert [name for name, *_ in get_options(added)] == ["Paint", "Size"]
    assert added["options"][0]["id"] == product["options"][0]["id"]
    assert get_variant_titles(added) == ["Blue / L", "Black / L"]
    assert get_errors(refused).keys() == {"variants.0.option3", "variants.1.option3"}
    assert [name for name, *_ in get_options(removed)] == ["Paint"]
    assert get_variant_titles(removed) == ["Blue", "Black"]


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

    put_product(api, product, options=swapped)

    changed = api.get(f"products/{product['id']}.json").json()["product"]
    assert [option["id"] for option in changed["options"]] == [option["id"] for option in product["options"][::-1]]
    assert get_options(changed) == [("Colour", 1, ["Red", "Blue"]), ("Size", 2, ["S", "M"])]
    assert get_variant_titles(changed) == ["Red / S", "Blue / M"]


def test_an_option_takes_its_values_along_when_it_goes(api: ApiClient) -> None:
    product = post_product(api, **TWO_OPTIONS)
    colour = {"id": product["options"][1]["id"], "name": "Colour"}

    changed = put_product(api, product, options=[colour])

    assert get_options(changed) == [("Colour", 1, ["Red", "Blue"])]
    assert get_variant_titles(changed) == ["Red", "Blue"]


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
    changed = put_product(api, product, options=rows)

    assert [(row["name"], row["position"]) for row in changed["options"]] == [("Hue", 1), ("Shade", 2)]
    assert get_variant_titles(changed) == ["Red / S", "Blue / M"]


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
    variants = [{"option1": name} for name in "ABC"]
    product = post_product(api, images=[{"attachment": ATTACHMENT}] * 3, variants=variants)
    before = {part: [row["id"] for row in product[part]] for part in ("images", "variants")}

    moves = {
        part: [{"id": pk, "position": place} for pk, place in zip(ids, places, strict=True)]
        for part, ids in before.items()
    }
    changed = put_product(api, product, **moves)

    for part, ids in before.items():
        rows = [(row["id"], row["position"]) for row in changed[part]]
        assert rows == [(ids[index], number) for number, index in enumerate(expected, 1)]


def test_publication_follows_the_switch(api: ApiClient) -> None:
    product = post_product(api, published=False)

    first, second, third = (put_product(api, product, published=value) for value in (True, True, False))

    assert product["published_at"] is third["published_at"] is None
    assert first["published_at"] == second["published_at"] is not None


def test_tags_are_rows_too(api: ApiClient, in_shop: Shop) -> None:
    product = post_product(api, tags=["Summer", "summer", " sale"])

    assert product["tags"] == "sale, Summer"
    put_product(api, product, tags="sale, Winter")
    assert sorted(ProductTag.objects.values_list("key", "name")) == [("sale", "sale"), ("winter", "Winter")]


def test_metafields_of_a_body_are_stored_and_go_with_the_product(api: ApiClient, in_shop: Shop) -> None:
    fields = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "cold"}

    product = post_product(
        api, metafields=[fields], metafields_global_title_tag="Best board", variants=[{"metafields": [fields]}]
    )

    rows = Metafield.objects.order_by("id").values_list("owner_resource", "namespace", "key", "value")
    assert sorted(rows) == [
        ("product", "care", "wash", "cold"),
        ("product", "global", "title_tag", "Best board"),
        ("variant", "care", "wash", "cold"),
    ]
    api.delete(f"products/{product['id']}.json")
    assert not Metafield.objects.exists()


def test_delete_takes_everything_along(api: ApiClient, in_shop: Shop) -> None:
    product = make_product(prices=("1.00", "2.00"))
    make_image(product)
    make_custom("Kitchen", product)

    response = api.delete(f"products/{product.pk}.json")

    assert (response.status_code, response.json()) == (200, {})
    assert get_topics(in_shop)[-1] == "products/delete"
    assert not Variant.objects.exists()
    assert not InventoryItem.objects.exists()


def test_a_product_cannot_be_left_without_variants(api: ApiClient) -> None:
    product = post_product(api, variants=[])

    refused = api.put(f"products/{product['id']}.json", {"product": {"title": "Cup", "variants": []}})

    assert len(product["variants"]) == 1, "a new product has one without being asked"
    assert get_errors(refused) == {"variants": ["must have at least one variant"]}
    assert api.get(f"products/{product['id']}.json").json()["product"] == product


def test_handles_are_transliterated_and_numbered(api: ApiClient) -> None:
    titles = ("Crème Brûlée №1", "Creme brulee №1", "Creme brulee №1", "※")

    handles = [post_product(api, title=title)["handle"] for title in titles]

    assert handles == ["creme-brulee-no1", "creme-brulee-no1-1", "creme-brulee-no1-2", "product"]


def test_a_handle_that_is_named_and_taken_is_refused(api: ApiClient) -> None:
    post_product(api, handle="My Board")
    other = post_product(api, title="Other")

    created = api.post("products.json", {"product": {"title": "Board", "handle": "my-board"}})
    changed = api.put(f"products/{other['id']}.json", {"product": {"handle": "my-board"}})

    assert get_errors(created) == get_errors(changed) == {"handle": ["has already been taken"]}


def test_the_handle_stays_when_the_title_changes(api: ApiClient) -> None:
    assert put_product(api, post_product(api), title="Ski", handle="")["handle"] == "board"


def test_a_thousand_handles_need_no_loop(in_shop: Shop, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    Product.objects.bulk_create(
        Product(shop=in_shop, title="Mug", handle="mug" if not n else f"mug-{n}") for n in range(1000)
    )

    with django_assert_max_num_queries(40):
        product = make_product("Mug")

    assert product.handle == "mug-1000"


FILTERS = {"title": "Red cup", "vendor": "Potters", "product_type": "Cups", "handle": "red-cup,none", "status": "draft"}
FILTERS |= {"published_status": "unpublished", "created_at_min": "2026-03-01"}


def test_lists_are_narrowed(api: ApiClient, in_shop: Shop) -> None:
    cup = make_product("Red cup", vendor="Potters", product_type="Cups", status="draft", published_at=None)
    bag = make_product("Bag", tags="Summer", prices=("5.00",))
    custom, smart = make_custom("Hand", cup), make_smart("Sun", ("tag", "equals", "summer"))
    Product.objects.filter(pk=cup.pk).update(created_at="2026-03-01T12:00:00Z")
    Product.objects.filter(pk=bag.pk).update(created_at="2026-02-01T12:00:00Z")

    def ids(**query: object) -> list[int]:
        matching_ids = [row["id"] for row in api.get("products.json", **query).json()["products"]]
        assert api.get("products/count.json", **query).json() == {"count": len(matching_ids)}
        return matching_ids

    assert {name: ids(**{name: value}) for name, value in FILTERS.items()} == {name: [cup.pk] for name in FILTERS}
    assert ids(published_at_max="2000-01-01") == []
    assert ids(collection_id=custom.pk) == [cup.pk]
    assert ids(collection_id=smart.pk) == [bag.pk]
    assert ids(collection_id=10**12) == []
    assert ids(status="draft, active") == [cup.pk, bag.pk]
    assert ids(ids=f"{bag.pk}") == [bag.pk]
    assert ids(presentment_currencies="USD,EUR") == [cup.pk, bag.pk]
    assert [row["id"] for row in api.get("products.json", since_id=cup.pk).json()["products"]] == [bag.pk]


def test_products_created_together_refuse_existing_images(in_shop: Shop) -> None:
    image = make_image(make_product())
    parts = ProductParts(variants=[VariantInput({"image_id": image.pk})])

    with pytest.raises(UnknownRow):
        products.create_products([({"title": "Mug", "handle": "mug"}, parts)], actor="system", at=timezone.now())

    assert Product.objects.count() == 1
