"""Read pages of filtered lists: a bounded walk along the list's index, then a sort of the remaining matches.

To find the first fifty matches, the query planner assumes that matches are evenly distributed, and walks along the
list's index until it has enough rows. If all matches are at the far end (e.g. the oldest orders in a list that begins
with the newest), the database reads the whole list. Therefore this module limits the walk. If the walk finds too few
rows, this module reads the keys of all matches from the filter's own index and sorts them. The cost of this sort grows
with the number of matches. If the first walk found a large part of the page, matches are frequent, so a second, longer
walk is tried before the sort.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from apps.api.rows.keyset_pagination import (
    Cursor,
    Direction,
    Order,
    build_after_condition,
    filter_any_by_cursor,
    filter_by_cursor,
    reverse_ordering,
)
from apps.ground.lookups import in_materialized, sort_without_index
from apps.ground.sort_tables import map_to_sort_columns
from apps.ground.tenancy import get_current_shop

MAX_WALK = 2_000
# The length of the second walk, as a multiple of the first walk.
SECOND_WALK_FACTOR = 3
# The maximum number of rows in a walk along a sort table.
MAX_SORT_TABLE_WALK = 100_000
RowTuples = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class FilteredRows:
    """The filtered rows of a shop. Lists under a parent use the parent's index instead of this class.

    Attributes:
        alternatives: Querysets of one model. A row matches if it is in any of them.
        since_id: The value of the ``since_id`` filter, if present. The list begins after this id.
        sort_rows: The matching sort table rows, if the sort table has all columns of the filter. The list is then
            ordered by id.
    """

    alternatives: Sequence[QuerySet[Any]]
    since_id: int | None = None
    sort_rows: QuerySet[Any] | None = None


def fetch_first_rows(
    source: FilteredRows, order: Order, cursor: Cursor | None, count: int, names: tuple[str, ...]
) -> RowTuples:
    """Return the first matching rows before or after the cursor, nearest first, as tuples of column values.

    Args:
        source: The matching rows.
        order: An order that an index of the model supports.
        cursor: The start of the page, or None for the first page.
        count: The maximum number of rows.
        names: The names of the columns.
    """
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
