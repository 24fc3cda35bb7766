"""Finding things from anywhere in the panel.

A person finds what they may view, in this shop, now: nothing is cached, no model gives more than five rows, and a term
that is too short is not looked for.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from apps.panel.menu import account_pages, additions, entries
from apps.panel.theme import SearchResult

SHORTEST, LONGEST, PER_MODEL = 2, 200, 5


class Linked(NamedTuple):
    """What a text can point at: its name, its kind in words, its path on the storefront."""

    title: str
    kind: str
    address: str


@dataclass
class Found(SearchResult):
    """A row, with its picture where it has one."""

    picture: str = ""


Finder = Callable[[HttpRequest, str], Iterable[SearchResult]]
_finders: list[Finder] = []


def also_find(finder: Finder) -> Finder:
    """Search by a function too, for what has no list of its own; it asks for the permission and bounds its results."""
    _finders.append(finder)
    return finder


def find(request: HttpRequest, term: str) -> list[SearchResult]:
    """Pages of the menu, forms that add a row, and rows of searchable models that match a term."""
    term = term.strip()[:LONGEST].replace("\x00", "")
    if len(term) < SHORTEST:
        return []
    further = (result for finder in _finders for result in finder(request, term))
    return [*_pages(request, term.lower()), *_rows(request, term), *further]


def find_linked(request: HttpRequest, term: str) -> Iterator[Linked]:
    """Rows that a term matches and a text can point at; of screens with a ``storefront_path``."""
    term = term.strip()[:LONGEST].replace("\x00", "")
    if len(term) >= SHORTEST:
        for row, screen in _found(request, term, lambda screen: screen.storefront_path is not None):
            yield Linked(str(row), capfirst(str(row._meta.verbose_name)), screen.storefront_path(row))


def _pages(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for entry in (*entries(request), *additions(request), *account_pages()):
        if entry.is_meant_by(term):
            yield SearchResult(title=entry.title, description=entry.section_name, link=entry.link, icon=entry.icon)


def _rows(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for row, screen in _found(request, term):
        model = screen.model
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        icon = getattr(getattr(screen, "menu", None), "icon", "search")
        kind = capfirst(str(model._meta.verbose_name))
        told = " · ".join([kind, *screen.told_in_search(row)])
        link = reverse(name, args=(row.pk,))
        yield Found(title=str(row), description=told, link=link, icon=icon, picture=screen.picture_in_search(row))


def _found(
    request: HttpRequest, term: str, wanted: Callable[[Any], bool] = lambda screen: True
) -> Iterator[tuple[Model, Any]]:
    """The first rows that a term finds on each screen, with the screen."""
    for screen in filter(wanted, admin.site._registry.values()):
        if screen.get_search_fields(request) and screen.has_view_permission(request):
            rows, _ = screen.get_search_results(request, screen.get_queryset(request), term)
            beside = screen.list_select_related
            for row in (rows.select_related(*beside) if isinstance(beside, tuple) else rows)[:PER_MODEL]:
                yield row, screen
