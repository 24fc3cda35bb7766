"""Finding things from anywhere in the panel.

Pages come first, the nearest before others, then rows: products, customers and orders before what is kept of them.
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
from django.utils.translation import get_language, override

from apps.ground.languages import ENGLISH
from apps.panel.menu import Entry
from apps.panel.places import places
from apps.panel.theme import SearchResult
from apps.panel.wishes import Wish

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
    return [*_pages(request, term), *_rows(request, term), *further]


def find_linked(request: HttpRequest, term: str) -> Iterator[Linked]:
    """Rows that a term matches and a text can point at; of screens with a ``storefront_path``."""
    term = term.strip()[:LONGEST].replace("\x00", "")
    if len(term) >= SHORTEST:
        for row, name, screen in _found(request, term, lambda screen: screen.storefront_path is not None):
            yield Linked(name, capfirst(str(row._meta.verbose_name)), screen.storefront_path(row))


def _pages(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    """What the term means in the language that is spoken, or in English, which people mix in; the nearest first."""
    pages = places(request)
    near = _nearness(pages, term)
    if not (get_language() or ENGLISH).startswith(ENGLISH):
        with override(ENGLISH):
            english = _nearness(places(request), term)
        near = {link: min(near.get(link, rank), english.get(link, rank)) for link, rank in (near | english).items()}
    for page in sorted((page for page in pages if page.link in near), key=lambda page: near[page.link]):
        yield SearchResult(title=page.title, description=page.section_name, link=page.link, icon=page.icon)


def _nearness(pages: Iterable[Entry], term: str) -> dict[str, int]:
    wish = Wish(term)
    return {page.link: near for page in pages if (near := page.nearness(wish)) is not None}


def _rows(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for row, name, screen in _found(request, term):
        model = screen.model
        page = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        icon = getattr(getattr(screen, "menu", None), "icon", "search")
        kind = capfirst(str(model._meta.verbose_name))
        told = " · ".join([kind, *screen.told_in_search(row)])
        link = reverse(page, args=(row.pk,))
        yield Found(title=name, description=told, link=link, icon=icon, picture=screen.picture_in_search(row))


def _found(
    request: HttpRequest, term: str, wanted: Callable[[Any], bool] = lambda screen: True
) -> Iterator[tuple[Model, str, Any]]:
    """The first rows that a term finds on each screen, with their names and the screen."""
    screens: Iterable[Any] = filter(wanted, admin.site._registry.values())
    for screen in sorted(screens, key=lambda screen: screen.place_in_search):
        if screen.get_search_fields(request) and screen.has_view_permission(request):
            rows, _ = screen.get_search_results(request, screen.get_queryset(request), term)
            beside = screen.list_select_related
            first = list((rows.select_related(*beside) if isinstance(beside, tuple) else rows)[:PER_MODEL])
            names = screen.names_in_search(first) if first else {}
            yield from ((row, names[row.pk], screen) for row in first)
