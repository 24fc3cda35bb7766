"""Parsers accept random input or reject it with a proper error, within a time limit.

The suite tries a few fixed inputs; ``make soak`` tries new ones.
"""

import io
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.serializers import ValidationError

from apps.content.domain.theme_archive import open_theme
from apps.core.media.zip_reader import ArchiveRefused
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.reading import keyset_pagination
from apps.core.rest.resources.fields import PriceField
from apps.core.search_query import QuerySyntaxError, parse_query
from apps.core.search_query.database import QueryValueError
from apps.core.search_query.predicate import compile_filter
from apps.core.search_query.values import parse_interval
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import Attrs
from apps.customers.domain.search_fields import SEARCH
from tests.support.files.zip_files import ZipEntry, make_zip
from tests.support.timing import scale_for_soak

_COMMON: Attrs = {
    "deadline": timedelta(seconds=10),
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "database": None,
}
SHORT = settings(max_examples=150, derandomize=True, **_COMMON)
LONG = settings(max_examples=scale_for_soak(100_000), derandomize=False, **_COMMON)
BOTH = pytest.mark.parametrize(
    "how",
    [pytest.param(SHORT, id="short"), pytest.param(LONG, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(0)])],
)

ZONE = ZoneInfo("America/New_York")
WORDS = (
    *("AND", "OR", "NOT", "(", ")", '"', "\\", ":", ":>", ":<=", "*", "-", " ", ",", ".", "..", "\n"),
    *("email", "country", "tag", "created_at", "total_spent", "orders_count", "state", "line_items.sku"),
    *("2025-07-02", "T11:38:15Z", "1", "-1", "0.5", "1e9", "NaN", "true"),
    *("a", "é", "😀", "\u202e", "\u200b", "'", "%", "_"),
)
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=60).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=10,
)


def run_examples(how: settings, strategy: st.SearchStrategy[Any], target: Callable[[Any], None]) -> None:
    how(given(strategy)(target))()


@BOTH
def test_the_search_parser_reads_or_refuses(how: settings, shop: Shop) -> None:
    def target(text: str) -> None:
        with suppress(QuerySyntaxError, QueryValueError):
            for condition in SEARCH.compile_alternatives(parse_query(text), zone=ZONE):
                assert condition is not None

    with shop_scope(shop):
        run_examples(how, TEXTS, target)


@BOTH
def test_the_filter_parser_reads_or_refuses(how: settings) -> None:
    def target(case: tuple[str, dict[str, object]]) -> None:
        text, payload = case
        with suppress(QuerySyntaxError):
            assert compile_filter(text)(payload) in {True, False}

    run_examples(how, st.tuples(TEXTS, st.dictionaries(st.sampled_from(WORDS), JSON, max_size=4)), target)


def make_page_token() -> str:
    return keyset_pagination.create_page_token(
        "next", (1, "a", None), order=("title", "id"), filters={"a": "b"}, shop_id=1, route="x"
    )


@BOTH
def test_a_page_token_is_ours_or_refused(how: settings) -> None:
    good = make_page_token()

    def target(token: str) -> None:
        with suppress(BadRequest):
            page = keyset_pagination.parse_page_request({"page_info": token}, shop_id=1, route="x")
            assert token == good, "nobody else can sign"
            assert page.filters == {"a": "b"}

    places = st.integers(0, len(good) - 1)
    changed = st.tuples(places, st.characters()).map(
        lambda change: good[: change[0]] + change[1] + good[change[0] + 1 :]
    )
    truncated = places.map(lambda index: good[:index])
    run_examples(how, TEXTS | changed | truncated | st.just(good), target)


@BOTH
def test_an_archive_is_unpacked_or_refused(how: settings) -> None:
    good = make_zip(
        ZipEntry("layout/theme.liquid"), ZipEntry("assets/a.css", b"a" * 500), ZipEntry("config/x.json", b"{}")
    )

    def target(data: bytes) -> None:
        with suppress(ArchiveRefused):
            for _, reader in open_theme(io.BytesIO(data)):
                assert len(reader.read()) <= 20 * 2**20

    places = st.integers(0, len(good) - 1)
    patches = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=8)

    def patched(changes: list[tuple[int, int]]) -> bytes:
        data = bytearray(good)
        for index, value in changes:
            data[index] = value
        return bytes(data)

    run_examples(how, st.binary(max_size=300) | patches.map(patched) | places.map(lambda length: good[:length]), target)


@BOTH
def test_a_link_header_is_one_line_that_says_what_was_asked(how: settings) -> None:
    def target(fields: str) -> None:
        header = keyset_pagination.build_link_header(
            "/admin/api/2026-10/x.json", {"next": make_page_token()}, limit=5, fields=fields
        )

        assert header.isascii()
        assert header.isprintable()
        match = re.fullmatch(r'<([^<>\s,]+)>; rel="next"', header)
        assert match is not None, header
        parameters = parse_qs(urlsplit(match[1]).query, keep_blank_values=True)
        assert parameters["fields"] == [fields]
        assert parameters["limit"] == ["5"]

    run_examples(how, TEXTS.filter(lambda text: text.isprintable()), target)


@BOTH
def test_an_amount_is_exact_or_refused(how: settings, shop: Shop) -> None:
    field = PriceField()
    field.field_name = "price"

    def target(value: object) -> None:
        with suppress(ValidationError):
            amount = field.run_validation(value)
            assert isinstance(amount, Decimal)
            assert amount.is_finite()
            assert amount == Decimal(str(value))

    digits = st.from_regex(r"[+-]?[0-9٠-٩]{0,20}[.,]?[0-9]{0,6}(e[0-9]{1,3})?", fullmatch=True)
    numbers = st.decimals(allow_nan=True) | st.integers() | st.booleans() | st.lists(st.integers(), max_size=2)
    with shop_scope(shop):
        run_examples(how, TEXTS | digits | numbers, target)


@BOTH
def test_a_moment_is_read_or_refused(how: settings) -> None:
    def target(text: str) -> None:
        with suppress(InvalidDate):
            assert parse_timestamp(text, ZONE).tzinfo is not None
        with suppress(ValueError):
            start, end = parse_interval(text, ZONE)
            assert start < end

    shaped = st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
        r"|(Thu )?(Mar|Foo) [0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} (UTC |[+-][0-9]{4} )?[0-9]{4}"
        r"|(March|Mar) [0-9]{1,2}, [0-9]{4}"
        r"|[0-9]{1,2} Mar [0-9]{4} [0-9:]{5,8} (GMT|-0000|[+-][0-9]{4})",
        fullmatch=True,
    )
    run_examples(how, TEXTS | shaped, target)
