"""Pages of a list that is narrowed by what was typed: no database is left to walk a million rows for one page.

A database that is asked for the first fifty rows in some order expects those that fit to be spread evenly, and walks
the list in that order until it has them. Where they stand at its far end, as the orders of one old day do in a list
that begins with the newest, it walks all of it. How many fit is known before: a list counts them, as far as it counts.

*Few* fit: their keys are read by the filter's own index, and sorted. *Many* fit: the first rows of the order are looked
through, a few and then more; only where too few of them fit, as many as a list counts in the filter's own order are
sorted instead of all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from apps.ground import ranks
from apps.ground.lookups import among, sorted_apart
from apps.panel.screens.paging import COUNTED

Rows = QuerySet[Any, Any]
# So many of the first rows of an order are looked through: where many fit they are soon met.
WALKS = 1_000, 5_000


class Narrowed(NamedTuple):
    """A list that something narrows.

    Attributes:
        rows: Those that fit, in the order of the list.
        unranked: The same without their ranks.
        all_rows: Those of the shop.
        own: The order in which an index of the filter has them.
        number: How many fit, as far as they are counted.
        size: How many rows a whole page has.
    """

    rows: Rows
    unranked: Rows
    all_rows: Rows
    own: Sequence[str]
    number: int
    size: int


class Page(NamedTuple):
    """Some of the rows, and whether they are the first of all that fit; else of ``COUNTED`` of them."""

    rows: Rows
    of_all: bool


def page_of(narrowed: Narrowed, first: int, end: int) -> Page:
    """The rows from one place up to another, which is not among them."""
    rows = narrowed.rows
    order = [name for name in rows.query.order_by if isinstance(name, str)]
    if len(order) < len(rows.query.order_by):
        return Page(rows[first:end], True)
    if narrowed.number < COUNTED:
        ranked = bool(ranks.ranks_in(rows.model, order))
        fitting = _sorted(narrowed, narrowed.unranked.order_by(), order) if ranked else rows
        return Page(_by_keys(rows, sorted_apart(fitting, fitting.query.order_by), first, end), True)
    if order in (list(narrowed.own), [name.lstrip("-") for name in narrowed.own]):
        return Page(rows[first:end], True)
    for walked in WALKS:
        found = list(_keys(rows.filter(among(ranks.nearest(narrowed.all_rows, order, walked))), 0, end))
        if len(found) == end:
            return Page(rows.filter(pk__in=found[first:]), True)
    if len(found) >= narrowed.size:
        return Page(rows[first:end], True)
    some = narrowed.unranked.order_by(*narrowed.own)[:COUNTED]
    return Page(_by_keys(rows, _sorted(narrowed, some, order), first, end), False)


def _sorted(narrowed: Narrowed, some: Rows, order: Sequence[str]) -> Rows:
    """Some of the rows in an order; their ranks instead where these have it, so that nothing else is read to sort them.

    SQLite would look for each of the keys in turn in a join with the rows.
    """
    return ranks.by_themselves(narrowed.all_rows, order).filter(among(some.values("pk")))


def _by_keys(rows: Rows, sorted_rows: Rows, first: int, end: int) -> Rows:
    """Of the sorted rows those of a page: their keys are found before anything is read beside them."""
    return rows.filter(among(_keys(sorted_rows, first, end)))


def _keys(rows: Rows, first: int, end: int) -> Rows:
    return rows.select_related(None).values_list("pk", flat=True)[first:end]
