import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.catalog.models import Collection, Product, Variant
from apps.core.db.case_folding import casefold_text
from apps.core.tenancy.models import Shop
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.databases.statistics import collect_statistics
from tests.support.factories.catalog import make_product, make_smart

RULE = {"column": "title", "relation": "contains", "condition": "mug"}


RULE_CASES = [
    *[("title", "equals", "red MUG", "r"), ("title", "not_equals", "red mug", "gb"), ("title", "contains", "ag", "b")],
    *[("title", "starts_with", "RED", "r"), ("title", "ends_with", "mug", "rg"), ("title", "not_contains", "ug", "b")],
    *[("title", "contains", "%", ""), ("title", "contains", "_", "")],
    *[("type", "equals", "cups", "rg"), ("vendor", "equals", "potter", "r")],
    *[("variant_title", "equals", "xl", "b"), ("variant_title", "not_contains", "xl", "rg")],
    *[("variant_price", "less_than", "5", "r"), ("variant_price", "greater_than", "4.99", "gb")],
    *[("variant_price", "equals", "5.00", "g"), ("variant_price", "not_equals", "5", "rb")],
    ("variant_compare_at_price", "greater_than", "0", "b"),
    *[("variant_weight", "greater_than", "0.5", "b"), ("variant_weight", "equals", "0.3", "r")],
    *[("variant_inventory", "greater_than", "3", "g"), ("variant_inventory", "less_than", "1", "rb")],
    *[("tag", "equals", "SALE", "rb"), ("tag", "not_equals", "sale", "g"), ("tag", "contains", "al", "rb")],
    ("tag", "starts_with", "%", ""),
]


@pytest.fixture
def three_products(in_shop: Shop) -> dict[int, str]:
    """Create a red mug, a green mug and a bag. Return a letter for each product, keyed by product id."""
    red = make_product("Red mug", vendor="Potter", product_type="Cups", tags="Sale", prices=("4.00",))
    green = make_product("Green mug", vendor="Other", product_type="Cups", tags="New", prices=("5.00",))
    bag = make_product("Bag", vendor="Other", product_type="Bags", tags="sale, New", prices=("50.00",))
    Variant.objects.filter(product=red).update(grams=300)
    Variant.objects.filter(product=green).update(inventory_quantity=9)
    Variant.objects.filter(product=bag).update(title="XL", grams=900, compare_at_price="60.00")
    return {red.pk: "r", green.pk: "g", bag.pk: "b"}


def get_product_ids(api: ApiClient, collection: Collection) -> list[int]:
    return [row["id"] for row in api.get(f"collections/{collection.pk}/products.json").json()["products"]]


@pytest.mark.parametrize("case", RULE_CASES, ids=" ".join)
def test_rules_say_what_is_in(api: ApiClient, three_products: dict[int, str], case: tuple[str, str, str, str]) -> None:
    column, relation, condition, expected = case
    smart = make_smart("Chosen", (column, relation, condition))

    assert "".join(three_products[pk] for pk in get_product_ids(api, smart)) == expected
    assert api.get(f"collections/{smart.pk}.json").json()["collection"]["products_count"] == len(expected)
    for pk, letter in three_products.items():
        rows = api.get("smart_collections.json", product_id=pk).json()["smart_collections"]
        assert [row["id"] for row in rows] == [smart.pk] * (letter in expected)


def test_rules_are_all_or_any(api: ApiClient, three_products: dict[int, str]) -> None:
    rules = [("title", "contains", "mug"), ("tag", "equals", "sale")]
    every, some = make_smart("All", *rules), make_smart("Any", *rules, disjunctive=True)

    letters = ["".join(three_products[pk] for pk in get_product_ids(api, smart)) for smart in (every, some)]

    assert letters == ["r", "rgb"]


def test_a_condition_may_be_a_number(api: ApiClient, three_products: dict[int, str]) -> None:
    rules = [{"column": "variant_price", "relation": "greater_than", "condition": 5.50}]

    response = api.post("smart_collections.json", {"smart_collection": {"title": "Dear", "rules": rules}})

    assert response.json()["smart_collection"]["rules"][0]["condition"] == "5.5"


@pytest.mark.parametrize(
    ("relation", "condition", "expected"), [("equals", "1", 1), ("greater_than", "1", 0), ("less_than", "1.0", 0)]
)
def test_a_pound_is_a_pound(api: ApiClient, in_shop: Shop, relation: str, condition: str, expected: int) -> None:
    Shop.objects.filter(pk=in_shop.pk).update(weight_unit="lb")
    body = {"title": "Cheese", "variants": [{"weight": "1.0", "weight_unit": "lb"}]}
    assert api.post("products.json", {"product": body}).status_code == 201
    rules = [{"column": "variant_weight", "relation": relation, "condition": condition}]

    response = api.post("smart_collections.json", {"smart_collection": {"title": "Pounds", "rules": rules}})

    pk = response.json()["smart_collection"]["id"]
    assert api.get(f"collections/{pk}.json").json()["collection"]["products_count"] == expected


def test_stock_is_counted_in_whole_units(api: ApiClient, in_shop: Shop) -> None:
    def make(condition: object) -> Response:
        rules = [{"column": "variant_inventory", "relation": "equals", "condition": condition}]
        return api.post("smart_collections.json", {"smart_collection": {"title": "Few", "rules": rules}})

    assert get_errors(make("1.5")) == {"rules.0.condition": ["must be a whole number"]}
    assert [make(condition).status_code for condition in ("1.0", 2, "-3")] == [201, 201, 201]


def test_membership_follows_the_products(api: ApiClient, three_products: dict[int, str]) -> None:
    smart = make_smart("Sale", ("tag", "equals", "sale"))
    bag = next(pk for pk, letter in three_products.items() if letter == "b")

    api.put(f"products/{bag}.json", {"product": {"tags": "New"}})

    assert [three_products[pk] for pk in get_product_ids(api, smart)] == ["r"]


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (None, "rules"),
        ([], "rules"),
        ("x", "rules"),
        ([RULE] * 61, "rules"),
        (["x"], "rules.0"),
        ([RULE | {"column": "colour"}], "rules.0.column"),
        ([RULE | {"column": ["title"]}], "rules.0.column"),
        ([RULE | {"relation": "greater_than"}], "rules.0.relation"),
        ([{"column": "variant_price", "relation": "contains", "condition": "5"}], "rules.0.relation"),
        ([RULE | {"condition": ""}], "rules.0.condition"),
        ([RULE | {"condition": {"a": 1}}], "rules.0.condition"),
        ([RULE | {"condition": "x" * 256}], "rules.0.condition"),
        ([{"column": "variant_price", "relation": "equals", "condition": "１"}], "rules.0.condition"),
        ([{"column": "variant_inventory", "relation": "equals", "condition": "1e9"}], "rules.0.condition"),
    ],
)
def test_rules_that_make_no_sense_are_refused(api: ApiClient, rules: object, field: str) -> None:
    response = api.post("smart_collections.json", {"smart_collection": {"title": "Mugs", "rules": rules}})

    assert list(get_errors(response)) == [field]


def test_a_smart_collection_needs_rules_once(api: ApiClient) -> None:
    missing = api.post("smart_collections.json", {"smart_collection": {"title": "Mugs"}})
    response = api.post("smart_collections.json", {"smart_collection": {"title": "Mugs", "rules": [RULE]}})
    path = f"smart_collections/{response.json()['smart_collection']['id']}.json"

    renamed = api.put(path, {"smart_collection": {"title": "Cups"}})

    assert list(get_errors(missing)) == ["rules"]
    assert renamed.json()["smart_collection"]["rules"] == [RULE]


def test_order_by_hand_puts_the_named_first(api: ApiClient, three_products: dict[int, str]) -> None:
    smart = make_smart("All", ("title", "contains", "g"))
    red, green, bag = three_products
    path = f"smart_collections/{smart.pk}/order.json"

    response = api.put(f"{path}?sort_order=manual&products[]={bag}&products[]={green}")

    assert (response.status_code, response.json()) == (200, {})
    assert get_product_ids(api, smart) == [bag, green, red]
    assert api.put(f"{path}?products[]=x").status_code == 400
    assert list(get_errors(api.put(f"{path}?products[]={10**12}"))) == ["products"]
    assert list(get_errors(api.put(f"{path}?sort_order=random"))) == ["sort_order"]


NAMES = ["Äpfel Straße", "ZOË", "Ωmega ΣΟΦΟΣ", "Žluťoučký"]


@pytest.fixture
def named_products(in_shop: Shop) -> list[int]:
    products = [make_product(name, vendor=name, product_type=name, tags=name, prices=("1.00",)) for name in NAMES]
    for product in products:
        Variant.objects.filter(product=product).update(title=product.title)
    return [product.pk for product in products]


@pytest.mark.parametrize(
    "case",
    [
        ("equals", "ÄPFEL STRASSE", [0]),
        ("equals", "äpfel strasse", [0]),
        ("equals", "A\u0308pfel straße", [0]),
        ("equals", "zoë", [1]),
        ("equals", "ωMEGA σοφος", [2]),
        ("not_equals", "zOË", [0, 2, 3]),
        ("starts_with", "äPF", [0]),
        ("ends_with", "STRASSE", [0]),
        ("contains", "OË", [1]),
        ("contains", "ŤOUČ", [3]),
        ("not_contains", "σοφ", [0, 1, 3]),
        ("equals", "apfel straße", []),
    ],
)
@pytest.mark.parametrize("column", ["title", "vendor", "type", "tag", "variant_title"])
def test_rules_ignore_case(
    api: ApiClient, named_products: list[int], column: str, case: tuple[str, str, list[int]]
) -> None:
    relation, condition, expected = case
    smart = make_smart("Chosen", (column, relation, condition))

    assert sorted(get_product_ids(api, smart)) == [named_products[number] for number in expected]


def test_every_way_of_writing_takes_the_folded_copy_along(in_shop: Shop) -> None:
    product = make_product("Ä", vendor="Ä")
    variant = Variant.objects.get(product=product)

    product.title = "Ö"
    product.save(update_fields=["title"])
    Product.objects.filter(pk=product.pk).update(vendor="Ü")
    variant.title = "ß"
    Variant.objects.bulk_update([variant], ["title"])

    assert Product.objects.values_list("title_key", "vendor_key").get(pk=product.pk) == ("ö", "ü")
    assert Variant.objects.values_list("title_key", flat=True).get(pk=variant.pk) == "ss"


def test_text_rules_read_the_index_of_the_folded_copy(in_shop: Shop) -> None:
    # With few rows, the planner may choose any index that starts with the shop.
    Product.objects.bulk_create(
        Product(shop=in_shop, title=name, vendor=name, product_type=name, handle=name)
        for name in (f"name-{number}" for number in range(1000))
    )
    collect_statistics()

    for column, index in (("title_key", "title"), ("vendor_key", "vendor"), ("product_type_key", "type")):
        plan = Product.objects.filter(**{column: "ÄPFEL"}).order_by().explain()

        # For an exact match, the planner may also choose the prefix index.
        assert any(f"catalog_product_{name}" in plan for name in (f"by_{index}", f"{index}_beginnings"))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_folding_twice_changes_nothing_and_case_never_counts(text: str) -> None:
    assert casefold_text(casefold_text(text)) == casefold_text(text)
    assert casefold_text(text.lower()) == casefold_text(text)
