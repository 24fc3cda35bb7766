from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.core.admin.lists.filters import Choices, Screen, SelectFilter
from apps.core.tenancy.models import App, Installation


class AppFilter(SelectFilter):
    """A filter for rows with an ``app``. The choices are the apps installed in the shop."""

    title = gettext_lazy("app")
    parameter_name = "app"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        installed_ids = Installation.rows().filter(uninstalled_at=None).values("app_id")
        return [(str(app.pk), app.name) for app in App.objects.filter(pk__in=installed_ids).order_by("name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(app_id=value[:18]) if value and value.isdecimal() else queryset
