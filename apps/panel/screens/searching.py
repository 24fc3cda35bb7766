"""How lists and the search from anywhere find rows by words: each column by its own index, never without a bound."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.text import smart_split, unescape_string_literal
from django.utils.translation import gettext as _

from apps.ground.lookups import SHORTEST_PART, among
from apps.ground.rows import ShopOwned
from apps.ground.tenancy import current_shop
from apps.panel.screens.paging import COUNTED

MAX_WORDS = 10
# Of so many rows that are found first the search from anywhere shows the few that stand first in the list.
CANDIDATES = 100
_BEGINNINGS = {"icontains": "istartswith", "contains": "startswith"}

_LOOKUPS = {*_BEGINNINGS, *_BEGINNINGS.values(), "exact", "iexact"}

M = TypeVar("M", bound=Model)


def is_from_anywhere(request: HttpRequest) -> bool:
    """Whether it is the search from anywhere or the one for links that asks, and not a list."""
    return request.resolver_match is not None and request.resolver_match.url_name in {"search", "links"}


def found(
    rows: QuerySet[M],
    lookups: Sequence[str],
    text: str,
    *,
    most: int,
    newest: bool = True,
    also: Sequence[QuerySet[M]] = (),
) -> QuerySet[M]:
    """The rows of which each word of a text stands in some column; at most so many for each column.

    A condition that names several columns at once reads the shop's whole table, so each column is asked by itself.

    Args:
        rows: Those that may be found, narrowed by the list's filters already.
        lookups: Columns with their lookups, e.g. ``title__icontains``; none crosses to many rows.
        text: What was typed; quotation marks keep words together.
        most: How many rows a column gives.
        newest: Whether these are the newest; any where not.
        also: Further rows that are found.
    """
    words = [_unquoted(word) for word in smart_split(text)][:MAX_WORDS]
    if not words or not lookups:
        return rows
    # The longest word is likely to be the rarest.
    first, *others = sorted(words, key=len, reverse=True)
    further = reduce(and_, (reduce(or_, (_has(rows.model, each, word) for each in lookups)) for word in others), Q())
    parts = [rows.filter(_has(rows.model, each, first) & further) for each in lookups]
    return united(rows, [*parts, *also], most=most, newest=newest)


def united(rows: QuerySet[M], parts: Sequence[QuerySet[M]], *, most: int, newest: bool = True) -> QuerySet[M]:
    """The rows that are among the first of any of some parts."""
    return rows.filter(among(first_keys(parts, most=most, newest=newest)))


def first_keys(parts: Sequence[QuerySet[M]], *, most: int, newest: bool = True) -> QuerySet[M, Any]:
    """The keys of the first rows of each of some parts, which are of the shop."""
    order = ("-pk",) if newest else ()
    first, *others = (part.order_by(*order).values("pk")[:most] for part in parts)
    if not connection.features.supports_slicing_ordering_in_compound:
        # SQLite takes a limit in a subquery and not in a part of a union.
        keys = parts[0].model._base_manager.all()
        first, *others = (keys.filter(among(each)).order_by().values("pk") for each in (first, *others))
    return first.union(*others, all=True) if others else first


def note_on(text: str, lookups: Sequence[str]) -> str:
    """What a search did not do with a text, in a sentence; empty where it did all."""
    words = [_unquoted(word) for word in smart_split(text)]
    if len(words) > MAX_WORDS:
        return _("Only the first {limit} words were looked for.").format(limit=MAX_WORDS)
    short = [word for word in words if len(word) < SHORTEST_PART]
    if short and any(lookup.rpartition("__")[2] in _BEGINNINGS for lookup in lookups):
        text = _("“{word}” was looked for at the beginning only; parts of words need three letters.")
        return text.format(word=short[0])
    return ""


def note_cut(request: HttpRequest, note: str) -> None:
    """Say which of the rows that there are a search of this request shows: the list tells, and not all are edited."""
    request.search_cut = note  # type: ignore[attr-defined]


def cut_of(request: HttpRequest) -> str:
    """What was said of that; empty where the search shows all."""
    return str(getattr(request, "search_cut", ""))


def bound_of(request: HttpRequest) -> int:
    """How many rows are found at most."""
    return CANDIDATES if is_from_anywhere(request) else COUNTED


def _has(model: type[Model], lookup: str, word: str) -> Q:
    column, _, how = lookup.rpartition("__")
    if how not in _LOOKUPS:
        column, how = lookup, "icontains"
    if len(word) < SHORTEST_PART:
        how = _BEGINNINGS.get(how, how)
    relation = column.partition("__")[0]
    other = model._meta.get_field(relation).related_model if relation != column else None
    # The indexes of another table begin with the shop, too.
    of_shop = {f"{relation}__shop": current_shop()} if isinstance(other, type) and issubclass(other, ShopOwned) else {}
    return Q(**{f"{column}__{how}": word}, **of_shop)


def _unquoted(word: str) -> str:
    quoted = word[:1] in {'"', "'"} and word[:1] == word[-1:] and len(word) > 1
    return unescape_string_literal(word) if quoted else word
