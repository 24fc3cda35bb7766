"""Finding things from anywhere in the panel.

A person finds what they may view, in this shop, now: nothing is cached, no model gives more than five rows, and a term
that is too short is not looked for.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from apps.panel.menu import entries
from apps.panel.theme import SearchResult

SHORTEST, LONGEST, PER_MODEL = 2, 200, 5


class Linked(NamedTuple):
    """What a text can point at: its name, its kind in words, its path on the storefront."""

    title: str
    kind: str
    address: str


Finder = Callable[[HttpRequest, str], Iterable[SearchResult]]
_finders: list[Finder] = []


def also_find(finder: Finder) -> Finder:
    """Search by a function too, for what has no list of its own; it asks for the permission and bounds its results."""
    _finders.append(finder)
    return finder


def find(request: HttpRequest, term: str) -> list[SearchResult]:
    """Pages of the menu and rows of searchable models that match a term."""
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
    for entry in entries(request):
        if term in entry.title.lower() or term in entry.section.lower():
            yield SearchResult(title=entry.title, description=entry.section, link=entry.link, icon=entry.icon)


def _rows(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for row, screen in _found(request, term):
        model = screen.model
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        icon = getattr(getattr(screen, "menu", None), "icon", "search")
        description = capfirst(str(model._meta.verbose_name))
        yield SearchResult(title=str(row), description=description, link=reverse(name, args=(row.pk,)), icon=icon)


def _found(
    request: HttpRequest, term: str, wanted: Callable[[Any], bool] = lambda screen: True
) -> Iterator[tuple[Model, Any]]:
    """The first rows that a term finds on each screen, with the screen."""
    for screen in filter(wanted, admin.site._registry.values()):
        if screen.get_search_fields(request) and screen.has_view_permission(request):
            rows, _ = screen.get_search_results(request, screen.get_queryset(request), term)
            for row in rows[:PER_MODEL]:
                yield row, screen
