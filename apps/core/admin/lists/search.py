"""Word search for lists and the command palette. Each column is searched separately, with an index and a limit."""

import re
from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.text import smart_split, unescape_string_literal
from django.utils.translation import gettext as _

from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.db.case_folding import casefold_text
from apps.core.db.lookups import MIN_TRIGRAM_LENGTH, in_materialized
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned

MAX_WORDS = 10
# The maximum number of matches per column that the palette reads. The palette sorts these matches and shows the first
# few.
PALETTE_CANDIDATES = 100
_PREFIX_LOOKUPS = {"icontains": "istartswith", "contains": "startswith"}
_REGEX_LOOKUPS = {"icontains": "iregex", "contains": "regex"}

_LOOKUPS = {*_PREFIX_LOOKUPS, *_PREFIX_LOOKUPS.values(), "exact", "iexact"}

M = TypeVar("M", bound=Model)


class Suggestion(NamedTuple):
    """A similar search text that has matches. ``path`` is the path of the list."""

    text: str
    path: str

    @property
    def link(self) -> str:
        return f"{self.path}?{urlencode({'q': self.text})}"


def is_palette_search(request: HttpRequest) -> bool:
    """Return True if the request comes from the palette or the link search, not from a list."""
    return request.resolver_match is not None and request.resolver_match.url_name in {"search", "links"}


def search_rows(
    rows: QuerySet[M],
    lookups: Sequence[str],
    text: str,
    *,
    limit: int,
    newest: bool = True,
    extra_querysets: Sequence[QuerySet[M]] = (),
) -> QuerySet[M]:
    """Return the rows that contain every word of the search text in any of the columns.

    Each column has its own query, because a single condition on several columns would scan all rows of the shop.
    Lookups such as ``title__icontains`` must not span to-many relations. Words in quotation marks are searched as one
    phrase. If a column has more than ``limit`` matches, ``newest`` returns the newest instead of arbitrary matches.
    """
    words = [_unquote(word) for word in smart_split(text)][:MAX_WORDS]
    if not words or not lookups:
        return rows
    # Search each column for the longest word, because it probably has the fewest matches. The other words may match any
    # column. The longest word limits the rows, so that short words need no index.
    first_word, *other_words = _sort_by_length(words)
    other_conditions = reduce(
        and_,
        (
            reduce(or_, (_build_condition(rows.model, lookup, word, within=True) for lookup in lookups))
            for word in other_words
        ),
        Q(),
    )
    querysets = [rows.filter(_build_condition(rows.model, lookup, first_word) & other_conditions) for lookup in lookups]
    return union_first_rows(rows, [*querysets, *extra_querysets], limit=limit, newest=newest)


def union_first_rows(
    rows: QuerySet[M], querysets: Sequence[QuerySet[M]], *, limit: int, newest: bool = True
) -> QuerySet[M]:
    return rows.filter(in_materialized(select_first_keys(querysets, limit=limit, newest=newest)))


def select_first_keys(querysets: Sequence[QuerySet[M]], *, limit: int, newest: bool = True) -> QuerySet[M, Any]:
    """Return the keys of the first rows of each queryset. All querysets must already be limited to the shop."""
    order = ("-pk",) if newest else ()
    first_part, *other_parts = (part.order_by(*order).values("pk")[:limit] for part in querysets)
    if not connection.features.supports_slicing_ordering_in_compound:
        # SQLite allows a limit in a subquery, but not directly in a part of a union.
        keys = querysets[0].model._base_manager.all()
        first_part, *other_parts = (
            keys.filter(in_materialized(part_keys)).order_by().values("pk") for part_keys in (first_part, *other_parts)
        )
    return first_part.union(*other_parts, all=True) if other_parts else first_part


def describe_search_limits(text: str, lookups: Sequence[str]) -> str:
    words = [_unquote(word) for word in smart_split(text)]
    if len(words) > MAX_WORDS:
        return _("Only the first {limit} words of your search were used.").format(limit=MAX_WORDS)
    longest_word = _sort_by_length(words)[0] if words else ""
    if 0 < len(longest_word) < MIN_TRIGRAM_LENGTH and any(
        lookup.rpartition("__")[2] in _PREFIX_LOOKUPS for lookup in lookups
    ):
        text = _(
            "“{word}” only matches the beginning of a field. Enter at least three letters to match parts of words."
        )
        return text.format(word=longest_word)
    return ""


def set_truncation_note(request: HttpRequest, note: str) -> None:
    request.search_cut = note  # type: ignore[attr-defined]


def get_truncation_note(request: HttpRequest) -> str:
    return str(getattr(request, "search_cut", ""))


def get_result_limit(request: HttpRequest) -> int:
    return PALETTE_CANDIDATES if is_palette_search(request) else MAX_COUNTED_ROWS


def _sort_by_length(words: Sequence[str]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _build_condition(model: type[Model], lookup: str, word: str, *, within: bool = False) -> Q:
    """Return the condition for a word in a column.

    A word that is too short for the trigram index matches the beginning of the column or, with ``within``, the
    beginning of any word in the column.
    """
    column, _, operator = lookup.rpartition("__")
    if operator not in _LOOKUPS:
        column, operator = lookup, "icontains"
    relation = column.partition("__")[0]
    related_model = model._meta.get_field(relation).related_model if relation != column else None
    # Filter the related table by shop, too, because the table's indexes start with the shop.
    shop_filter = (
        {f"{relation}__shop": get_current_shop()}
        if isinstance(related_model, type) and issubclass(related_model, ShopOwned)
        else {}
    )
    pattern = word
    if len(word) < MIN_TRIGRAM_LENGTH and operator in _PREFIX_LOOKUPS:
        operator = (_REGEX_LOOKUPS if within else _PREFIX_LOOKUPS)[operator]
        pattern = rf"(^|\W|_){re.escape(casefold_text(word) if operator == 'regex' else word)}" if within else word
    return Q(**{f"{column}__{operator}": pattern}, **shop_filter)


def _unquote(word: str) -> str:
    is_quoted = word[:1] in {'"', "'"} and word[:1] == word[-1:] and len(word) > 1
    return unescape_string_literal(word) if is_quoted else word
