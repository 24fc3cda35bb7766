"""List filters: select boxes for many choices, and periods in the shop's time zone.

A list with these filters must set ``list_filter_submit = True``, so that all filters are submitted together.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.db.sort_tables import filter_sort_column

M = TypeVar("M", bound=Model)
Screen: TypeAlias = admin.ModelAdmin[Model]
Choices: TypeAlias = list[tuple[str, str]]

# Labels of the periods, keyed by the number of days before today.
PERIODS = {
    "0": gettext_lazy("Today"),
    "7": gettext_lazy("Last 7 days"),
    "30": gettext_lazy("Last 30 days"),
    "365": gettext_lazy("Last 365 days"),
}


class SelectFilter(admin.SimpleListFilter):
    """A filter with a select box instead of a list of links, for many choices."""

    template = "panel/select_filter.html"

    def has_output(self) -> bool:
        """Return True even without choices, so that the form keeps its layout."""
        return True

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        yield {"value": "", "display": _("All"), "selected": not self.value()}
        for value, display in self.lookup_choices:
            yield {"value": value, "display": display, "selected": self.value() == str(value)}


class ViewsFilter(admin.SimpleListFilter):
    """The filter for the built-in views of a list. Without a selected view, the list shows ``default_view``.

    A search covers all rows, unless a view is selected.
    """

    title = pgettext_lazy("list", "view")
    parameter_name = "view"
    default_view = "all"

    def value(self) -> str:
        view = super().value()
        known = view in [value for value, _title in self.lookup_choices]
        return str(view) if known else "all" if self._has_search else self.default_view

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self._has_search = bool(request.GET.get("q"))
        super().__init__(request, *args, **kwargs)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
        view = self.value()
        return queryset if view == "all" else self.filter_view(queryset, view)

    def filter_view(self, queryset: QuerySet[Any, Any], view: str) -> QuerySet[Any, Any]:
        """Return the rows of a view other than ``all``."""
        raise NotImplementedError

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the choices without Django's default "All", because the list has its own "All" view."""
        for value, title in self.lookup_choices:
            query = changelist.get_query_string({self.parameter_name: value})
            yield {"selected": value == self.value(), "query_string": query, "display": title}


class _TitledFilter(admin.FieldListFilter):
    """A filter for a field with a title other than the name of the field."""

    shown_title: StrOrPromise

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = str(self.shown_title)


class TitledChoicesFilter(_TitledFilter, admin.ChoicesFieldListFilter): ...


class TitledBooleanFilter(_TitledFilter, admin.BooleanFieldListFilter): ...


class RankedChoicesFilter(admin.ChoicesFieldListFilter):
    """A filter for a field with choices that uses the field's index in a sort table."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any] | None:
        values = self.used_parameters.get(self.lookup_kwarg)
        if values is None:
            return super().queryset(request, queryset)
        return queryset.filter(filter_sort_column(self.field.model, self.field_path, "in", values))


class PeriodFilter(SelectFilter):
    """A filter for periods up to now, such as the last 7 days. Subclasses set ``field`` to filter by another field."""

    title = gettext_lazy("when")
    parameter_name = "period"
    field = "created_at"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(days, str(label)) for days, label in PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> QuerySet[M]:
        value = self.value()
        if value not in PERIODS:
            return queryset
        return queryset.filter(**{f"{self.field}__gte": get_start_of_today() - timedelta(days=int(value))})


def get_start_of_today() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
