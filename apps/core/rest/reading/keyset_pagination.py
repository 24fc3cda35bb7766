"""Keyset pagination: a page begins after the sort values of a neighboring row, never at an offset.

The token in ``page_info`` contains these values together with the filters and the order of the first request. The token
is signed and bound to the shop and the route.
"""

import base64
import binascii
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac

from apps.core.db.lookups import in_materialized
from apps.core.db.sort_tables import map_to_sort_columns, order_rows
from apps.core.i18n.error_messages import between
from apps.core.rest.exceptions import BadRequest
from apps.core.tenancy.shop_owned import ShopOwned

DEFAULT_LIMIT = 50
MAX_LIMIT = 250
TOKEN_LIFETIME = 7 * 24 * 3600
LINK_DAY_SECONDS = 24 * 3600
_LIMIT = re.compile(r"[0-9]{1,9}", re.ASCII)
_ORDER = re.compile(r"\s*(\w{1,30})(?:\s+(asc|desc))?\s*", re.ASCII | re.IGNORECASE)
_SALT = "apps.core.rest.reading.keyset_pagination"

Direction = Literal["next", "previous"]
Order = tuple[str, ...]
# The values of a row in the columns of a sort order.
CursorValues = Sequence[Any]
M = TypeVar("M", bound=ShopOwned)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start of a page: the sort values of the neighboring row, and the direction of the page."""

    direction: Direction
    values: CursorValues


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A requested page. ``filters``, ``cursor`` and ``order`` are from the token, except on the first page."""

    limit: int
    filters: Mapping[str, str]
    cursor: Cursor | None = None
    order: Order | None = None


def parse_limit(text: str | None) -> int:
    """Parse the page size of at least 1. Values above the maximum are reduced to the maximum."""
    if text is None:
        return DEFAULT_LIMIT
    if not _LIMIT.fullmatch(text) or int(text) < 1:
        raise BadRequest({"limit": between(1, MAX_LIMIT)})
    return min(int(text), MAX_LIMIT)


def parse_order(text: str, columns: Mapping[str, Sequence[str]]) -> Order:
    """Parse the parameter ``order``: a name, optionally followed by ``asc`` (the default) or ``desc``.

    ``columns`` are the sort columns of each name. Rows with equal values are sorted by id.
    """
    match = _ORDER.fullmatch(text)
    if match is None or match[1].lower() not in columns:
        raise BadRequest({"order": f"must be one of {', '.join(columns)}, with asc or desc"})
    sign = "-" if (match[2] or "asc").lower() == "desc" else ""
    return tuple(f"{sign}{column}" for column in (*columns[match[1].lower()], "id"))


def parse_page_request(parameters: Mapping[str, str], *, shop_id: int, route: str) -> PageRequest:
    """Parse the requested page. A token contains the filters, so a request has filters or a token."""
    limit = parse_limit(parameters.get("limit"))
    if "page" in parameters:
        # Pages by number do not exist. Clients that count pages would read the first page again and again.
        address = f"{settings.BASE_URL}/docs/api/"
        raise BadRequest({"page": f"page cannot be passed. See {address} for the links to other pages."})
    filters = {name: value for name, value in parameters.items() if name not in {"limit", "fields", "page_info"}}
    token = parameters.get("page_info")
    if token is None:
        return PageRequest(limit, filters)
    if filters:
        raise BadRequest(dict.fromkeys(sorted(filters), "cannot be passed with page_info"))
    cursor, order, first_filters = _read_token(token, shop_id=shop_id, route=route)
    return PageRequest(limit, first_filters, cursor, order)


def filter_by_cursor(queryset: QuerySet[M], order: Order, cursor: Cursor | None) -> QuerySet[M]:
    """Return the rows before or after the cursor, nearest first. The last ordering must be unique."""
    backwards = cursor is not None and cursor.direction == "previous"
    effective = tuple(reverse_ordering(name) for name in order) if backwards else order
    if cursor is not None:
        queryset = queryset.filter(build_after_condition(map_to_sort_columns(queryset.model, effective), cursor.values))
    return order_rows(queryset, effective)


def filter_any_by_cursor(
    alternatives: Sequence[QuerySet[M]], order: Order, cursor: Cursor | None, count: int
) -> QuerySet[M]:
    """Return the first rows of several querysets combined, before or after the cursor, nearest first.

    All querysets have the same model. Only the first rows of each queryset can be in the result. So each queryset is
    limited and can use the best index. Only the limited results are combined and sorted.
    """
    if len(alternatives) == 1:
        return filter_by_cursor(alternatives[0], order, cursor)[:count]
    # SQLite allows a limit in a subquery, but not in one part of a union.
    rows, keys = alternatives[0].model.objects, alternatives[0].model._base_manager
    # The subquery already limits the keys to the current shop. With a second condition on the shop, a planner without
    # statistics could read all rows of the shop.
    first, *remaining = (
        keys.filter(in_materialized(filter_by_cursor(queryset, order, cursor).values("pk")[:count]))
        .order_by()
        .values("pk")
        for queryset in alternatives
    )
    return filter_by_cursor(rows.filter(in_materialized(first.union(*remaining, all=True))), order, cursor)[:count]


def reverse_ordering(name: str) -> str:
    """Return the opposite of an ORM ordering: ``-id`` for ``id``."""
    return name[1:] if name.startswith("-") else f"-{name}"


def build_after_condition(order: Order, values: CursorValues) -> Q:
    """Return an indexable condition for the rows after the given sort values, in lexicographic order."""
    name, value = order[0].lstrip("-"), values[0]
    strict = "lt" if order[0].startswith("-") else "gt"
    beyond = Q(**{f"{name}__{strict}": value})
    if len(order) == 1:
        return beyond
    return Q(**{f"{name}__{strict}e": value}) & (beyond | build_after_condition(order[1:], values[1:]))


def create_page_token(
    direction: Direction,
    values: CursorValues,
    *,
    order: Order,
    filters: Mapping[str, str],
    shop_id: int,
    route: str,
) -> str:
    payload = orjson.dumps(
        [direction, [_pack(value) for value in values], order, filters, shop_id, route, int(time.time())]
    )
    body = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
    return f"{body}.{_signature(body)}"


def get_link_day() -> int:
    """Return the current day as a number, for ETags of pages with links.

    ETags that contain this number change daily. So a client that receives a 304 has cached the links for less than a
    day, and the links are valid for at least six more days.
    """
    return int(time.time()) // LINK_DAY_SECONDS


def _is_signed(body: str, signature: str) -> bool:
    """Return True if the token was signed with the current secret key or a fallback key."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(constant_time_compare(signature, _signature(body, key)) for key in keys)


def _signature(body: str, key: str | None = None) -> str:
    digest = salted_hmac(_SALT, body, secret=key, algorithm="sha256").digest()[:16]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _read_token(token: str, *, shop_id: int, route: str) -> tuple[Cursor, Order, dict[str, str]]:
    invalid = BadRequest({"page_info": "Invalid value."})
    body, _, signature = token.partition(".")
    if not token.isascii() or not _is_signed(body, signature):
        raise invalid
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (binascii.Error, orjson.JSONDecodeError):
        raise invalid from None
    direction, values, order, filters, token_shop, token_route, created_at = decoded
    if token_shop != shop_id or token_route != route or created_at + TOKEN_LIFETIME < time.time():
        raise invalid
    return Cursor(direction, tuple(_unpack(value) for value in values)), tuple(order), filters


def _pack(value: object) -> object:
    if isinstance(value, datetime):
        return {"t": value.isoformat()}
    if isinstance(value, Decimal):
        return {"d": str(value)}
    return value


def _unpack(value: object) -> object:
    if isinstance(value, dict):
        return datetime.fromisoformat(value["t"]) if "t" in value else Decimal(value["d"])
    return value


def build_link_header(path: str, links: Mapping[Direction, str], *, limit: int, fields: str | None) -> str:
    """Return the ``Link`` header with ``previous`` and ``next``, if they exist."""
    extra = {"fields": fields} if fields is not None else {}
    return ", ".join(
        f"<{settings.BASE_URL}{path}?{urlencode({'limit': limit, **extra, 'page_info': links[direction]})}>; "
        f'rel="{direction}"'
        for direction in ("previous", "next")
        if direction in links
    )
