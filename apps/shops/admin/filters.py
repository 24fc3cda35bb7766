"""How lists of what belongs to apps are narrowed."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.panel.screens.filters import Choices, Screen, SelectFilter
from apps.shops.models import App, Installation


class AppFilter(SelectFilter):
    """By app, of those that are installed here; for rows that have an ``app``."""

    title = gettext_lazy("app")
    parameter_name = "app"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The shop's apps."""
        here = Installation.rows().filter(uninstalled_at=None).values("app_id")
        return [(str(app.pk), app.name) for app in App.objects.filter(pk__in=here).order_by("name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Only the chosen app's."""
        value = self.value()
        return queryset.filter(app_id=value[:18]) if value and value.isdecimal() else queryset
