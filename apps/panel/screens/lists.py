"""The lists of the panel: how many rows a page has, and the views that people keep of a list."""

import re
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.utils.translation import gettext as _

from apps.ground import languages, ranks
from apps.ground.folding import folded_copies
from apps.ground.lookups import among
from apps.panel.requests import Context
from apps.panel.screens import far_ends, saved_views
from apps.panel.screens.chips import VIEW_FILTER, narrowing
from apps.panel.screens.columns import COLUMNS_VAR, Columns
from apps.panel.screens.filter_panel import FilterPanel
from apps.panel.screens.paging import COUNTED
from apps.panel.screens.searching import cut_of
from apps.panel.screens.typed_filters import DaysFilter, TypedFilter
from apps.panel.theme import ThemedChangeList

PAGE_SIZES = (25, 50, 100)
_REMEMBERED = "page_size"
# The choice of the filter ``view`` that narrows nothing.
ALL_ROWS = "all"
_INDENTATION = re.compile(r"(<(textarea|pre|script)\b.*?</\2>)|\s*\n\s*", re.DOTALL)


class _Found(list[Any]):
    """Keys in the place of the rows that a list counts and parts into pages."""

    def _clone(self) -> "_Found":
        return self


class PanelChangeList(ThemedChangeList):
    """A list whose address also says how many rows a page has; the last choice holds for all lists of the session.

    ``keepable`` is the query string that a person could keep as a view; empty where the list is as it comes.
    ``cut`` says which rows a search shows that does not show all it finds.
    """

    model_admin: saved_views.Screen
    list_display: Any
    order_note = ""

    def __init__(self, request: HttpRequest, model: type[Model], *args: Any, **kwargs: Any) -> None:
        """Like the theme's; ``list_per_page`` may be another one of ``PAGE_SIZES``."""
        super().__init__(request, model, *args, **kwargs)
        self._path = request.path
        self.saved_views = [] if self.is_popup else saved_views.tabs(request, self.model_admin)
        self.current_view = next((view for view in self.saved_views if view.current), None)
        self.keepable = "" if self.is_popup else saved_views.canonical(request.GET.urlencode())
        self.own_views = self._own_views()
        self.narrowing = None if self.is_popup else narrowing(self)
        self.cut = cut_of(request) if self.query else ""
        notes = (self.model_admin.search_note(self.query), self.cut) if self.query else ()
        self.search_note = " ".join(filter(None, notes))
        self.asked = saved_views.canonical(request.GET.urlencode())
        if any(self.keepable == view["link"].removeprefix("?") for view in self.own_views):
            self.keepable = ""

    def get_results(self, request: HttpRequest) -> None:
        """The rows of the page, which are counted without their ranks: each has one."""
        self.list_per_page: int = page_size(request, self.model_admin.list_per_page)
        rows, self.queryset = self.queryset, self._found() if self.query else self._unranked
        super().get_results(request)
        found, self.queryset = self.queryset, rows
        first = (self.page_num - 1) * self.list_per_page
        end = min(first + self.list_per_page, self.result_count)
        typed = self._typed()
        if isinstance(found, _Found):
            page = self.apply_select_related(self.root_queryset.filter(pk__in=found[first:end]))
            self.result_list = ranks.joined(page.order_by(*rows.query.order_by))
        elif typed and self.multi_page:
            self._from_far(rows, typed[0], first, end)
        else:
            self.result_list = rows[first:end] if self.multi_page else rows.all()

    def _found(self) -> Any:
        """What a search found, in the order of the list and as far as it counts: it is searched once."""
        return _Found(self.queryset.select_related(None).values_list("pk", flat=True)[:COUNTED])

    def _from_far(self, rows: QuerySet[Any], typed: TypedFilter[Any], first: int, end: int) -> None:
        narrowed = far_ends.Narrowed(
            rows, self._unranked, self.root_queryset, typed.own_order, self.result_count, self.list_per_page
        )
        page = far_ends.page_of(narrowed, first, end)
        self.result_list = page.rows
        if not page.of_all:
            said = _("{number} of the rows that fit are sorted here. Narrow the list further to sort all of them.")
            self.order_note = said.format(number=languages.count(COUNTED))

    def _typed(self) -> list[TypedFilter[Any]]:
        """The filters into which something was typed that narrows the list, those by days first."""
        found = [spec for spec in self.filter_specs if isinstance(spec, TypedFilter) and spec.values]
        return sorted(found, key=lambda spec: not isinstance(spec, DaysFilter))

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Model]) -> list[Any]:
        """By folded texts where a column has one, as indexes have them; equal rows follow the direction by id."""
        asked = super().get_ordering(request, queryset.order_by()) if ORDER_VAR in self.params else []
        # Not by what the list is sorted by otherwise, whose directions no index has behind all columns.
        *columns, last = asked if len(asked) > 1 else super().get_ordering(request, queryset)
        typed = self._typed()
        if typed and isinstance(typed[0], DaysFilter) and len(asked) <= 1:
            columns, last = list(typed[0].own_order[:-1]), typed[0].own_order[-1]
        if columns and str(last).lstrip("-") in {"id", "pk"}:
            nearest = columns[-1]
            descends = nearest.startswith("-") if isinstance(nearest, str) else getattr(nearest, "descending", False)
            last = "-pk" if descends else "pk"
        order = [*columns, last]
        names = [_folded(self.model, name) for name in order if isinstance(name, str)]
        return list(ranks.by_rank(self.model, names)) if len(names) == len(order) else order

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any, Any]:
        """The rows that fit, in their order."""
        self._arrange(request)
        self._unranked = self._few_first(request, super().get_queryset(request, exclude_parameters))
        return ranks.joined(self._unranked)

    def _few_first(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Of rows that several typed filters leave, those of the one that fewest fit, where these are few.

        Of two filters in different tables a database reads all that fits the other one, expecting few to fit both.
        """
        typed = self._typed()
        if len(typed) < 2:
            return rows
        alone = [each.queryset(request, self.root_queryset).order_by().values("pk")[:COUNTED] for each in typed]
        number, few = min(((keys.count(), keys) for keys in alone), key=lambda found: found[0])
        return rows.filter(among(few)) if number < COUNTED else rows

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

    def url_for_result(self, result: Model) -> str:
        """Where a row leads, from the address of the list: it stands in each row, and often twice."""
        return super().url_for_result(result).removeprefix(self._path)

    @property
    def matching(self) -> QuerySet[Any]:
        """All rows that fit, also beyond the last page."""
        return self._unranked

    @property
    def narrowed_by(self) -> list[str]:
        """What narrows it, in words, the view of its own first; nothing where it shows all rows."""
        view = [title for value, title, chosen in self._views_of_filter() if chosen and value != ALL_ROWS]
        return [*view, *(chip.words for chip in (self.narrowing.chips if self.narrowing else ()))]

    @property
    def filter_panel(self) -> FilterPanel:
        """Its filters, as people set them."""
        return FilterPanel(self)

    @property
    def number_told(self) -> str:
        """How many rows there are, as far as they are counted, as people write it."""
        return languages.count(self.result_count)

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
        own = self._views_of_filter()
        if not own:
            return (
                [{"title": _("All"), "link": f"?{ALL_VAR}=1", "current": not self.keepable}] if self.saved_views else []
            )
        return [
            {"title": title, "link": f"?{VIEW_FILTER}={value}", "current": chosen and not self.current_view}
            for value, title, chosen in own
        ]

    def _views_of_filter(self) -> list[tuple[str, str, bool]]:
        """The choices of the filter ``view``, where there is one, and which of them is chosen."""
        own = next((spec for spec in self.filter_specs if getattr(spec, "parameter_name", "") == VIEW_FILTER), None)
        if not isinstance(own, SimpleListFilter):
            return []
        chosen = [bool(choice["selected"]) for choice in own.choices(self)]
        return [(value, str(title), each) for (value, title), each in zip(own.lookup_choices, chosen, strict=True)]

    def get_filters_params(self, params: Context | None = None) -> Context:
        """The parameters that narrow the list."""
        narrowing = super().get_filters_params(params)
        return {
            name: value
            for name, value in narrowing.items()
            if name not in saved_views.OF_THE_MOMENT and name != COLUMNS_VAR
        }


def _folded(model: type[Model], name: str) -> str:
    copy = folded_copies(model).get(name.lstrip("-"))
    return name if copy is None else name.replace(copy.of, str(copy.name))


def lightened(answer: HttpResponse, self_evident: Iterable[str] = ()) -> HttpResponse:
    """A page of many rows, which will be sent without its indentation and without the labels of such columns."""
    if isinstance(answer, SimpleTemplateResponse):
        answer.add_post_render_callback(partial(without_indentation, self_evident=tuple(self_evident)))
    return answer


def without_indentation(answer: SimpleTemplateResponse, self_evident: tuple[str, ...] = ()) -> None:
    """Take the indentation of the templates out of a page, a third of what a list weighs, and labels that none reads.

    What people type into a text area and what a script is made of, keep their lines.
    """
    text = _INDENTATION.sub(lambda found: found[1] or "\n", answer.content.decode())
    answer.content = _labels_that_none_reads(self_evident).sub(r"\1", text)


@cache
def _labels_that_none_reads(self_evident: tuple[str, ...]) -> re.Pattern[str]:
    """Labels of cells that a phone shows without: the box, what leads to the row, a state, and the columns named."""
    bare = "|".join(["action-checkbox", *(f"field-{name}" for name in self_evident)])
    return re.compile(
        rf'(<(?:th class="[^"]*"|td class="(?:{bare})(?: [^"]*)?")) data-label="[^"]*"'
        r'| data-label="[^"]*"(?=>(?:<a href="[^"]*" class="bo-to"|\s*<span class="bo-badge(?![^"]*bo-flag)))'
    )


def page_size(request: HttpRequest, default: int) -> int:
    """How many rows a page has: as the address says, else as chosen last, else the list's own."""
    asked = _known(request.GET.get(saved_views.SIZE_VAR))
    if asked and request.session.get(_REMEMBERED) != asked:
        request.session[_REMEMBERED] = asked
    return asked or _known(request.session.get(_REMEMBERED)) or default


def _known(value: object) -> int | None:
    return next((size for size in PAGE_SIZES if str(size) == str(value)), None)
