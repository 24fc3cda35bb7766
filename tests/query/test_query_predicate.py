from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core.search_query import QuerySyntaxError, parse_query
from apps.core.search_query.predicate import compile_filter, compile_predicate, get_field_paths
from apps.core.types import Attrs
from tests.query.test_query_parser import GOLDEN
from tests.support.function_calls import count_calls
from tests.support.types import JsonObject

PRODUCT: Attrs = {
    "id": 632910392,
    "title": "The Miseducation of",
    "status": "active",
    "product_type": "Music",
    "tags": "Soul, R&B, New York",
    "vendor": None,
    "note": "",
    "options": [],
    "updated_at": "2026-03-02T10:00:00-05:00",
    "image": {"alt": "Cover", "width": 1.5},
    "variants": [
        {
            "title": "Album (CD)",
            "price": "9.99",
            "weight": 0.3,
            "taxable": False,
            "prices": [{"amount": 1}, {"amount": 2}],
        },
        {"title": "Boxed set", "price": "120.00", "weight": 6, "taxable": True, "prices": []},
    ],
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"status": "Active"}, False),
        ({"product_type": "Movies"}, True),
        ({"product_type": "Books"}, False),
        ({"id": None}, False),
        ({"invalid_field": 0}, False),
        ({"invalid_field": None}, True),
        ({"variants": PRODUCT["variants"][:1]}, False),
        ({"variants": "Album"}, False),
    ],
)
def test_documented_example_matches_as_documented(change: JsonObject, expected: bool) -> None:
    matches = compile_filter(GOLDEN)

    assert matches({**PRODUCT, **change}) is expected


ON_PRODUCT = {
    "title:'The Miseducation of'": True,
    "title:'the miseducation of'": False,
    "title:The": False,
    "title:The*": True,
    "title:the*": False,
    "id:632910392": True,
    "id:'632910392'": True,
    "id:632910392.0": True,
    "id:6329*": True,
    "variants.price:9.99": True,
    "variants.price:9.990": False,
    "variants.taxable:true": True,
    "variants.taxable:True": False,
    "image.alt:Cover": True,
    "image.width:1.50": True,
    "image.width:*": True,
    "image:*": True,
    "image.alt.deeper:*": False,
    "title.deeper:x": False,
    "variants.title:Album*  variants.price:>100": True,  # each condition matches a different element
    "variants.prices.amount:2": True,
    "variants.prices.amount:>2": False,
    "-variants.title:'Boxed set'": False,
    "-variants.title:Missing": True,
    "NOT (status:draft OR status:active)": False,
    "a:1 OR status:active AND status:active": True,
    "status:active AND a:1 OR b:2": False,
    "a:1 OR b:2 AND c:3 OR status:active": False,
    # Times are in the zone of the payload.
    "updated_at:>2026-03-02T09:59:59-05:00": True,
    "updated_at:>2026-03-02T14:59:59Z": True,
    "updated_at:>'2026-03-02 15:00:00 UTC'": False,
    "updated_at:>='2026-03-02 15:00:00 UTC'": True,
    "updated_at:>=2026-03-02T10:00:00": True,
    "updated_at:<2026-03-02T10:00:00": False,
    "updated_at:<'2026-03-02 10:01'": True,
    "updated_at:>2026-03-01": True,
    "updated_at:>2026-03-02": False,
    "updated_at:>=2026-03-02": True,
    "updated_at:<=2026-03-02": True,
    "updated_at:<2026-03-02": False,
    "updated_at:<'Mon, 02 Mar 2026 15:00:01 GMT'": True,
    "updated_at:<2026-02-30": False,
    "updated_at:>9999-12-31": False,
    "title:>2026-03-01": False,
}


def test_predicate_compares_exactly_through_arrays_and_in_the_payloads_zone() -> None:
    assert {text: compile_filter(text)(PRODUCT) for text in ON_PRODUCT} == ON_PRODUCT


def test_predicate_takes_tags_as_keywords() -> None:
    expected = {
        "tags:Soul": True,
        "tags:'New York'": True,
        "tags:soul": False,
        "tags:York": False,
        "tags:New*": True,
        "tags:*": True,
        "-tags:Jazz": True,
    }

    for payload in (PRODUCT, {"tags": ["Soul", "R&B", "New York"]}):
        assert {text: compile_filter(text)(payload) for text in expected} == expected


def test_predicate_counts_null_empty_and_missing_as_absent() -> None:
    fields = ("vendor", "note", "options", "missing", "image.missing", "missing.below", "options.name")
    expected = {f"{field}:*": False for field in fields} | {f"-{field}:*": True for field in fields}

    assert {text: compile_filter(text)(PRODUCT) for text in expected} == expected


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (5, "a:<5", False),
        (5, "a:<=5", True),
        (5, "a:>4.999", True),
        (0.1, "a:>=0.1", True),
        (0.1, "a:>0.1", False),
        ("100.00", "a:>=100", True),
        ("99.99", "a:>=100", False),
        ("9", "a:<10", True),
        (-1, "a:<-0.5", True),
        (2**70, "a:>1", True),
        (True, "a:>0", False),
        (None, "a:<1", False),
        ("", "a:<1", False),
        ("1e9", "a:>1", False),
        ("nine", "a:<zebra", False),
        (float("nan"), "a:<1", False),
        ({}, "a:>=0", False),
    ],
)
def test_predicate_orders_numbers_and_decimal_texts(value: object, text: str, expected: bool) -> None:
    assert compile_filter(text)({"a": value}) is expected


@pytest.mark.parametrize(("text", "position"), [("Music", 0), ("id:1 Music", 5), ("id:1 OR -(*)", 10)])
def test_filter_refuses_a_term_without_a_field(text: str, position: int) -> None:
    with pytest.raises(QuerySyntaxError) as error_info:
        compile_filter(text)

    assert error_info.value.position == position
    assert error_info.value.message == (
        "The specified filter is invalid, please ensure you specify the field(s) you wish to filter on."
    )


def test_fields_of_names_every_path_once() -> None:
    assert get_field_paths(parse_query("id:1 -(variants.price:>2 OR id:*) word")) == {"id", "variants.price"}


def test_predicate_bears_payloads_nested_deeper_than_the_stack() -> None:
    nested: object = {"b": "found"}
    for _ in range(100_000):
        nested = [nested]

    assert compile_filter("a.b:found")({"a": nested}) is True


def test_predicate_takes_steps_in_proportion_to_the_payload() -> None:
    matches = compile_filter("a.b.c:x AND -a.b:* OR a.b.c:<5")
    payloads = ({"a": [{"b": [{"c": index} for index in range(5, 25)]} for _ in range(size)]} for size in (200, 400))

    first, second = (count_calls(partial(matches, payload)) for payload in payloads)

    assert second <= 2.05 * first


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.datetimes().map(lambda moment: moment.isoformat())
    | st.sampled_from(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "5", "5.0", "-7"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "tags"]), inner, max_size=3),
    max_leaves=12,
)
FILTERS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["a", "b", "tags", "a.b", "a.tags", "b.a.b"]),
    st.sampled_from([":", ":<", ":<=", ":>", ":>="]),
    st.sampled_from(
        ["5", "5.00", "'2026-03-02'", "0001-01-01", "9999-12-30T10:00:00-12:00", "true", "x", "''", "1000000000000"]
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(["a", "b", "tags"]), JSON, max_size=3),
    FILTERS | st.sampled_from(["a:*", "a.b:x*", "tags:5*", "b:5*"]),
)
def test_predicate_never_raises_and_negation_is_the_opposite(payload: JsonObject, text: str) -> None:
    plain, negated = compile_predicate(parse_query(text)), compile_predicate(parse_query(f"-({text})"))

    assert plain(payload) is not negated(payload)
