"""Reading pages: the keys of a page, from a fixed statement where one serves, else from a queryset.

A fixed statement serves where a list shows all rows of the shop in an order by id; that is the common case, and there
the ORM compiles nothing.
"""

import hashlib
from collections.abc import Hashable, Sequence
from functools import lru_cache

from django.db.models import QuerySet

from apps.api.context import Context
from apps.api.rows.narrowed import Narrowed, first_rows
from apps.api.rows.paging import Order, PageRequest, beside_any
from apps.api.rows.plans import Plan, Values
from apps.api.rows.rendering import render_rows
from apps.ground.rows import ShopOwned
from apps.ground.statements import Statement

# The rows that fit; several querysets where a row may stand in any of them; a model where all of its rows do; the rows
# of the shop that fit a filter.
Fitting = QuerySet[ShopOwned] | Sequence[QuerySet[ShopOwned]] | type[ShopOwned] | Narrowed


def page_keys(
    fitting: Fitting, order: Order, page: PageRequest, versions: tuple[str, ...]
) -> tuple[list[Values], bool]:
    """The keys of a page: ``(id, *versions, *values of the order)`` of each row, in list order.

    Args:
        fitting: The rows that fit.
        order: ORM orderings.
        page: The page asked for.
        versions: The version columns.

    Returns:
        The keys, and whether there are more rows on the side to which the page was read.
    """
    columns = ("pk", *versions, *(name.lstrip("-") for name in order))
    return _turn(_rows(fitting, order, page, columns), page)


def read_page_rows(
    plan: Plan, fitting: Fitting, order: Order, page: PageRequest, context: Context
) -> tuple[list[bytes], list[Values], bool]:
    """The rendered objects of a page, the order's values of each, and whether there are more.

    Raises:
        BadRequest: They have many related rows, and are more than one answer may hold.
    """
    extra = tuple(name.lstrip("-") for name in order)
    rows, has_more = _turn(_rows(fitting, order, page, (*plan.columns, *extra)), page)
    width = len(plan.columns)
    return render_rows(plan, [row[:width] for row in rows], context), [row[width:] for row in rows], has_more


def _turn(rows: list[Values], page: PageRequest) -> tuple[list[Values], bool]:
    """Cut the row that only tells of more, and bring a page that was read backwards into list order."""
    has_more = len(rows) > page.limit
    rows = rows[: page.limit]
    if page.cursor is not None and page.cursor.direction == "previous":
        rows.reverse()
    return rows, has_more


def _rows(fitting: Fitting, order: Order, page: PageRequest, columns: tuple[str, ...]) -> list[Values]:
    """The rows of a page, and one more where there is one; a column may stand twice in ``columns``."""
    names = tuple(dict.fromkeys(columns))
    rows: Sequence[Values]
    if isinstance(fitting, Narrowed):
        rows = first_rows(fitting, order, page.cursor, page.limit + 1, names)
    elif isinstance(fitting, type) and order in {("id",), ("-id",)}:
        statement = _statement(fitting, order, page.cursor.direction if page.cursor else None, page.limit, names)
        rows = statement.fetch(*(page.cursor.values if page.cursor else ()))
    else:
        visible = fitting.objects.all() if isinstance(fitting, type) else fitting
        alternatives = (visible,) if isinstance(visible, QuerySet) else visible
        rows = list(beside_any(alternatives, order, page.cursor, page.limit + 1).values_list(*names))
    if names == columns:
        return list(rows)
    places = [names.index(column) for column in columns]
    return [[row[place] for place in places] for row in rows]


@lru_cache(maxsize=4096)
def _statement(
    model: type[ShopOwned], order: Order, direction: str | None, limit: int, columns: tuple[str, ...]
) -> Statement[Values]:
    """The page of a resource in one order, direction and size."""
    turned = direction == "previous"
    descending = order[0].startswith("-") != turned
    effective = "-id" if descending else "id"

    def build(*cursor: int) -> QuerySet[ShopOwned, tuple[object, ...]]:
        queryset = model.objects.all()
        if cursor:
            queryset = queryset.filter(**{"id__lt" if descending else "id__gt": cursor[0]})
        return queryset.order_by(effective).values_list(*columns)[: limit + 1]

    return Statement(build, *((int,) if direction else ()))


@lru_cache(maxsize=1024)
def _key_statement(model: type[ShopOwned], versions: tuple[str, ...]) -> Statement[Values]:
    return Statement(lambda pk: model.objects.filter(pk=pk).values_list("pk", *versions), int)


def single_key(model: type[ShopOwned], pk: int, versions: tuple[str, ...]) -> Values | None:
    """``(id, *versions)`` of one row of the current shop; None where it has none."""
    rows = _key_statement(model, versions).fetch(pk)
    return rows[0] if rows else None


def tag_of(content: Hashable) -> str:
    """A weak entity tag of what an answer is made of: texts and numbers, which read the same in every process."""
    return f'W/"{hashlib.blake2b(repr(content).encode(), digest_size=12).hexdigest()}"'
