"""Tests for metafield types: accepted input, stored values and output."""

from decimal import Decimal

import pytest

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.metafields.domain import types
from apps.metafields.domain.scalar_types import InvalidValue
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, Response
from tests.support.factories.catalog import make_product
from tests.support.types import JsonObject

LARGEST = 2**53 - 1


@pytest.mark.parametrize(
    ("kind", "value", "stays", "expected_output"),
    [
        ("single_line_text_field", "Wool", "Wool", "Wool"),
        ("single_line_text_field", 25, "25", "25"),
        ("multi_line_text_field", "a\nb", "a\nb", "a\nb"),
        ("number_integer", 12, "12", 12),
        ("number_integer", "-12", "-12", -12),
        ("number_integer", str(LARGEST), str(LARGEST), LARGEST),
        ("number_decimal", "10.40", "10.40", "10.40"),
        ("number_decimal", Decimal("-0.5"), "-0.5", "-0.5"),
        ("boolean", True, "true", True),
        ("boolean", "false", "false", False),
        ("date", "2026-02-28", "2026-02-28", "2026-02-28"),
        ("date_time", "1950-02-28T12:30:00", "1950-02-28T12:30:00", "1950-02-28T12:30:00"),
        ("date_time", "2026-02-28T12:30:00Z", "2026-02-28T12:30:00+00:00", "2026-02-28T12:30:00+00:00"),
        ("json", '{"a": [1, 2.50]}', '{"a": [1, 2.50]}', '{"a": [1, 2.50]}'),
        ("json", {"a": [1, Decimal("2.50"), None, True, "ü"]}, '{"a":[1,2.50,null,true,"ü"]}', None),
        ("url", "https://example.com/a?b=c", "https://example.com/a?b=c", "https://example.com/a?b=c"),
        ("color", "#Ff00aA", "#Ff00aA", "#Ff00aA"),
        ("url", "mailto:a@example.com", "mailto:a@example.com", "mailto:a@example.com"),
        ("string", "x", "x", "x"),
        ("integer", "3", "3", 3),
        ("json_string", "[]", "[]", "[]"),
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


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("single_line_text_field", "a\nb"),
        ("single_line_text_field", "a\rb"),
        ("single_line_text_field", ""),
        ("single_line_text_field", True),
        ("single_line_text_field", ["a"]),
        ("single_line_text_field", "x" * 65_536),
        ("multi_line_text_field", "a\x00b"),
        ("number_integer", "1.0"),
        ("number_integer", Decimal(1)),
        ("number_integer", True),
        ("number_integer", "١٢"),
        ("number_integer", LARGEST + 1),
        ("number_integer", "1e3"),
        ("number_decimal", "1e3"),
        ("number_decimal", Decimal("1e400")),
        ("number_decimal", "0.1234567890"),
        ("number_decimal", "NaN"),
        ("number_decimal", False),
        ("boolean", 1),
        ("boolean", "yes"),
        ("boolean", "True"),
        ("boolean", []),
        ("date", "2026-02-29"),
        ("date", "28.02.2026"),
        ("date", "2026-02-28T00:00:00"),
        ("date", 20260228),
        ("date_time", "2026-02-28"),
        ("date_time", "2026-02-28T25:00"),
        ("date_time", "2026-02-28T12:30:00+99:00"),
        ("json", "{a: 1}"),
        ("json", ""),
        ("json", "   "),
        ("json", "[" * 33 + "]" * 33),
        ("json", "[1] [2]"),
        ("json", '{"a": 1, "a": 2}'),
        ("json", '{"a": "\\u0000"}'),
        ("json", '{"\\u0000": 1}'),
        ("json", '"\\ud800"'),
        ("json", "NaN"),
        ("json", '"' + "x" * 524_288 + '"'),
        ("url", "javascript:alert(1)"),
        ("url", "ftp://example.com/"),
        ("url", "example"),
        ("url", "https://example.com/" + "x" * 2048),
        ("color", "red"),
        ("color", "#fff"),
        ("color", None),
        ("list.number_integer", [1, "x"]),
        ("list.number_integer", {"0": 1}),
        ("list.number_integer", "1,2"),
        ("list.single_line_text_field", ["a"] * 129),
        ("list.date", [["2026-02-28"]]),
    ],
)
def test_a_value_that_does_not_fit_is_refused(kind: str, value: object) -> None:
    with pytest.raises(InvalidValue, match=r"."):
        types.read_value(kind, value)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "text",
        "list.",
        "list.json",
        "list.list.date",
        "list.string",
        "shop_reference",
        "page_reference",
        "_reference",
    ],
)
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
PLAIN = {"language": ["en", "pt-BR", "zh-Hant"], "id": ["SKU 1", "ü"]}


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


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in PLAIN.items() for value in values])
def test_languages_and_ids_are_texts(kind: str, value: str) -> None:
    assert types.read_value(kind, value) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((kind, {}) for kind in COMPOUND),
        *((kind, []) for kind in COMPOUND),
        *((kind, "x") for kind in COMPOUND),
        *((kind, 1) for kind in COMPOUND),
        *((kind, {**COMPOUND[kind], "more": 1}) for kind in COMPOUND),
        ("link", {"text": "x", "url": "javascript:alert(1)"}),
        ("link", {"text": ["x"], "url": "https://a.example"}),
        ("money", {"amount": "5.99", "currency_code": "XXX"}),
        ("money", {"amount": "5.99", "currency_code": ["EUR"]}),
        ("money", {"amount": "1e9", "currency_code": "EUR"}),
        ("weight", {"value": "1", "unit": "stone"}),
        ("weight", {"value": True, "unit": "kg"}),
        ("weight", {"value": "1", "unit": ["kg"]}),
        ("dimension", {"value": "NaN", "unit": "cm"}),
        ("volume", {"value": "1", "unit": "kg"}),
        ("rating", {"value": "6", "scale_min": "1", "scale_max": "5"}),
        ("rating", {"value": "1", "scale_min": "5", "scale_max": "1"}),
        ("rich_text_field", {"type": "paragraph", "children": []}),
        ("rich_text_field", {"type": "root", "children": [{"type": "script"}]}),
        ("rich_text_field", {"type": "root", "children": ["x"]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "heading", "level": 7, "children": []}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "heading", "level": [1], "children": []}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "list", "children": []}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "list", "listType": [], "children": []}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": ["text"], "value": "x"}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "text", "value": 1}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "text", "value": "x", "bold": "yes"}]}),
        ("rich_text_field", {"type": "root", "children": [{"type": "paragraph"}]}),
        ("language", "xx"),
        ("language", "English"),
        ("language", "en_US"),
        ("language", "en-XX-1"),
        ("language", ""),
        ("id", "a\nb"),
        ("id", "x" * 256),
        ("url", "mailto:"),
        ("url", "tel:<b>"),
    ],
)
def test_a_value_with_invalid_parts_is_refused(kind: str, value: object) -> None:
    with pytest.raises(InvalidValue, match=r"."):
        types.read_value(kind, value)


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
def test_types_of_old_clients_are_read_as_their_successors(api: ApiClient, old: str, value: object, new: str) -> None:
    body = {"metafield": {"namespace": "n", "key": "k", "type": old, "value": value}}

    response = api.post("metafields.json", body)

    assert response.status_code == 201, response.content
    assert (response.json()["metafield"]["type"], response.json()["metafield"]["value"]) == (new, value)


def test_a_metafield_sent_back_keeps_its_old_type(api: ApiClient, shop: Shop) -> None:
    response = api.post(
        "metafields.json", {"metafield": {"namespace": "n", "key": "k", "type": "string", "value": "x"}}
    )
    pk = response.json()["metafield"]["id"]
    with shop_scope(shop):
        Metafield.objects.filter(pk=pk).update(type="string")
    body = api.get(f"metafields/{pk}.json").json()

    assert api.put(f"metafields/{pk}.json", body).json() == body
    changed = api.put(f"metafields/{pk}.json", {"metafield": {"value": "y"}}).json()["metafield"]
    assert (changed["type"], changed["value"]) == ("string", "y")


@pytest.mark.parametrize("name", ["variant", "variants"])
def test_owners_are_named_in_the_singular_and_as_paths_name_them(api: ApiClient, shop: Shop, name: str) -> None:
    with shop_scope(shop):
        variant = make_product(prices=("1.00",)).variants.get()
    row = {"namespace": "n", "key": "k", "type": "boolean", "value": True}
    owner = {"owner_resource": name, "owner_id": variant.pk}

    response = api.post("metafields.json", {"metafield": row | owner})
    matching_response = api.get("metafields.json", **{f"metafield[{part}]": value for part, value in owner.items()})

    assert (response.status_code, response.json()["metafield"]["owner_resource"]) == (201, "variant")
    assert matching_response.json()["metafields"] == [response.json()["metafield"]]
    nobody = api.get("metafields.json", **{"metafield[owner_resource]": "", "metafield[owner_id]": "1"})
    assert nobody.status_code == 400


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [("string", "x", "single_line_text_field"), ("integer", 3, "number_integer"), ("json_string", "{}", "json")],
)
def test_the_value_type_of_old_clients_is_read_as_the_type(api: ApiClient, old: str, value: object, new: str) -> None:
    row = {"namespace": "n", "key": "k", "value_type": old, "value": value}

    response = api.post("metafields.json", {"metafield": row})
    beside = api.post("products.json", {"product": {"title": "Mug", "metafields": [row]}})
    full_response = api.post("metafields.json", {"metafield": row | {"key": "w", "type": "boolean", "value": True}})

    assert response.status_code == 201, response.content
    path = f"metafields/{response.json()['metafield']['id']}.json"
    assert (response.json()["metafield"]["type"], response.json()["metafield"]["value"]) == (new, value)
    owned = api.get(f"products/{beside.json()['product']['id']}/metafields.json").json()["metafields"]
    assert [metafield["type"] for metafield in owned] == [new]
    assert full_response.json()["metafield"]["type"] == "boolean", "the type itself wins"
    changed = api.put(path, {"metafield": {"value": "[1]", "value_type": "json_string"}}).json()["metafield"]
    assert (changed["type"], changed["value"]) == ("json", "[1]")


def test_an_id_is_given_once_per_kind_of_owner_and_name(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    row = {"namespace": "erp", "key": "number", "type": "id", "value": "A1"}
    errors = {"errors": {"value": ["has already been taken"]}}

    def product(**fields: object) -> Response:
        return api.post("products.json", {"product": {"title": "Mug", "metafields": [row | fields]}})

    first, second = product().json()["product"], product(value="A2").json()["product"]
    repeated = product()
    own = f"products/{second['id']}/metafields"
    moved = api.get(f"{own}.json").json()["metafields"][0]["id"]
    changed = api.put(f"{own}/{moved}.json", {"metafield": {"value": "A1"}})
    text = api.post(f"{own}.json", {"metafield": row | {"key": "n2", "type": "single_line_text_field"}})
    of_shop = api.post("metafields.json", {"metafield": row})

    assert (repeated.status_code, repeated.json()) == (
        422,
        {"errors": {"metafields.0.value": ["has already been taken"]}},
    )
    assert (changed.status_code, changed.json()) == (422, errors)
    assert api.get(f"{own}/{moved}.json").json()["metafield"]["value"] == "A2"
    assert (text.status_code, of_shop.status_code) == (201, 201), "other names, types and kinds are their own"
    assert api.get("products/count.json").json() == {"count": 2}
    second_response = api.put(f"products/{first['id']}.json", {"product": {"metafields": [row]}})
    assert second_response.status_code == 200, "the same value of the same owner"
