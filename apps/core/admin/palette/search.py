"""The search for the command palette.

Results begin with pages, best match first. Rows follow, beginning with products, customers and orders. Users
only find rows of this shop that they may view. Results are never cached. Each model returns at most five rows. Terms of
one letter are ignored.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import get_language, override

from apps.core.admin.lists.search import Suggestion
from apps.core.admin.menu import PageEntry
from apps.core.admin.palette.entries import get_palette_entries
from apps.core.admin.palette.matching import PaletteQuery
from apps.core.admin.theme import SearchResult
from apps.core.i18n.formats import ENGLISH
from apps.core.registry import Registry

MIN_TERM_LENGTH, MAX_TERM_LENGTH, ROWS_PER_MODEL = 2, 200, 5


@dataclass
class RowSearchResult(SearchResult):
    image: str = ""


# Additional search functions. They must check permissions and limit their results.
search_functions = Registry[str, Callable[[HttpRequest, str], Iterable[SearchResult]]](
    "searches of the command palette"
)


def search_panel(request: HttpRequest, term: str) -> list[SearchResult]:
    term = term.strip()[:MAX_TERM_LENGTH].replace("\x00", "")
    if len(term) < MIN_TERM_LENGTH:
        return []
    extra_results = (result for finder in search_functions.values() for result in finder(request, term))
    return [*_find_pages(request, term), *_find_rows(request, term), *extra_results]


def suggest_searches(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    """Yield links to list searches for texts that are similar to a term without results, each text once."""
    seen: set[str] = set()
    for screen in _get_searchable_screens(request):
        opts = screen.model._meta
        for text in screen.suggest_searches(term.strip()[:MAX_TERM_LENGTH].replace("\x00", "")):
            if text not in seen:
                seen.add(text)
                path = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
                kind = capfirst(str(opts.verbose_name_plural))
                yield SearchResult(title=text, description=kind, link=Suggestion(text, path).link, icon="search")


def search_link_targets(request: HttpRequest, term: str) -> Iterator[dict[str, str]]:
    """Yield the title, model name and storefront path of rows that match a term and have a ``storefront_path``."""
    term = term.strip()[:MAX_TERM_LENGTH].replace("\x00", "")
    if len(term) >= MIN_TERM_LENGTH:
        for row, name, model_admin in _search_models(
            request, term, lambda model_admin: model_admin.storefront_path is not None
        ):
            kind = capfirst(str(row._meta.verbose_name))
            yield {"title": name, "kind": kind, "address": model_admin.storefront_path(row)}


def _find_pages(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    """Yield pages that match the term in the active language or in English, best match first."""
    pages = get_palette_entries(request)
    ranks = _rank_pages(pages, term)
    if not (get_language() or ENGLISH).startswith(ENGLISH):
        with override(ENGLISH):
            english = _rank_pages(get_palette_entries(request), term)
        ranks = {link: min(ranks.get(link, rank), english.get(link, rank)) for link, rank in (ranks | english).items()}
    for page in sorted((page for page in pages if page.link in ranks), key=lambda page: ranks[page.link]):
        yield SearchResult(title=page.title, description=page.section_name, link=page.link, icon=page.icon)


def _rank_pages(pages: Iterable[PageEntry], term: str) -> dict[str, int]:
    query = PaletteQuery(term)
    return {page.link: rank for page in pages if (rank := page.get_rank(query)) is not None}


def _find_rows(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    for row, name, model_admin in _search_models(request, term):
        model = model_admin.model
        page = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        icon = getattr(getattr(model_admin, "menu", None), "icon", "search")
        kind = capfirst(str(model._meta.verbose_name))
        description = " · ".join([kind, *model_admin.palette_details(row)])
        link = reverse(page, args=(row.pk,))
        yield RowSearchResult(
            title=name, description=description, link=link, icon=icon, image=model_admin.palette_image(row)
        )


def _search_models(
    request: HttpRequest, term: str, accepts: Callable[[Any], bool] = lambda screen: True
) -> Iterator[tuple[Model, str, Any]]:
    for screen in filter(accepts, _get_searchable_screens(request)):
        rows, _ = screen.get_search_results(request, screen.get_queryset(request), term)
        related = screen.list_select_related
        first_rows = list((rows.select_related(*related) if isinstance(related, tuple) else rows)[:ROWS_PER_MODEL])
        names = screen.palette_titles(first_rows) if first_rows else {}
        yield from ((row, names[row.pk], screen) for row in first_rows)


def _get_searchable_screens(request: HttpRequest) -> Iterator[Any]:
    """Yield the model admins that the user may search, in the order of the results."""
    model_admins: Iterable[Any] = admin.site._registry.values()
    for screen in sorted(model_admins, key=lambda screen: screen.palette_order):
        if screen.is_in_palette and screen.get_search_fields(request) and screen.has_view_permission(request):
            yield screen
