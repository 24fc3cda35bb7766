import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import label_for_field, quote
from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils.html import escape
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.core.admin.lists import filtered_pagination, saved_views
from apps.core.admin.lists.column_choice import COLUMNS_VAR, Columns
from apps.core.admin.lists.column_classes import get_column_class
from apps.core.admin.lists.filter_chips import VIEW_FILTER, get_active_filters
from apps.core.admin.lists.filter_panel import FilterPanel
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.admin.lists.row_ids import is_possible_id
from apps.core.admin.lists.search import Suggestion, get_truncation_note
from apps.core.admin.lists.typed_filters import DaysFilter, TypedFilter
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import ThemedChangeList
from apps.core.db import sort_tables
from apps.core.db.case_folding import get_folded_columns
from apps.core.db.lookups import in_materialized
from apps.core.i18n import formats

PAGE_SIZES = (25, 50, 100)
_SESSION_KEY = "page_size"
# The view filter shows all rows if it has this value.
ALL_ROWS = "all"
_INDENTATION = re.compile(r"(<(textarea|pre|script)\b.*?</\2>)|\s*\n\s*", re.DOTALL)


class _MatchingKeys(list[Any]):
    """A list of matching primary keys that the change list can count and paginate like a queryset."""

    def _clone(self) -> "_MatchingKeys":
        return self


class PanelChangeList(ThemedChangeList):
    """A change list with saved views, selectable columns and a page size from the URL or the session.

    ``saveable_query`` is the query string that users can save as a view. The query string is empty if the list is in
    its default state or shows a built-in view. ``truncation_note`` tells staff which rows a truncated search result
    contains.
    """

    model_admin: saved_views.Screen
    list_display: Any
    order_note = ""
    # False for lists that show links to newer and older rows instead of the number of rows and page numbers.
    is_counted = True

    def __init__(self, request: HttpRequest, model: type[Model], *args: Any, **kwargs: Any) -> None:
        super().__init__(request, model, *args, **kwargs)
        self._path = request.path
        self.saved_views = [] if self.is_popup else saved_views.get_view_tabs(request, self.model_admin)
        self.current_view = next((view for view in self.saved_views if view.current), None)
        self.saveable_query = "" if self.is_popup else saved_views.normalize_query(request.GET.urlencode())
        self.own_views = self._build_own_views()
        self.active_filters = None if self.is_popup else get_active_filters(self, request)
        self.truncation_note = get_truncation_note(request) if self.query else ""
        notes = (self.model_admin.get_search_note(self.query), self.truncation_note) if self.query else ()
        self.search_note = " ".join(filter(None, notes))
        self.current_query = saved_views.normalize_query(request.GET.urlencode())
        if any(self.saveable_query == view["link"].removeprefix("?") for view in self.own_views):
            self.saveable_query = ""

    @property
    def view_name(self) -> str:
        """Return the name of the current view, or a request to choose one if the list shows other rows."""
        own_names = [str(view["title"]) for view in self.own_views if view["current"]]
        return self.current_view.view.name if self.current_view else next(iter(own_names), _("Choose a view"))

    def get_results(self, request: HttpRequest) -> None:
        """Load the page. The count does not join the sort tables, because they have exactly one entry per row."""
        self.list_per_page: int = get_page_size(request, self.model_admin.list_per_page)
        rows, self.queryset = self.queryset, self._unranked
        if self.query:
            # The keys are used both to count and to paginate the rows, so the search runs only once.
            keys = rows.select_related(None).values_list("pk", flat=True)[:MAX_COUNTED_ROWS]
            self.queryset = _MatchingKeys(keys)
        super().get_results(request)
        counted_rows, self.queryset = self.queryset, rows
        first = (self.page_num - 1) * self.list_per_page
        end = min(first + self.list_per_page, self.result_count)
        typed_filters = self._get_active_typed_filters()
        if isinstance(counted_rows, _MatchingKeys):
            page = self.apply_select_related(self.root_queryset.filter(pk__in=counted_rows[first:end]))
            self.result_list = sort_tables.join_sort_tables(page.order_by(*rows.query.order_by))
        elif typed_filters and self.multi_page:
            self._load_filtered_page(rows, typed_filters[0], first, end)
        else:
            self.result_list = rows[first:end] if self.multi_page else rows.all()

    def _load_filtered_page(self, rows: QuerySet[Any], typed_filter: TypedFilter[Any], first: int, end: int) -> None:
        filtered = filtered_pagination.FilteredList(
            rows, self._unranked, self.root_queryset, typed_filter.index_order, self.result_count, self.list_per_page
        )
        page = filtered_pagination.load_page(filtered, first, end)
        self.result_list = page.rows
        if not page.of_all:
            template = _("Only {number} of the matching rows are sorted. Add a filter to sort all matching rows.")
            self.order_note = template.format(number=formats.format_integer(MAX_COUNTED_ROWS))

    def _get_active_typed_filters(self) -> list[TypedFilter[Any]]:
        """Return the typed filters with valid input, day filters first."""
        typed_filters = [spec for spec in self.filter_specs if isinstance(spec, TypedFilter) and spec.values]
        return sorted(typed_filters, key=lambda spec: not isinstance(spec, DaysFilter))

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Model]) -> list[Any]:
        """Return the sort order of the list.

        Columns with an indexed case-folded copy are sorted by the copy. Rows with equal values are sorted by ID, in the
        direction of the last sort column.
        """
        requested = super().get_ordering(request, queryset.order_by()) if ORDER_VAR in self.params else []
        # Do not append the default order to the requested columns, because no index covers the combined order.
        *columns, last = requested if len(requested) > 1 else super().get_ordering(request, queryset)
        typed_filters = self._get_active_typed_filters()
        if typed_filters and isinstance(typed_filters[0], DaysFilter) and len(requested) <= 1:
            columns, last = list(typed_filters[0].index_order[:-1]), typed_filters[0].index_order[-1]
        if columns and str(last).lstrip("-") in {"id", "pk"}:
            column = columns[-1]
            descends = column.startswith("-") if isinstance(column, str) else getattr(column, "descending", False)
            last = "-pk" if descends else "pk"
        order = [*columns, last]
        names = [_get_folded_name(self.model, name) for name in order if isinstance(name, str)]
        return list(sort_tables.map_to_sort_columns(self.model, names)) if len(names) == len(order) else order

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any, Any]:
        self._refuse_impossible_ids()
        self._set_columns(request)
        self._unranked = self._restrict_to_rarest(request, super().get_queryset(request, exclude_parameters))
        return sort_tables.join_sort_tables(self._unranked)

    def _refuse_impossible_ids(self) -> None:
        """Raise ``IncorrectLookupParameters`` for an ID that is too large for the database."""
        for name, values in self.filter_params.items():
            if name.removesuffix("__exact").removesuffix("__in").endswith(("id", "pk")):
                for part in ",".join(values).split(","):
                    if part.strip().isdecimal() and not is_possible_id(part.strip()):
                        raise IncorrectLookupParameters(part)

    def _restrict_to_rarest(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Restrict the rows to the keys of the most selective typed filter, if this filter has few matches.

        With filters on two tables, databases expect very few matches and may therefore read all matches of the less
        selective filter.
        """
        typed_filters = self._get_active_typed_filters()
        if len(typed_filters) < 2:
            return rows
        key_sets = [
            typed_filter.queryset(request, self.root_queryset).order_by().values("pk")[:MAX_COUNTED_ROWS]
            for typed_filter in typed_filters
        ]
        number, rarest_keys = min(((keys.count(), keys) for keys in key_sets), key=lambda candidate: candidate[0])
        return rows.filter(in_materialized(rarest_keys)) if number < MAX_COUNTED_ROWS else rows

    def _set_columns(self, request: HttpRequest) -> None:
        choice = "" if self.is_popup else saved_views.get_columns(request, self.model_admin)
        self.columns = Columns(self.model_admin, self.list_display, self.list_display_links, choice)
        self.list_display = self.columns.visible
        order, hidden_labels = self.columns.parse_url_order(self.params.pop(ORDER_VAR, ""))
        if order:
            self.params[ORDER_VAR] = order
        if hidden_labels:
            template = _("Hidden columns are not used for sorting: {columns}.")
            self.order_note = template.format(columns=", ".join(hidden_labels))

    def get_query_string(self, new_params: Context | None = None, remove: Iterable[str] | None = None) -> str:
        """Return a query string of the list, with the sort columns numbered as in the URL."""
        parameters = dict(new_params or {})
        if parameters.get(ORDER_VAR):
            parameters[ORDER_VAR] = self.columns.build_url_order(str(parameters[ORDER_VAR]))
        return super().get_query_string(parameters, remove)

    def url_for_result(self, result: Model) -> str:
        """Return a row's URL relative to the list. A short URL keeps the page small, because each row contains it."""
        return self._row_url.replace("PK", quote(str(getattr(result, self.pk_attname))))

    @cached_property
    def _row_url(self) -> str:
        """Return the URL of a row with the primary key PK, relative to the list."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        return reverse(name, args=("PK",)).removeprefix(self._path)

    @property
    def matching(self) -> QuerySet[Any]:
        return self._unranked

    @cached_property
    def suggestions(self) -> Sequence[Suggestion]:
        """Return similar search texts if the search has no matches. Each one searches the list without filters."""
        if not self.query or self.result_count or self.is_popup:
            return []
        return [Suggestion(text, self._path) for text in self.model_admin.suggest_searches(self.query)]

    @property
    def filter_texts(self) -> list[str]:
        """Return the labels of the active filters, starting with the active built-in view."""
        view = [title for value, title, is_selected in self._get_view_choices() if is_selected and value != ALL_ROWS]
        return [*view, *(chip.text for chip in (self.active_filters.chips if self.active_filters else ()))]

    @property
    def filter_panel(self) -> FilterPanel:
        return FilterPanel(self)

    @cached_property
    def phone_labels(self) -> list[str]:
        """Return the escaped label of each column on phones, or an empty string for columns that need none."""
        unlabeled = {"action_checkbox", *self.model_admin.mobile_hide_labels}
        return [
            ""
            if getattr(name, "__name__", name) in unlabeled
            else escape(capfirst(str(label_for_field(name, self.model, self.model_admin))))
            for name in self.list_display
        ]

    @cached_property
    def column_classes(self) -> list[str]:
        return [get_column_class(self.model_admin, name) for name in self.list_display]

    @property
    def formatted_count(self) -> str:
        return formats.format_integer(self.result_count)

    @property
    def page_size_links(self) -> list[tuple[int, str]]:
        """Return the page sizes with their URLs, or an empty list if all rows fit on the smallest page."""
        if self.result_count <= PAGE_SIZES[0]:
            return []
        return [(size, self.get_query_string({saved_views.SIZE_VAR: size})) for size in PAGE_SIZES]

    def _build_own_views(self) -> list[Context]:
        """Return the choices of the view filter as built-in views, or "All" if the list only has saved views."""
        choices = self._get_view_choices()
        if not choices and self.saved_views:
            return [{"title": _("All"), "link": f"?{ALL_VAR}=1", "current": not self.saveable_query}]
        return [
            {"title": title, "link": f"?{VIEW_FILTER}={value}", "current": is_selected and not self.current_view}
            for value, title, is_selected in choices
        ]

    def _get_view_choices(self) -> list[tuple[str, str, bool]]:
        """Return the value, title and selected state of each choice of the view filter, if the list has one."""
        view_filter = next(
            (spec for spec in self.filter_specs if getattr(spec, "parameter_name", "") == VIEW_FILTER), None
        )
        if not isinstance(view_filter, SimpleListFilter):
            return []
        selected = [bool(choice["selected"]) for choice in view_filter.choices(self)]
        return [
            (value, str(title), is_selected)
            for (value, title), is_selected in zip(view_filter.lookup_choices, selected, strict=True)
        ]

    def get_filters_params(self, params: Context | None = None) -> Context:
        parameters = super().get_filters_params(params)
        return {
            name: value
            for name, value in parameters.items()
            if name not in saved_views.TRANSIENT_PARAMETERS and name != COLUMNS_VAR
        }


def _get_folded_name(model: type[Model], name: str) -> str:
    copy = get_folded_columns(model).get(name.lstrip("-"))
    return name if copy is None else name.replace(copy.of, str(copy.name))


def strip_markup(response: HttpResponse) -> HttpResponse:
    if isinstance(response, SimpleTemplateResponse):
        response.add_post_render_callback(strip_indentation)
    return response


def strip_indentation(response: SimpleTemplateResponse) -> None:
    """Strip template indentation, a third of a list page, except in text areas and scripts."""
    response.content = _INDENTATION.sub(lambda match: match[1] or "\n", response.content.decode())


def get_page_size(request: HttpRequest, default: int) -> int:
    """Return the page size from the URL, which the session then stores, else the session, else the default."""
    requested = _parse_page_size(request.GET.get(saved_views.SIZE_VAR))
    if requested and request.session.get(_SESSION_KEY) != requested:
        request.session[_SESSION_KEY] = requested
    return requested or _parse_page_size(request.session.get(_SESSION_KEY)) or default


def _parse_page_size(value: object) -> int | None:
    return next((size for size in PAGE_SIZES if str(size) == str(value)), None)
