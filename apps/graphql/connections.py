"""Connections: pages of rows by keyset, with signed cursors.

A cursor holds the order's values of its row, so rows that come or go meanwhile neither repeat nor hide others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import strawberry
from django.core.signing import BadSignature, Signer
from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime

from apps.api.rows import paging
from apps.graphql.errors import refusal
from apps.ground.rows import ShopOwned

M = TypeVar("M", bound=ShopOwned)
MAX_ROWS = paging.MAX_LIMIT
_signer = Signer(salt="apps.graphql.connections")


@strawberry.type(description="Where a page lies among all rows.")
class PageInfo:
    """What is beside a page."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class Window:
    """The arguments of a connection.

    Attributes:
        first, last: How many rows, from which side; one of them is given.
        after, before: The cursor beside which the page begins.
        reverse: Whether the order is turned around.
    """

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Rows in their order, each with its cursor."""

    rows: Sequence[M]
    cursors: Sequence[str]
    info: PageInfo


def page_of(rows: QuerySet[M], order: paging.Order, window: Window) -> Page[M]:
    """The page of a window.

    Args:
        rows: All rows of the connection.
        order: ORM orderings; the last is unique.
        window: What was asked for.

    Raises:
        GraphQLError: The window is none, or a cursor is foreign to the order.
    """
    count = _count(window)
    if window.reverse:
        order = tuple(map(paging.turned, order))
    if (after := _place(window.after, order)) is not None:
        rows = rows.filter(paging.behind(order, after))
    opposite = tuple(map(paging.turned, order))
    if (before := _place(window.before, order)) is not None:
        rows = rows.filter(paging.behind(opposite, before))
    backwards = window.last is not None
    found = list(rows.order_by(*(opposite if backwards else order))[: count + 1])
    more, found = len(found) > count, found[:count]
    if backwards:
        found.reverse()
    cursors = [_cursor(row, order) for row in found]
    return Page(found, cursors, _info(window, cursors, more=more, backwards=backwards))


def _info(window: Window, cursors: Sequence[str], *, more: bool, backwards: bool) -> PageInfo:
    return PageInfo(
        has_next_page=window.before is not None if backwards else more,
        has_previous_page=more if backwards else window.after is not None,
        start_cursor=cursors[0] if cursors else None,
        end_cursor=cursors[-1] if cursors else None,
    )


def _count(window: Window) -> int:
    if (window.first is None) == (window.last is None):
        raise refusal("you must provide one of first or last")
    name, count = ("first", window.first) if window.first is not None else ("last", window.last)
    assert count is not None
    if count < 0:
        raise refusal(f"{name} cannot be negative")
    if count > MAX_ROWS:
        raise refusal(f"{name} cannot exceed {MAX_ROWS}")
    return count


def _cursor(row: ShopOwned, order: paging.Order) -> str:
    values = [getattr(row, name.lstrip("-")) for name in order]
    plain = [value.isoformat() if hasattr(value, "isoformat") else value for value in values]
    return _signer.sign_object([_name_of(order), *plain])


def _place(cursor: str | None, order: paging.Order) -> paging.Place | None:
    if cursor is None:
        return None
    wrong = refusal("Invalid cursor for current pagination sort.")
    try:
        name, *values = _signer.unsign_object(cursor)
    except (BadSignature, ValueError):
        raise wrong from None
    if name != _name_of(order):
        raise wrong
    return tuple(_value(field, value) for field, value in zip(order, values, strict=True))


def _value(field: str, value: Any) -> Any:
    return parse_datetime(value) if field.lstrip("-").endswith("_at") else value


def _name_of(order: paging.Order) -> str:
    """The order, whichever way it runs."""
    return ",".join(name.lstrip("-") for name in order)
