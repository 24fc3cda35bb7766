"""Paginate filtered lists without ever scanning a whole table for one page.

To find the first fifty matches in a sort order, a database may scan the table in that order until it has found fifty,
because it expects matches to be spread evenly. If all matches are at the end of the table (such as orders from a day
two years ago in a list that starts with the newest orders), the database scans the whole table.

The list has already counted the matches, up to ``MAX_COUNTED_ROWS``, so this module can choose:

- *Few* matches: read the matching keys from the filter's index and sort them.
- *Many* matches: scan the first rows in list order, in growing steps. If these rows contain too few matches, sort only
  the first ``MAX_COUNTED_ROWS`` matches in the order of the filter's index.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.db import sort_tables
from apps.core.db.lookups import in_materialized, sort_without_index

Rows = QuerySet[Any, Any]
# The numbers of rows to scan in the first and in the second step. If there are many matches, these rows usually contain
# enough matches for a page.
SCAN_SIZES = 1_000, 5_000


class FilteredList(NamedTuple):
    """A filtered list to paginate.

    Attributes:
        unranked: The matching rows without joined sort tables.
        all_rows: All rows of the shop.
        index_order: The order of the filter's index.
        number: The number of matches, counted up to ``MAX_COUNTED_ROWS``.
        size: The number of rows on a full page.
    """

    rows: Rows
    unranked: Rows
    all_rows: Rows
    index_order: Sequence[str]
    number: int
    size: int


class Page(NamedTuple):
    """A page of rows. ``of_all`` is False if only the first ``MAX_COUNTED_ROWS`` matches were sorted."""

    rows: Rows
    of_all: bool


def load_page(filtered: FilteredList, first: int, end: int) -> Page:
    rows = filtered.rows
    order = [name for name in rows.query.order_by if isinstance(name, str)]
    if len(order) < len(rows.query.order_by):
        return Page(rows[first:end], True)
    if filtered.number < MAX_COUNTED_ROWS:
        ranked = bool(sort_tables.get_used_sort_tables(rows.model, order))
        sorted_rows = _sort_rows(filtered, filtered.unranked.order_by(), order) if ranked else rows
        return Page(_select_page(rows, sort_without_index(sorted_rows, sorted_rows.query.order_by), first, end), True)
    if order in (list(filtered.index_order), [name.lstrip("-") for name in filtered.index_order]):
        return Page(rows[first:end], True)
    for limit in SCAN_SIZES:
        keys = list(
            _slice_keys(
                rows.filter(in_materialized(sort_tables.get_first_keys(filtered.all_rows, order, limit))), 0, end
            )
        )
        if len(keys) == end:
            return Page(rows.filter(pk__in=keys[first:]), True)
    if len(keys) >= filtered.size:
        return Page(rows[first:end], True)
    candidates = filtered.unranked.order_by(*filtered.index_order)[:MAX_COUNTED_ROWS]
    return Page(_select_page(rows, _sort_rows(filtered, candidates, order), first, end), False)


def _sort_rows(filtered: FilteredList, rows: Rows, order: Sequence[str]) -> Rows:
    """Sort rows with a subquery. With a join, SQLite would look up the keys in the sort table one by one."""
    return sort_tables.order_in_sort_table(filtered.all_rows, order).filter(in_materialized(rows.values("pk")))


def _select_page(rows: Rows, sorted_rows: Rows, first: int, end: int) -> Rows:
    """Return the rows of a page. A subquery selects the keys first, and other columns are read only for these keys."""
    return rows.filter(in_materialized(_slice_keys(sorted_rows, first, end)))


def _slice_keys(rows: Rows, first: int, end: int) -> Rows:
    return rows.select_related(None).values_list("pk", flat=True)[first:end]
