"""Finding things from anywhere in the panel.

A person finds what they may view, in this shop, now: nothing is cached, no model gives more than five rows, and a term
that is too short is not looked for.
"""

from collections.abc import Callable, Iterable, Iterator

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from apps.panel.menu import entries
from apps.panel.theme import SearchResult

SHORTEST, LONGEST, PER_MODEL = 2, 200, 5

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


def _pages(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for entry in entries(request):
        if term in entry.title.lower() or term in entry.section.lower():
            yield SearchResult(title=entry.title, description=entry.section, link=entry.link, icon=entry.icon)


def _rows(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for model, model_admin in admin.site._registry.items():
        if not model_admin.get_search_fields(request) or not model_admin.has_view_permission(request):
            continue
        rows, _ = model_admin.get_search_results(request, model_admin.get_queryset(request), term)
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        icon = getattr(getattr(model_admin, "menu", None), "icon", "search")
        for row in rows[:PER_MODEL]:
            description = capfirst(str(model._meta.verbose_name))
            yield SearchResult(title=str(row), description=description, link=reverse(name, args=(row.pk,)), icon=icon)
