"""Read the rows of a page.

Lists of all rows of the shop, ordered by id, use a prepared statement. In this common case the ORM compiles no SQL.
Filtered lists use a bounded walk along the list's index, then a sort of the remaining matches.

To find the first fifty matches, the query planner assumes that matches are evenly distributed, and walks along the
list's index until it has enough rows. If all matches are at the far end (e.g. the oldest orders in a list that begins
with the newest), the database reads the whole list. Therefore this module limits the walk. If the walk finds too few
rows, this module reads the keys of all matches from the filter's own index and sorts them. The cost of this sort grows
with the number of matches. If the first walk found a large part of the page, matches are frequent, so a second, longer
walk is tried before the sort.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Q, QuerySet

from apps.core.db.compiled_queries import CompiledQuery
from apps.core.db.lookups import in_materialized, sort_without_index
from apps.core.db.sort_tables import map_to_sort_columns
from apps.core.rest.reading.keyset_pagination import (
    Cursor,
    Direction,
    Order,
    PageRequest,
    build_after_condition,
    filter_any_by_cursor,
    filter_by_cursor,
    reverse_ordering,
)
from apps.core.rest.reading.query_plans import ReadPlan, RowValues
from apps.core.rest.reading.render_cache import render_rows
from apps.core.rest.render_context import RenderContext
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned

MAX_WALK = 2_000
# The length of the second walk, as a multiple of the first walk.
SECOND_WALK_FACTOR = 3
# The maximum number of rows in a walk along a sort table.
MAX_SORT_TABLE_WALK = 100_000
RowTuples = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class FilteredRows:
    """The filtered rows of a shop. Lists under a parent use the parent's index instead of this class.

    A row matches if it is in any of the ``alternatives``, which have the same model. The list begins after
    ``since_id``. ``sort_rows`` are the matching sort table rows, if the sort table has all columns of the filter. The
    list is then ordered by id.
    """

    alternatives: Sequence[QuerySet[Any]]
    since_id: int | None = None
    sort_rows: QuerySet[Any] | None = None


def fetch_first_rows(
    source: FilteredRows, order: Order, cursor: Cursor | None, count: int, names: tuple[str, ...]
) -> RowTuples:
    """Return column values of the first matching rows before or after the cursor. An index must support the order."""
    backwards = cursor is not None and cursor.direction == "previous"
    direction: Direction = "previous" if backwards else "next"
    model = source.alternatives[0].model
    effective = map_to_sort_columns(model, (reverse_ordering(name) for name in order) if backwards else order)
    rows: RowTuples = []
    for length in (MAX_WALK, MAX_WALK * SECOND_WALK_FACTOR):
        end = _find_end_of_walk(source, order, cursor, length)
        querysets = [filter_by_cursor(queryset, order, cursor) for queryset in source.alternatives]
        walked_querysets = (
            querysets if end is None else [queryset.filter(_up_to(effective, end)) for queryset in querysets]
        )
        batch = list(filter_any_by_cursor(walked_querysets, order, cursor, count).values_list(*names))
        rows += batch
        if end is None or len(batch) >= count:
            return rows
        count, cursor = count - len(batch), Cursor(direction, end)
        if len(batch) * SECOND_WALK_FACTOR < count:
            break
    keys = model._default_manager.all()
    if source.sort_rows is not None:
        sort_keys = _sort_table_keys(source.sort_rows, order, cursor, count)
        return rows + list(filter_by_cursor(keys.filter(pk__in=sort_keys), order, cursor).values_list(*names))
    querysets = [filter_by_cursor(queryset, order, cursor) for queryset in source.alternatives]
    sorted_parts = [
        keys.filter(in_materialized(sort_without_index(queryset, effective).values("pk")[:count]))
        for queryset in querysets
    ]
    return rows + list(filter_any_by_cursor(sorted_parts, order, cursor, count).values_list(*names))


def _sort_table_keys(matches: QuerySet[Any], order: Order, cursor: Cursor | None, count: int) -> list[int]:
    """Return the keys of the first matching sort table rows, ordered by id.

    The rows of the sort table are small, so this walk can be longer than a walk along the model's table. The longer
    walk avoids the sort if many rows match, which is when the sort is slowest.
    """
    by_key = tuple(name.replace("id", "pk") for name in order)
    effective = (
        tuple(reverse_ordering(name) for name in by_key) if cursor and cursor.direction == "previous" else by_key
    )
    all_keys = filter_by_cursor(matches.model._default_manager.filter(shop=get_current_shop()), by_key, cursor)
    end = next(iter(all_keys.values_list("pk")[MAX_SORT_TABLE_WALK : MAX_SORT_TABLE_WALK + 1]), None)
    keys_after_cursor = filter_by_cursor(matches, by_key, cursor)
    keys = list(
        (keys_after_cursor if end is None else keys_after_cursor.filter(_up_to(effective, end))).values_list(
            "pk", flat=True
        )[:count]
    )
    if end is not None and len(keys) < count:
        remaining = keys_after_cursor.filter(build_after_condition(effective, end))
        keys += sort_without_index(remaining, effective).values_list("pk", flat=True)[: count - len(keys)]
    return keys


def _up_to(order: Order, end: tuple[object, ...]) -> Q:
    """Return a condition for the rows up to and including the row with the sort values ``end``.

    The comparison of the first column lets an index scan stop early. The second part breaks ties.
    """
    nearer = "gte" if order[0].startswith("-") else "lte"
    return Q(**{f"{order[0].lstrip('-')}__{nearer}": end[0]}) & ~build_after_condition(order, end)


def _find_end_of_walk(
    source: FilteredRows, order: Order, cursor: Cursor | None, length: int
) -> tuple[object, ...] | None:
    """Return the sort values of the last row of a walk, or None if the list ends within the walk."""
    rows = source.alternatives[0].model._default_manager.all()
    if cursor is None and source.since_id is not None:
        rows = rows.filter(pk__gt=source.since_id)
    walk = filter_by_cursor(rows, order, cursor).values_list(*(name.lstrip("-") for name in order))
    return next(iter(walk[length : length + 1]), None)


# The source of a page: a queryset, several querysets to combine, a model (all rows of the shop) or filtered rows.
PageSource = QuerySet[ShopOwned] | Sequence[QuerySet[ShopOwned]] | type[ShopOwned] | FilteredRows


def read_page_keys(
    source: PageSource, order: Order, page: PageRequest, versions: tuple[str, ...]
) -> tuple[list[RowValues], bool]:
    """Return the keys ``(id, *versions, *sort values)`` of a page in list order, and True if there are more rows."""
    columns = ("pk", *versions, *(name.lstrip("-") for name in order))
    return _to_list_order(_rows(source, order, page, columns), page)


def read_page_rows(
    plan: ReadPlan, source: PageSource, order: Order, page: PageRequest, context: RenderContext
) -> tuple[list[bytes], list[RowValues], bool]:
    """Return a page's rendered objects, the sort values of each row, and True if there are more rows."""
    extra = tuple(name.lstrip("-") for name in order)
    rows, has_more = _to_list_order(_rows(source, order, page, (*plan.columns, *extra)), page)
    width = len(plan.columns)
    return render_rows(plan, [row[:width] for row in rows], context), [row[width:] for row in rows], has_more


def _to_list_order(rows: list[RowValues], page: PageRequest) -> tuple[list[RowValues], bool]:
    """Remove the extra row, which only shows that there are more rows. Reverse a page that was read backwards."""
    has_more = len(rows) > page.limit
    rows = rows[: page.limit]
    if page.cursor is not None and page.cursor.direction == "previous":
        rows.reverse()
    return rows, has_more


def _rows(source: PageSource, order: Order, page: PageRequest, columns: tuple[str, ...]) -> list[RowValues]:
    """Return the rows of a page and, if it exists, the row after the page. ``columns`` may contain duplicates."""
    names = tuple(dict.fromkeys(columns))
    rows: Sequence[RowValues]
    if isinstance(source, FilteredRows):
        rows = fetch_first_rows(source, order, page.cursor, page.limit + 1, names)
    elif isinstance(source, type) and order in {("id",), ("-id",)}:
        statement = _statement(source, order, page.cursor.direction if page.cursor else None, page.limit, names)
        rows = statement.fetch(*(page.cursor.values if page.cursor else ()))
    else:
        visible = source.objects.all() if isinstance(source, type) else source
        alternatives = (visible,) if isinstance(visible, QuerySet) else visible
        rows = list(filter_any_by_cursor(alternatives, order, page.cursor, page.limit + 1).values_list(*names))
    if names == columns:
        return list(rows)
    indexes = [names.index(column) for column in columns]
    return [[row[index] for index in indexes] for row in rows]


@lru_cache(maxsize=4096)
def _statement(
    model: type[ShopOwned], order: Order, direction: str | None, limit: int, columns: tuple[str, ...]
) -> CompiledQuery[RowValues]:
    """Return the prepared statement that reads pages in one order, direction and size."""
    is_backwards = direction == "previous"
    descending = order[0].startswith("-") != is_backwards
    effective = "-id" if descending else "id"

    def build(*cursor: int) -> QuerySet[ShopOwned, tuple[object, ...]]:
        queryset = model.objects.all()
        if cursor:
            queryset = queryset.filter(**{"id__lt" if descending else "id__gt": cursor[0]})
        return queryset.order_by(effective).values_list(*columns)[: limit + 1]

    return CompiledQuery(build, *((int,) if direction else ()))


@lru_cache(maxsize=1024)
def _key_statement(model: type[ShopOwned], versions: tuple[str, ...]) -> CompiledQuery[RowValues]:
    return CompiledQuery(lambda pk: model.objects.filter(pk=pk).values_list("pk", *versions), int)


def read_key(model: type[ShopOwned], pk: int, versions: tuple[str, ...]) -> RowValues | None:
    """Return ``(id, *versions)`` of one row of the current shop, or None if the row does not exist."""
    rows = _key_statement(model, versions).fetch(pk)
    return rows[0] if rows else None


def build_etag(content: Hashable) -> str:
    """Return a weak ETag for strings, numbers and times. Every process returns the same ETag for the same values."""
    return f'W/"{hashlib.blake2b(repr(content).encode(), digest_size=12).hexdigest()}"'
