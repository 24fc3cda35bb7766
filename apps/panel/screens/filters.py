"""Filters for lists: a choice from many as a select box, and periods in the shop's days.

A list that uses them sets ``list_filter_submit = True``, so that several are chosen before the list is asked again.
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
from django.utils.translation import gettext_lazy

from apps.ground.ranks import where

M = TypeVar("M", bound=Model)
Screen: TypeAlias = admin.ModelAdmin[Model]
Choices: TypeAlias = list[tuple[str, str]]

# Days back from the beginning of today.
PERIODS = {
    "0": gettext_lazy("Today"),
    "7": gettext_lazy("Last 7 days"),
    "30": gettext_lazy("Last 30 days"),
    "365": gettext_lazy("Last 365 days"),
}


class SelectFilter(admin.SimpleListFilter):
    """A filter whose choices are too many for a list of links."""

    template = "panel/select_filter.html"

    def has_output(self) -> bool:
        """Also without choices, so that the form keeps its shape."""
        return True

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """The choices with their values."""
        yield {"value": "", "display": _("All"), "selected": not self.value()}
        for value, display in self.lookup_choices:
            yield {"value": value, "display": display, "selected": self.value() == str(value)}


class RankedChoicesFilter(admin.ChoicesFieldListFilter):
    """By the choices of a column that has its index in a rank."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any] | None:
        """Only the rows with the choice."""
        wanted = self.used_parameters.get(self.lookup_kwarg)
        if wanted is None:
            return super().queryset(request, queryset)
        return queryset.filter(where(self.field.model, self.field_path, "in", wanted))


class PeriodFilter(SelectFilter):
    """By when; derive from it to filter by another field."""

    title = gettext_lazy("when")
    parameter_name = "period"
    field = "created_at"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """Periods up to now."""
        return [(days, str(label)) for days, label in PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> QuerySet[M]:
        """Only since the chosen day began."""
        value = self.value()
        if value not in PERIODS:
            return queryset
        return queryset.filter(**{f"{self.field}__gte": midnight() - timedelta(days=int(value))})


def midnight() -> datetime:
    """When today began in the shop."""
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
