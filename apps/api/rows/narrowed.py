"""Pages of lists that a filter narrows: walked while that pays, else read by the filter's own index and sorted.

A database that is asked for the first fifty rows in some order expects those that fit to be spread evenly, and walks
the list until it has them. Where all that fit stand at its far end, as the oldest orders do in a list that begins with
the newest, it walks all of it. So the walk has an end here, and behind it the keys of all that fit are read and sorted,
which costs what there is of them. Where a good part of the page was met by then, many fit and the rest is near: the
walk goes on once, to a further end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from apps.api.rows.paging import Cursor, Direction, Order, behind, beside, beside_any, turned
from apps.ground.lookups import among, sorted_apart
from apps.ground.ranks import by_rank
from apps.ground.tenancy import current_shop

WALKED = 2_000
# So many times as far the second walk goes.
FURTHER = 3
# And so far a walk over ranks.
WALKED_RANKS = 100_000
Found = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The rows of the shop that fit a filter; a list of the rows of a parent is none, for the parent's index reads it.

    Attributes:
        alternatives: What fits stands in any of these, which are of one model.
        since: The id behind which the list begins, where the filter names one.
        ranked: The ranks of what fits, where they carry all that the filter asks for; the list is by id then.
    """

    alternatives: Sequence[QuerySet[Any]]
    since: int | None = None
    ranked: QuerySet[Any] | None = None


def first_rows(narrowed: Narrowed, order: Order, cursor: Cursor | None, count: int, names: tuple[str, ...]) -> Found:
    """The first so many rows that fit on the cursor's side, nearest first, as tuples of columns.

    Args:
        narrowed: What fits.
        order: An order that an index of the model has.
        cursor: Where the page begins; None for the first page.
        count: How many rows.
        names: The columns.
    """
    backwards = cursor is not None and cursor.direction == "previous"
    direction: Direction = "previous" if backwards else "next"
    model = narrowed.alternatives[0].model
    effective = by_rank(model, (turned(name) for name in order) if backwards else order)
    found: Found = []
    for far in (WALKED, WALKED * FURTHER):
        end = _end_of_walk(narrowed, order, cursor, far)
        near = [beside(each, order, cursor) for each in narrowed.alternatives]
        walked = near if end is None else [each.filter(_until(effective, end)) for each in near]
        met = list(beside_any(walked, order, cursor, count).values_list(*names))
        found += met
        if end is None or len(met) >= count:
            return found
        count, cursor = count - len(met), Cursor(direction, end)
        if len(met) * FURTHER < count:
            break
    keys = model._default_manager.all()
    if narrowed.ranked is not None:
        ranked = _ranked_keys(narrowed.ranked, order, cursor, count)
        return found + list(beside(keys.filter(pk__in=ranked), order, cursor).values_list(*names))
    near = [beside(each, order, cursor) for each in narrowed.alternatives]
    parts = [keys.filter(among(sorted_apart(each, effective).values("pk")[:count])) for each in near]
    return found + list(beside_any(parts, order, cursor, count).values_list(*names))


def _ranked_keys(ranked: QuerySet[Any], order: Order, cursor: Cursor | None, count: int) -> list[int]:
    """The keys of the first of some ranks, in an order by id.

    They are alone in an index, where a join would read the rows of all of them; and their table is so narrow that it is
    walked further first, for where nearly all fit, sorting them takes longest.
    """
    by_key = tuple(name.replace("id", "pk") for name in order)
    effective = tuple(turned(name) for name in by_key) if cursor and cursor.direction == "previous" else by_key
    every = beside(ranked.model._default_manager.filter(shop=current_shop()), by_key, cursor)
    end = next(iter(every.values_list("pk")[WALKED_RANKS : WALKED_RANKS + 1]), None)
    near = beside(ranked, by_key, cursor)
    keys = list((near if end is None else near.filter(_until(effective, end))).values_list("pk", flat=True)[:count])
    if end is not None and len(keys) < count:
        behind_it = near.filter(behind(effective, end))
        keys += sorted_apart(behind_it, effective).values_list("pk", flat=True)[: count - len(keys)]
    return keys


def _until(order: Order, end: tuple[object, ...]) -> Q:
    """The rows up to an end; the first column's bound is what lets an index stop, the rest parts those equal in it."""
    nearer = "gte" if order[0].startswith("-") else "lte"
    return Q(**{f"{order[0].lstrip('-')}__{nearer}": end[0]}) & ~behind(order, end)


def _end_of_walk(narrowed: Narrowed, order: Order, cursor: Cursor | None, far: int) -> tuple[object, ...] | None:
    """The order's values of the last row that is walked; None where the list ends before."""
    rows = narrowed.alternatives[0].model._default_manager.all()
    if cursor is None and narrowed.since is not None:
        rows = rows.filter(pk__gt=narrowed.since)
    walk = beside(rows, order, cursor).values_list(*(name.lstrip("-") for name in order))
    return next(iter(walk[far : far + 1]), None)
