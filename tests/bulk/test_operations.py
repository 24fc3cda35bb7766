"""Tests for how bulk operations change values."""

from typing import Any

import pytest

from apps.bulk.domain.operations import ValueRefused, apply_operations, format_value
from apps.ground.tags import MAX_TAGS


def change_price(how: str, value: str = "", rounding: str = "") -> dict[str, Any]:
    return {"price": {"how": how, "value": value, "round": rounding}}


@pytest.mark.parametrize(
    ("present", "operation", "currency", "after"),
    [
        ("10.00", change_price("percent", "-10"), "USD", "9.00"),
        ("9.99", change_price("percent", "7.5"), "USD", "10.74"),
        ("0.05", change_price("percent", "10"), "USD", "0.06"),
        ("999", change_price("percent", "10"), "JPY", "1099"),
        ("1.005", change_price("percent", "50"), "KWD", "1.508"),
        ("10.00", change_price("amount", "-2.5"), "USD", "7.50"),
        ("10.00", change_price("set", "12"), "USD", "12.00"),
        ("10.00", change_price("percent", "3", "0.99"), "USD", "10.99"),
        ("10.99", change_price("percent", "0", "0.99"), "USD", "10.99"),
        ("10.00", change_price("percent", "3", "0.05"), "USD", "10.30"),
        ("10.00", change_price("percent", "-100", "0.99"), "USD", "0.00"),
        ("14", change_price("percent", "10", "10"), "JPY", "20"),
    ],
)
def test_amounts_are_exact_and_rounded_once(present: str, operation: dict[str, Any], currency: str, after: str) -> None:
    assert {"price": {"1": present}, **apply_operations({"price": {"1": present}}, operation, currency)} == {
        "price": {"1": after}
    }


@pytest.mark.parametrize("operation", [change_price("amount", "-10.01"), change_price("percent", "99999999999999")])
def test_an_amount_that_no_price_can_be_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(ValueRefused):
        apply_operations({"price": {"1": "10.00"}}, operation, "USD")


def test_prices_are_copied_from_what_stood_there_before() -> None:
    values = {"price": {"1": "10.00", "2": "5.00"}, "compare_at_price": {"1": None, "2": "8.00"}}
    sale = {"price": change_price("percent", "-20")["price"], "compare_at_price": {"how": "copy"}}

    assert apply_operations(values, sale, "USD") == {
        "price": {"1": "8.00", "2": "4.00"},
        "compare_at_price": {"1": "10.00", "2": "5.00"},
    }
    over = {"price": {"how": "copy"}, "compare_at_price": {"how": "clear"}}
    assert apply_operations(values, over, "USD") == {
        "price": {"1": "10.00", "2": "8.00"},
        "compare_at_price": {"1": None, "2": None},
    }


def test_a_missing_compare_at_price_is_neither_raised_nor_lowered() -> None:
    operation = {"compare_at_price": {"how": "percent", "value": "10"}}

    assert apply_operations({"compare_at_price": {"1": None}}, operation, "USD") == {}


def test_tags_are_added_and_removed_case_insensitively() -> None:
    operation = {"tags": {"add": ["new", "Sale"], "remove": ["OLD"]}}

    assert apply_operations({"tags": "old, SALE"}, operation, "USD") == {"tags": "new, SALE"}
    assert apply_operations({"tags": "new, sale"}, operation, "USD") == {}


def test_more_tags_than_a_row_can_have_are_refused() -> None:
    full = ", ".join(f"t{number:03}" for number in range(MAX_TAGS))

    with pytest.raises(ValueRefused, match="too many tags"):
        apply_operations({"tags": full}, {"tags": {"add": ["one more"], "remove": []}}, "USD")


def test_prices_of_many_variants_are_shown_as_a_range() -> None:
    assert format_value({"1": "9.00", "2": "10.00", "3": "9.50"}) == "9.00 – 10.00"
