from decimal import Decimal

import pytest

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.metafields.domain import types
from apps.metafields.domain.scalar_types import InvalidValue
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.catalog import make_product
from tests.support.types import JsonObject

LARGEST = 2**53 - 1


UNCHANGED = [
    *[("single_line_text_field", "Wool"), ("multi_line_text_field", "a\nb"), ("number_decimal", "10.40")],
    *[("date", "2026-02-28"), ("date_time", "1950-02-28T12:30:00"), ("json", '{"a": [1, 2.50]}'), ("color", "#Ff00aA")],
    *[
        ("url", "https://example.com/a?b=c"),
        ("url", "mailto:a@example.com"),
        ("url", "https://a.b"),
        ("string", "x"),
        ("json_string", "[]"),
    ],
    *[("language", "en"), ("language", "pt-BR"), ("language", "zh-Hant"), ("id", "SKU 1"), ("id", "ü")],
]


@pytest.mark.parametrize(
    ("kind", "value", "stays", "expected_output"),
    [
        *((kind, text, text, text) for kind, text in UNCHANGED),
        ("single_line_text_field", 25, "25", "25"),
        ("number_integer", 12, "12", 12),
        ("number_integer", "-12", "-12", -12),
        ("number_integer", str(LARGEST), str(LARGEST), LARGEST),
        ("number_decimal", Decimal("-0.5"), "-0.5", "-0.5"),
        ("boolean", True, "true", True),
        ("boolean", "false", "false", False),
        ("date_time", "2026-02-28T12:30:00Z", "2026-02-28T12:30:00+00:00", "2026-02-28T12:30:00+00:00"),
        ("json", {"a": [1, Decimal("2.50"), None, True, "ü"]}, '{"a":[1,2.50,null,true,"ü"]}', None),
        ("integer", "3", "3", 3),
        ("list.single_line_text_field", ["a", "b"], '["a","b"]', '["a","b"]'),
        ("list.single_line_text_field", '["a", "b"]', '["a","b"]', '["a","b"]'),
        ("list.number_integer", "[1, 2]", "[1,2]", "[1,2]"),
        ("list.number_decimal", [Decimal("1.10")], '["1.10"]', '["1.10"]'),
        ("list.color", [], "[]", "[]"),
    ],
)
def test_a_value_that_fits_is_kept_and_shown(kind: str, value: object, stays: str, expected_output: object) -> None:
    text = types.read_value(kind, value)

    assert text == stays
    assert types.render_value(kind, text) == (stays if expected_output is None else expected_output)
    assert types.read_value(kind, text) == stays


REFUSED: dict[str, list[object]] = {
    "single_line_text_field": ["a\nb", "a\rb", "", True, ["a"], "x" * 65_536],
    "multi_line_text_field": ["a\x00b"],
    "number_integer": ["1.0", Decimal(1), True, "١٢", LARGEST + 1, "1e3"],
    "number_decimal": ["1e3", Decimal("1e400"), "0.1234567890", "NaN", False],
    "boolean": [1, "yes", "True", []],
    "date": ["2026-02-29", "28.02.2026", "2026-02-28T00:00:00", 20260228],
    "date_time": ["2026-02-28", "2026-02-28T25:00", "2026-02-28T12:30:00+99:00"],
    "json": [
        *["{a: 1}", "", "   ", "[" * 33 + "]" * 33, "[1] [2]", '{"a": 1, "a": 2}', "NaN", '"' + "x" * 524_288 + '"'],
        *['{"a": "\\u0000"}', '{"\\u0000": 1}', '"\\ud800"'],
    ],
    "url": [
        *["javascript:alert(1)", "ftp://example.com/", "example", "https://a.", "https://example.com/" + "x" * 2048],
        *["mailto:", "tel:<b>"],
    ],
    "color": ["red", "#fff", None],
    "list.number_integer": [[1, "x"], {"0": 1}, "1,2"],
    "list.single_line_text_field": [["a"] * 129],
    "list.date": [[["2026-02-28"]]],
    "language": ["xx", "English", "en_US", "en-XX-1", ""],
    "id": ["a\nb", "x" * 256],
}


def is_refused(kind: str, value: object) -> bool:
    try:
        types.read_value(kind, value)
    except InvalidValue as error:
        return bool(str(error))
    return False


@pytest.mark.parametrize("kind", REFUSED)
def test_values_that_do_not_fit_are_refused(kind: str) -> None:
    assert [value for value in REFUSED[kind] if not is_refused(kind, value)] == []


UNKNOWN = ["", "text", "list.", "list.json", "list.list.date", "list.string", "shop_reference", "theme_reference"]


@pytest.mark.parametrize("name", [*UNKNOWN, "_reference"])
def test_unknown_types_are_refused(name: str) -> None:
    assert not types.is_type(name)
    with pytest.raises(LookupError):
        types.read_value(name, "x")


COMPOUND: Attrs = {
    "link": {"text": "Care", "url": "https://example.com/care"},
    "money": {"amount": "5.99", "currency_code": "EUR"},
    "weight": {"value": Decimal("2.50"), "unit": "kg"},
    "dimension": {"value": 25, "unit": "cm"},
    "volume": {"value": "20.0", "unit": "us_fl_oz"},
    "rating": {"value": "3.5", "scale_min": "1.0", "scale_max": "5.0"},
    "rich_text_field": {
        "type": "root",
        "children": [
            {"type": "heading", "level": 2, "children": [{"type": "text", "value": "Care"}]},
            {
                "type": "list",
                "listType": "ordered",
                "children": [
                    {"type": "list-item", "children": [{"type": "text", "value": "Wash", "bold": True}]},
                    {"type": "list-item", "children": [{"type": "link", "url": "https://a.example/", "children": []}]},
                ],
            },
        ],
    },
}


@pytest.mark.parametrize("kind", COMPOUND)
def test_a_composite_value_is_accepted_as_an_object_and_as_text(kind: str) -> None:
    text = types.read_value(kind, COMPOUND[kind])

    assert types.read_value(kind, text) == text
    spaced = f" {text} "
    assert types.read_value(kind, spaced) == spaced, "a text comes back byte for byte"


@pytest.mark.parametrize("kind", ["link", "weight", "dimension", "volume", "rating"])
def test_structured_values_are_allowed_in_lists(kind: str) -> None:
    text = types.read_value(f"list.{kind}", [COMPOUND[kind], COMPOUND[kind]])

    assert types.read_value(f"list.{kind}", text) == text
    assert text.count("{") == 2


@pytest.mark.parametrize("kind", ["money", "rich_text_field", "language", "id", "boolean"])
def test_types_of_one_value_have_no_list(kind: str) -> None:
    assert types.is_type(kind)
    assert not types.is_type(f"list.{kind}")


def in_root(**child: object) -> JsonObject:
    return {"type": "root", "children": [child]}


WITH_INVALID_PARTS: dict[str, list[object]] = {
    "link": [{"text": "x", "url": "javascript:alert(1)"}, {"text": ["x"], "url": "https://a.example"}],
    "money": [
        {"amount": "5.99", "currency_code": "XXX"},
        {"amount": "5.99", "currency_code": ["EUR"]},
        {"amount": "1e9", "currency_code": "EUR"},
    ],
    "weight": [{"value": "1", "unit": "stone"}, {"value": True, "unit": "kg"}, {"value": "1", "unit": ["kg"]}],
    "dimension": [{"value": "NaN", "unit": "cm"}],
    "volume": [{"value": "1", "unit": "kg"}],
    "rating": [
        {"value": "6", "scale_min": "1", "scale_max": "5"},
        {"value": "1", "scale_min": "5", "scale_max": "1"},
    ],
    "rich_text_field": [
        {"type": "paragraph", "children": []},
        {"type": "root", "children": ["x"]},
        in_root(type="script"),
        *(in_root(type="heading", level=level, children=[]) for level in (7, [1])),
        in_root(type="list", children=[]),
        in_root(type="list", listType=[], children=[]),
        in_root(type=["text"], value="x"),
        in_root(type="text", value=1),
        in_root(type="text", value="x", bold="yes"),
        in_root(type="paragraph"),
    ],
}


@pytest.mark.parametrize("kind", COMPOUND)
def test_values_with_invalid_parts_are_refused(kind: str) -> None:
    values = [{}, [], "x", 1, {**COMPOUND[kind], "more": 1}, *WITH_INVALID_PARTS[kind]]

    assert [value for value in values if not is_refused(kind, value)] == []


def test_a_text_that_is_nested_too_deeply_is_refused() -> None:
    node: JsonObject = {"type": "text", "value": "x"}
    for _ in range(13):
        node = {"type": "paragraph", "children": [node]}

    with pytest.raises(InvalidValue, match="nested"):
        types.read_value("rich_text_field", {"type": "root", "children": [node]})


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("string", "x", "single_line_text_field"),
        ("string", "x\ny", "multi_line_text_field"),
        ("integer", 3, "number_integer"),
        ("json_string", "{}", "json"),
    ],
)
@pytest.mark.parametrize("name", ["type", "value_type"])
def test_types_of_old_clients_are_read_as_their_successors(
    api: ApiClient, name: str, old: str, value: object, new: str
) -> None:
    row = {"namespace": "n", "key": "k", name: old, "value": value}

    response = api.post("metafields.json", {"metafield": row})
    beside = api.post("products.json", {"product": {"title": "Mug", "metafields": [row]}})
    changed = api.put(
        f"metafields/{response.json()['metafield']['id']}.json", {"metafield": {"value": "[1]", name: "json_string"}}
    )

    metafield = response.json()["metafield"]
    assert (response.status_code, metafield["type"], metafield["value"]) == (201, new, value)
    owned = api.get(f"products/{beside.json()['product']['id']}/metafields.json").json()["metafields"]
    assert [metafield["type"] for metafield in owned] == [new]
    assert (changed.json()["metafield"]["type"], changed.json()["metafield"]["value"]) == ("json", "[1]")


def test_the_type_wins_over_the_value_type_of_old_clients(api: ApiClient) -> None:
    row = {"namespace": "n", "key": "k", "value_type": "string", "type": "boolean", "value": True}

    assert api.post("metafields.json", {"metafield": row}).json()["metafield"]["type"] == "boolean"


def test_a_metafield_sent_back_keeps_its_old_type(api: ApiClient, in_shop: Shop) -> None:
    response = api.post(
        "metafields.json", {"metafield": {"namespace": "n", "key": "k", "type": "string", "value": "x"}}
    )
    pk = response.json()["metafield"]["id"]
    Metafield.objects.filter(pk=pk).update(type="string")
    body = api.get(f"metafields/{pk}.json").json()

    assert api.put(f"metafields/{pk}.json", body).json() == body
    changed = api.put(f"metafields/{pk}.json", {"metafield": {"value": "y"}}).json()["metafield"]
    assert (changed["type"], changed["value"]) == ("string", "y")


@pytest.mark.parametrize("name", ["variant", "variants"])
def test_owners_are_named_in_the_singular_and_as_paths_name_them(api: ApiClient, in_shop: Shop, name: str) -> None:
    variant = make_product(prices=("1.00",)).variants.get()
    row = {"namespace": "n", "key": "k", "type": "boolean", "value": True}
    owner = {"owner_resource": name, "owner_id": variant.pk}

    response = api.post("metafields.json", {"metafield": row | owner})
    matching_response = api.get("metafields.json", **{f"metafield[{part}]": value for part, value in owner.items()})

    assert (response.status_code, response.json()["metafield"]["owner_resource"]) == (201, "variant")
    assert matching_response.json()["metafields"] == [response.json()["metafield"]]


def test_an_id_is_given_once_per_kind_of_owner_and_name(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    row = {"namespace": "erp", "key": "number", "type": "id", "value": "A1"}

    def product(**fields: object) -> Response:
        return api.post("products.json", {"product": {"title": "Mug", "metafields": [row | fields]}})

    first, second = product().json()["product"], product(value="A2").json()["product"]
    repeated = product()
    own = f"products/{second['id']}/metafields"
    moved = api.get(f"{own}.json").json()["metafields"][0]["id"]
    changed = api.put(f"{own}/{moved}.json", {"metafield": {"value": "A1"}})
    text = api.post(f"{own}.json", {"metafield": row | {"key": "n2", "type": "single_line_text_field"}})
    of_shop = api.post("metafields.json", {"metafield": row})

    assert get_errors(repeated) == {"metafields.0.value": ["has already been taken"]}
    assert get_errors(changed) == {"value": ["has already been taken"]}
    assert api.get(f"{own}/{moved}.json").json()["metafield"]["value"] == "A2"
    assert (text.status_code, of_shop.status_code) == (201, 201), "other names, types and kinds are their own"
    assert api.get("products/count.json").json() == {"count": 2}
    second_response = api.put(f"products/{first['id']}.json", {"product": {"metafields": [row]}})
    assert second_response.status_code == 200, "the same value of the same owner"
