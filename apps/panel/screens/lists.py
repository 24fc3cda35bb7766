"""The lists of the panel: how many rows a page has, and the views that people keep of a list."""

import re
from collections.abc import Iterable
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.response import SimpleTemplateResponse
from django.utils.translation import gettext as _

from apps.ground import ranks
from apps.panel.requests import Context
from apps.panel.screens import saved_views
from apps.panel.screens.chips import VIEW_FILTER, narrowing
from apps.panel.screens.columns import COLUMNS_VAR, Columns
from apps.panel.screens.filter_panel import FilterPanel
from apps.panel.theme import ThemedChangeList

PAGE_SIZES = (25, 50, 100)
_REMEMBERED = "page_size"
_INDENTATION = re.compile(r"(<(textarea|pre|script)\b.*?</\2>)|\s*\n\s*", re.DOTALL)


class PanelChangeList(ThemedChangeList):
    """A list whose address also says how many rows a page has; the last choice holds for all lists of the session.

    ``keepable`` is the query string that a person could keep as a view; empty where the list is as it comes.
    """

    model_admin: saved_views.Screen
    list_display: Any
    order_note = ""

    def __init__(self, request: HttpRequest, model: type[Model], *args: Any, **kwargs: Any) -> None:
        """Like the theme's; ``list_per_page`` may be another one of ``PAGE_SIZES``."""
        super().__init__(request, model, *args, **kwargs)
        self.saved_views = [] if self.is_popup else saved_views.tabs(request, self.model_admin)
        self.current_view = next((view for view in self.saved_views if view.current), None)
        self.keepable = "" if self.is_popup else saved_views.canonical(request.GET.urlencode())
        self.own_views = self._own_views()
        self.narrowing = None if self.is_popup else narrowing(self)
        self.search_note = self.model_admin.search_note(self.query) if self.query else ""
        self.asked = saved_views.canonical(request.GET.urlencode())
        if any(self.keepable == view["link"].removeprefix("?") for view in self.own_views):
            self.keepable = ""

    def get_results(self, request: HttpRequest) -> None:
        """The rows of the page."""
        self.list_per_page: int = page_size(request, self.model_admin.list_per_page)
        super().get_results(request)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Model]) -> list[Any]:
        """Rows that are equal in the column that was asked for follow its direction by id: so one index serves both."""
        *columns, last = super().get_ordering(request, queryset)
        if columns and str(last).lstrip("-") in {"id", "pk"}:
            nearest = columns[-1]
            descends = nearest.startswith("-") if isinstance(nearest, str) else getattr(nearest, "descending", False)
            last = "-pk" if descends else "pk"
        order = [*columns, last]
        names = [name for name in order if isinstance(name, str)]
        return list(ranks.by_rank(self.model, names)) if len(names) == len(order) else order

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any, Any]:
        """The rows that fit, in their order."""
        self._arrange(request)
        return ranks.joined(super().get_queryset(request, exclude_parameters))

    def _arrange(self, request: HttpRequest) -> None:
        """Show the columns that are wanted, and read by them what the address says of sorting."""
        choice = "" if self.is_popup else saved_views.columns_of(request, self.model_admin)
        self.columns = Columns(self.model_admin, self.list_display, self.list_display_links, choice)
        self.list_display = self.columns.shown
        order, hidden = self.columns.sorted_here(self.params.pop(ORDER_VAR, ""))
        if order:
            self.params[ORDER_VAR] = order
        if hidden:
            said = _("The list is not sorted by {columns}: that is not among its columns now.")
            self.order_note = said.format(columns=", ".join(hidden))

    def get_query_string(self, new_params: Context | None = None, remove: Iterable[str] | None = None) -> str:
        """An address of the list; the columns that it is sorted by are numbered as they are offered."""
        wanted = dict(new_params or {})
        if wanted.get(ORDER_VAR):
            wanted[ORDER_VAR] = self.columns.sorted_anywhere(str(wanted[ORDER_VAR]))
        return super().get_query_string(wanted, remove)

    @property
    def filter_panel(self) -> FilterPanel:
        """Its filters, as people set them."""
        return FilterPanel(self)

    @property
    def page_size_links(self) -> list[tuple[int, str]]:
        """Each choice with the address of this list under it; none where they make no difference."""
        if self.result_count <= PAGE_SIZES[0]:
            return []
        return [(size, self.get_query_string({saved_views.SIZE_VAR: size})) for size in PAGE_SIZES]

    def _own_views(self) -> list[Context]:
        """The views that the list has by itself: the choices of its filter ``view``, else all rows.

        All rows need a name of their own only beside kept views.
        """
        own = next((spec for spec in self.filter_specs if getattr(spec, "parameter_name", "") == VIEW_FILTER), None)
        if not isinstance(own, SimpleListFilter):
            return (
                [{"title": _("All"), "link": f"?{ALL_VAR}=1", "current": not self.keepable}] if self.saved_views else []
            )
        chosen = [choice["selected"] and not self.current_view for choice in own.choices(self)]
        return [
            {"title": title, "link": f"?view={value}", "current": current}
            for (value, title), current in zip(own.lookup_choices, chosen, strict=True)
        ]

    def get_filters_params(self, params: Context | None = None) -> Context:
        """The parameters that narrow the list."""
        narrowing = super().get_filters_params(params)
        return {
            name: value
            for name, value in narrowing.items()
            if name not in saved_views.OF_THE_MOMENT and name != COLUMNS_VAR
        }


def without_indentation(answer: SimpleTemplateResponse) -> None:
    """Take the indentation of the templates out of a page, a third of what a list weighs.

    What people type into a text area and what a script is made of, keep their lines.
    """
    answer.content = _INDENTATION.sub(lambda found: found[1] or "\n", answer.content.decode())


def page_size(request: HttpRequest, default: int) -> int:
    """How many rows a page has: as the address says, else as chosen last, else the list's own."""
    asked = _known(request.GET.get(saved_views.SIZE_VAR))
    if asked and request.session.get(_REMEMBERED) != asked:
        request.session[_REMEMBERED] = asked
    return asked or _known(request.session.get(_REMEMBERED)) or default


def _known(value: object) -> int | None:
    return next((size for size in PAGE_SIZES if str(size) == str(value)), None)
