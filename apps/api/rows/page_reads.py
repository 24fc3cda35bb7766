"""Read the rows of a page with a prepared statement if possible, otherwise with a queryset.

Lists of all rows of the shop, ordered by id, use a prepared statement. In this common case the ORM compiles no SQL.
"""

import hashlib
from collections.abc import Hashable, Sequence
from functools import lru_cache

from django.db.models import QuerySet

from apps.api.render_context import RenderContext
from apps.api.rows.filtered_pages import FilteredRows, fetch_first_rows
from apps.api.rows.keyset_pagination import Order, PageRequest, filter_any_by_cursor
from apps.api.rows.query_plans import ReadPlan, RowValues
from apps.api.rows.render_cache import render_rows
from apps.ground.base_models import ShopOwned
from apps.ground.compiled_queries import CompiledQuery

# The source of a page: a queryset, several querysets to combine, a model (all rows of the shop) or filtered rows.
PageSource = QuerySet[ShopOwned] | Sequence[QuerySet[ShopOwned]] | type[ShopOwned] | FilteredRows


def read_page_keys(
    source: PageSource, order: Order, page: PageRequest, versions: tuple[str, ...]
) -> tuple[list[RowValues], bool]:
    """Read the keys of a page: ``(id, *versions, *sort values)`` of each row, in list order.

    Args:
        source: The source of the rows.
        order: ORM orderings.
        page: The requested page.
        versions: The version columns.

    Returns:
        The keys, and True if there are more rows in the direction of reading.
    """
    columns = ("pk", *versions, *(name.lstrip("-") for name in order))
    return _to_list_order(_rows(source, order, page, columns), page)


def read_page_rows(
    plan: ReadPlan, source: PageSource, order: Order, page: PageRequest, context: RenderContext
) -> tuple[list[bytes], list[RowValues], bool]:
    """Return a page's rendered objects, the sort values of each row, and True if there are more rows.

    Raises:
        BadRequest: The rows have so many related rows that the response would be too large.
    """
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
    """Return a weak ETag for strings and numbers. Every process returns the same ETag for the same values."""
    return f'W/"{hashlib.blake2b(repr(content).encode(), digest_size=12).hexdigest()}"'
