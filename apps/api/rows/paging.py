"""Keyset paging: a page is found by the values of the row where it begins, never by counting.

The token in ``page_info`` carries those values together with the filters and the order of the first request. It is
signed and bound to the shop and the route, so it opens nothing elsewhere.
Rule: decisions, Conventions (Paging).
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

from apps.api.errors import BadRequest
from apps.ground.lookups import among
from apps.ground.phrases import between
from apps.ground.ranks import by_rank, ordered
from apps.ground.rows import ShopOwned

DEFAULT_LIMIT = 50
MAX_LIMIT = 250
TOKEN_LIFETIME = 7 * 24 * 3600
LINKS_VOUCHED_FOR = 24 * 3600
_LIMIT = re.compile(r"[0-9]{1,9}", re.ASCII)
_SALT = "apps.api.rows.paging"

Direction = Literal["next", "previous"]
Order = tuple[str, ...]
# The values of a row in an order.
Place = Sequence[Any]
M = TypeVar("M", bound=ShopOwned)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: the order's values of the row beside it, and the side on which it lies."""

    direction: Direction
    values: Place


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What the client asked for.

    Attributes:
        limit: Rows per page.
        filters: The filter parameters of the first request.
        cursor: None on the first page.
        order: The order that the token carries; None on the first page.
    """

    limit: int
    filters: Mapping[str, str]
    cursor: Cursor | None = None
    order: Order | None = None


def read_limit(text: str | None) -> int:
    """The page size; above the maximum means the maximum.

    Raises:
        BadRequest: It is no number of at least 1.
    """
    if text is None:
        return DEFAULT_LIMIT
    if not _LIMIT.fullmatch(text) or int(text) < 1:
        raise BadRequest({"limit": between(1, MAX_LIMIT)})
    return min(int(text), MAX_LIMIT)


def read_page(parameters: Mapping[str, str], *, shop_id: int, route: str) -> PageRequest:
    """The page that a query asks for.

    Raises:
        BadRequest: The limit or the token is unusable, or filters stand beside a token.
    """
    limit = read_limit(parameters.get("limit"))
    filters = {name: value for name, value in parameters.items() if name not in {"limit", "fields", "page_info"}}
    token = parameters.get("page_info")
    if token is None:
        return PageRequest(limit, filters)
    if filters:
        raise BadRequest(dict.fromkeys(sorted(filters), "cannot be passed with page_info"))
    cursor, order, first_filters = _read_token(token, shop_id=shop_id, route=route)
    return PageRequest(limit, first_filters, cursor, order)


def beside(queryset: QuerySet[M], order: Order, cursor: Cursor | None) -> QuerySet[M]:
    """The rows of the cursor's side, nearest first.

    Args:
        queryset: The filtered rows.
        order: ORM orderings, ``-`` for descending; the last one is unique.
        cursor: Where the page begins; None for the first page.
    """
    backwards = cursor is not None and cursor.direction == "previous"
    effective = tuple(turned(name) for name in order) if backwards else order
    if cursor is not None:
        queryset = queryset.filter(behind(by_rank(queryset.model, effective), cursor.values))
    return ordered(queryset, effective)


def beside_any(alternatives: Sequence[QuerySet[M]], order: Order, cursor: Cursor | None, count: int) -> QuerySet[M]:
    """The first so many rows of the cursor's side that stand in any of some querysets of one model, nearest first.

    They are among the first of each queryset; so these are read one by one, each by the index that suits it, and only
    what is left of them is united and sorted.
    """
    if len(alternatives) == 1:
        return beside(alternatives[0], order, cursor)[:count]
    # SQLite takes a limit in a subquery and not in a part of a union.
    rows, keys = alternatives[0].model.objects, alternatives[0].model._base_manager
    # The parts are of the scope already; by the shop a planner without statistics would read all its rows once more.
    first, *others = (
        keys.filter(among(beside(each, order, cursor).values("pk")[:count])).order_by().values("pk")
        for each in alternatives
    )
    return beside(rows.filter(among(first.union(*others, all=True))), order, cursor)[:count]


def turned(name: str) -> str:
    """An ordering the other way round."""
    return name[1:] if name.startswith("-") else f"-{name}"


def behind(order: Order, values: Place) -> Q:
    """Rows behind the given values in lexicographic order, in a form that an index serves."""
    name, value = order[0].lstrip("-"), values[0]
    strict = "lt" if order[0].startswith("-") else "gt"
    beyond = Q(**{f"{name}__{strict}": value})
    if len(order) == 1:
        return beyond
    return Q(**{f"{name}__{strict}e": value}) & (beyond | behind(order[1:], values[1:]))


def make_token(
    direction: Direction,
    values: Place,
    *,
    order: Order,
    filters: Mapping[str, str],
    shop_id: int,
    route: str,
) -> str:
    """A signed token for the page on one side of a row."""
    payload = orjson.dumps(
        [direction, [_pack(value) for value in values], order, filters, shop_id, route, int(time.time())]
    )
    body = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
    return f"{body}.{_signature(body)}"


def link_age() -> int:
    """A number that changes once a day: an entity tag that holds it vouches for links with six days left, not fewer."""
    return int(time.time()) // LINKS_VOUCHED_FOR


def _is_signed(body: str, signature: str) -> bool:
    """Whether we signed it, with today's key or a former one that is still good."""
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
    direction, values, order, filters, token_shop, token_route, made = decoded
    if token_shop != shop_id or token_route != route or made + TOKEN_LIFETIME < time.time():
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


def link_header(path: str, links: Mapping[Direction, str], *, limit: int, fields: str | None) -> str:
    """The ``Link`` header: ``previous`` and ``next``, as far as they exist."""
    extra = {"fields": fields} if fields is not None else {}
    return ", ".join(
        f"<{settings.BASE_URL}{path}?{urlencode({'limit': limit, **extra, 'page_info': links[direction]})}>; "
        f'rel="{direction}"'
        for direction in ("previous", "next")
        if direction in links
    )
