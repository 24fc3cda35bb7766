"""What each type of metafield takes, keeps and shows."""

from decimal import Decimal
from typing import Any

import pytest

from apps.metafields.domain import types

LARGEST = 2**53 - 1


@pytest.mark.parametrize(
    ("kind", "value", "kept", "shown"),
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
def test_a_value_that_fits_is_kept_and_shown(kind: str, value: Any, kept: str, shown: Any) -> None:
    text = types.read(kind, value)

    assert text == kept
    assert types.show(kind, text) == (kept if shown is None else shown)
    assert types.read(kind, text) == kept


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
def test_a_value_that_does_not_fit_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(types.Unfit, match=r"."):
        types.read(kind, value)


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
def test_what_is_no_type(name: str) -> None:
    assert not types.is_type(name)
    with pytest.raises(LookupError):
        types.read(name, "x")
