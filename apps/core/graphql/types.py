"""Scalars, global ids (``gid://<brand>/<Type>/<number>``) and Relay connections with keyset pagination.

A cursor is signed and contains the sort values of a row, so inserts and deletes between pages cause no duplicates or
gaps.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Generic, NewType, TypeVar

import strawberry
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime
from strawberry.types.scalar import ScalarDefinition

from apps.core.graphql.caller import Caller
from apps.core.graphql.errors import graphql_error
from apps.core.rest.reading import keyset_pagination
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.timestamps import InvalidDate, parse_timestamp

# The argument of resolvers. Its ``context`` is the caller.
Info = strawberry.Info[Caller, None]


def _format_datetime(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parse_datetime(value: object) -> datetime:
    try:
        return parse_timestamp(_require_text(value), UTC)
    except InvalidDate:
        raise TypeError("must be a date and time in ISO 8601") from None


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("must be a string")
    return value


URL = NewType("URL", str)
ARN = NewType("ARN", str)
UnsignedInt64 = NewType("UnsignedInt64", int)

SCALARS: dict[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime",
        description="A date and time in UTC, in ISO 8601: `2026-07-01T12:00:00Z`.",
        serialize=_format_datetime,
        parse_value=_parse_datetime,
    ),
    URL: strawberry.scalar(name="URL", description="A URL.", serialize=str, parse_value=_require_text),
    ARN: strawberry.scalar(
        name="ARN", description="An Amazon Resource Name (ARN).", serialize=str, parse_value=_require_text
    ),
    UnsignedInt64: strawberry.scalar(
        name="UnsignedInt64", description="A whole number of at most 64 bits, as a string.", serialize=str
    ),
}


_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


def build_global_id(kind: str, number: int) -> strawberry.ID:
    return strawberry.ID(f"gid://{settings.BRAND}/{kind}/{number}")


def parse_global_id(text: str) -> tuple[str, int] | None:
    """Split a global id into type and number; return None if the id is invalid."""
    kind, slash, number = text.removeprefix(f"gid://{settings.BRAND}/").partition("/")
    if not text.startswith("gid://") or not slash or not _NUMBER.fullmatch(number) or int(number) >= 2**63:
        return None
    return kind, int(number)


def parse_number_of_type(text: str, kind: str) -> int | None:
    """Return the number in a global id, or None if the id is invalid or has another type."""
    parsed = parse_global_id(text)
    return parsed[1] if parsed is not None and parsed[0] == kind else None


@strawberry.interface(description="An object with a global id.")
class Node:
    id: Annotated[strawberry.ID, strawberry.field(description="The global id.")]


@strawberry.interface(description="An object that has a numeric id in the REST API.")
class LegacyInteroperability:
    legacy_resource_id: UnsignedInt64


M = TypeVar("M", bound=ShopOwned)
MAX_ROWS = keyset_pagination.MAX_LIMIT
_signer = Signer(salt="apps.core.graphql.types")


@strawberry.type(description="The position of a page in a connection.")
class PageInfo:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class ConnectionArguments:
    """The arguments of a connection. Exactly one of ``first`` and ``last`` is set."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """One page of sorted rows, with a cursor for each row."""

    rows: Sequence[M]
    cursors: Sequence[str]
    info: PageInfo


def read_connection_page(rows: QuerySet[M], order: keyset_pagination.Order, window: ConnectionArguments) -> Page[M]:
    """Return the requested page. The last ordering must be unique. Invalid arguments raise ``GraphQLError``."""
    count = _get_count(window)
    if window.reverse:
        order = tuple(map(keyset_pagination.reverse_ordering, order))
    if (after := _read_cursor(window.after, order)) is not None:
        rows = rows.filter(keyset_pagination.build_after_condition(order, after))
    opposite = tuple(map(keyset_pagination.reverse_ordering, order))
    if (before := _read_cursor(window.before, order)) is not None:
        rows = rows.filter(keyset_pagination.build_after_condition(opposite, before))
    backwards = window.last is not None
    page_rows = list(rows.order_by(*(opposite if backwards else order))[: count + 1])
    has_more, page_rows = len(page_rows) > count, page_rows[:count]
    if backwards:
        page_rows.reverse()
    cursors = [_sign_cursor(row, order) for row in page_rows]
    info = PageInfo(
        has_next_page=window.before is not None if backwards else has_more,
        has_previous_page=has_more if backwards else window.after is not None,
        start_cursor=cursors[0] if cursors else None,
        end_cursor=cursors[-1] if cursors else None,
    )
    return Page(page_rows, cursors, info)


def _get_count(window: ConnectionArguments) -> int:
    if (window.first is None) == (window.last is None):
        raise graphql_error("you must provide one of first or last")
    name, count = ("first", window.first) if window.first is not None else ("last", window.last)
    assert count is not None
    if count < 0:
        raise graphql_error(f"{name} cannot be negative")
    if count > MAX_ROWS:
        raise graphql_error(f"{name} cannot exceed {MAX_ROWS}")
    return count


def _sign_cursor(row: ShopOwned, order: keyset_pagination.Order) -> str:
    values = [getattr(row, name.lstrip("-")) for name in order]
    plain = [value.isoformat() if hasattr(value, "isoformat") else value for value in values]
    return _signer.sign_object([_get_order_name(order), *plain])


def _read_cursor(cursor: str | None, order: keyset_pagination.Order) -> keyset_pagination.CursorValues | None:
    if cursor is None:
        return None
    invalid_cursor = graphql_error("Invalid cursor for current pagination sort.")
    try:
        order_name, *values = _signer.unsign_object(cursor)
    except (BadSignature, ValueError):
        raise invalid_cursor from None
    if order_name != _get_order_name(order):
        raise invalid_cursor
    return tuple(
        parse_datetime(value) if name.endswith("_at") else value for name, value in zip(order, values, strict=True)
    )


def _get_order_name(order: keyset_pagination.Order) -> str:
    """Return the name of a sort order. Ascending and descending order have the same name."""
    return ",".join(name.lstrip("-") for name in order)
