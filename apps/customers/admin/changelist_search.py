"""Search the customer list, with queries in the query language or with plain words, and filter it."""

import re
from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from apps.core.admin.lists.filters import Choices, Screen, ViewsFilter
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.admin.lists.search import select_first_keys
from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter, NumbersFilter, WordFilter
from apps.core.db import sort_tables
from apps.core.db.lookups import in_materialized
from apps.core.search_query import QuerySyntaxError, Term
from apps.core.search_query.database import MATCH_NOTHING, QueryValueError
from apps.core.search_query.nodes import Comparator
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.customers.domain.search_fields import SEARCH
from apps.customers.models import ConsentState, Customer

MAX_WORDS = 10
# A search first scans the ``RECENT_SCAN`` newest customers, and stops if at least ``MIN_RECENT_MATCHES`` of them match.
RECENT_SCAN, MIN_RECENT_MATCHES = 1_000, 5
# A term is very common if it has ``COMMON_TERM_MATCHES`` matches in the first ``COMMON_TERM_SCAN`` rows. In this case,
# only ``MAX_SCAN`` rows are scanned.
COMMON_TERM_MATCHES, COMMON_TERM_SCAN, MAX_SCAN = 25, 2_000, 8_000
# A search text of digits and separators with at least this many digits can be a phone number.
MIN_PHONE_DIGITS = 5
_PHONE = re.compile(r"[0-9 ()+/.-]+", re.ASCII)
TOO_MANY_MATCHES = gettext_lazy(
    "Too many customers match. Only matches among the first {number} customers in the list are shown."
    " Add a word to narrow the search."
)


def build_search_condition(text: str, shop: Shop) -> Q:
    """Return the condition for a search text. If the text is not a valid query, every word of the text must match.

    If the query has alternatives (``OR``), each alternative finds at most ``MAX_COUNTED_ROWS`` customers, newest first.
    """
    alternatives = _alternatives(text.replace("\x00", "")[:500].strip(), shop)
    if len(alternatives) == 1:
        return alternatives[0]
    rows = Customer.rows()
    return in_materialized(
        select_first_keys([rows.filter(condition) for condition in alternatives], limit=MAX_COUNTED_ROWS)
    )


def get_first_matches(matching: QuerySet[Customer], most: int) -> QuerySet[Customer]:
    """Return up to ``most`` matches: the newest if enough of the newest customers match, otherwise arbitrary ones."""
    recent_ids = scan_first_rows(matching, ("-pk",), RECENT_SCAN)[:most]
    return matching[:most] if len(recent_ids) < MIN_RECENT_MATCHES else Customer.rows().filter(pk__in=recent_ids)


def find_by_words(term: str, limit: int) -> QuerySet[Customer]:
    """Return up to ``limit`` customers that match a search term, by name."""
    matching = Customer.rows().filter(build_search_condition(term, get_current_shop()))
    ids = list(get_first_matches(matching.order_by(), limit).values_list("pk", flat=True))
    return Customer.objects.filter(pk__in=ids).order_by("last_name", "first_name", "pk")


def scan_list(rows: QuerySet[Customer], condition: Q) -> list[int]:
    """Return the ids of the matches in the first ``MAX_SCAN`` rows of an ordered list, if the term is very common.

    If the other filters exclude most of these rows, ``MAX_SCAN`` filtered rows in any order are scanned instead. The
    result is empty if the term is so rare that the indexes can find all matches.
    """
    order = [name for name in rows.query.order_by if isinstance(name, str)]
    matching = rows.filter(condition)
    if (
        len(order) < len(matching.query.order_by)
        or len(scan_first_rows(Customer.rows().filter(condition), order, COMMON_TERM_SCAN)) < COMMON_TERM_MATCHES
    ):
        return []
    ids = scan_first_rows(matching, order, MAX_SCAN)
    if len(ids) >= COMMON_TERM_MATCHES:
        return ids
    scanned_ids = list(rows.order_by().values_list("pk", flat=True)[:MAX_SCAN])
    ids = list(matching.order_by().filter(pk__in=scanned_ids).values_list("pk", flat=True))
    return ids if len(scanned_ids) == MAX_SCAN and len(ids) >= COMMON_TERM_MATCHES else []


def scan_first_rows(matching: QuerySet[Customer], order: Sequence[str], limit: int) -> list[int]:
    """Scan the first ``limit`` customers in a sort order, and return the ids of the matches.

    If a search has two very common words, a scan is faster than combining the index entries of both words.
    """
    first = sort_tables.get_first_keys(Customer.rows(), sort_tables.map_to_sort_columns(Customer, order), limit)
    return list(matching.filter(in_materialized(first)).order_by().values_list("pk", flat=True))


def _alternatives(text: str, shop: Shop) -> list[Q]:
    """Return alternative conditions. A customer matches if at least one condition matches."""
    numbers = [_match_word(digits, shop) for digits in _get_phone_digits(text)]
    try:
        return [*SEARCH.compile_alternatives(SEARCH.parse(text), zone=shop.tzinfo), *numbers]
    except (QuerySyntaxError, QueryValueError):
        words = re.findall(r"[^\s\"'()*:<>=\\]+", text)[:MAX_WORDS]
    if not words:
        return [MATCH_NOTHING]
    return [Q(*(_match_word(word, shop) for word in words)), *numbers]


def _match_word(word: str, shop: Shop) -> Q:
    return SEARCH.compile(Term(None, Comparator.EQUAL, word), zone=shop.tzinfo)


def _get_phone_digits(text: str) -> list[str]:
    """Return the digits of a text that looks like a phone number, also without the leading 0 of national numbers."""
    digits = re.sub(r"[^0-9]", "", text)
    if len(digits) < MIN_PHONE_DIGITS or not _PHONE.fullmatch(text):
        return []
    return [number for number in dict.fromkeys([digits, digits.lstrip("0")]) if number and number != text.lstrip("+")]


class ViewFilter(ViewsFilter):
    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [
            ("all", _("All")),
            ("subscribed", pgettext("customers", "Subscribed")),
            ("account", pgettext("customers", "Has account")),
        ]

    def filter_view(self, queryset: QuerySet[Customer], view: str) -> QuerySet[Customer]:
        if view == "account":
            return queryset.filter(state=Customer.State.ENABLED)
        subscribed = [ConsentState.SUBSCRIBED.value]
        return queryset.filter(sort_tables.filter_sort_column(Customer, "email_marketing_state", "in", subscribed))


class TagFilter(WordFilter):
    """Filter by a tag, ignoring case, like ``tag:…`` in the query language."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def filter_rows(self, rows: QuerySet[Customer], values: Sequence[str | None]) -> QuerySet[Customer]:  # type: ignore[override]
        term = Term("tag", Comparator.EQUAL, values[0] or "", quoted=True)
        return rows.filter(SEARCH.compile(term, zone=get_current_shop().tzinfo))


class SinceFilter(DaysFilter):
    title = gettext_lazy("creation date")
    parameter_name = "created"
    field = "created_at"


class SpentFilter(AmountsFilter):
    title = pgettext_lazy("filter", "amount spent")
    parameter_name = "spent"
    field = "total_spent"


class OrdersFilter(NumbersFilter):
    title = pgettext_lazy("filter", "number of orders")
    parameter_name = "orders"
    field = "orders_count"
