"""What narrows the work list."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.db.models.lookups import LessThan
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.fulfillment.models import FulfillmentOrder, FulfillmentService
from apps.fulfillment.models.orders import DUE, RequestStatus, Status
from apps.inventory.models import Location
from apps.panel.screens.filters import Choices, Screen, SelectFilter, midnight

Rows = QuerySet[FulfillmentOrder]
# What somebody can do something about now.
TO_SEND = (Status.OPEN, Status.IN_PROGRESS)
WAITING = (RequestStatus.SUBMITTED, RequestStatus.CANCELLATION_REQUESTED)
OWN = "own"
VIEWS: dict[str, StrOrPromise] = {
    "send": gettext_lazy("To send"),
    "today": gettext_lazy("Due today"),
    "late": gettext_lazy("Late"),
    "requests": gettext_lazy("Requests"),
    "held": gettext_lazy("On hold"),
    "scheduled": gettext_lazy("Scheduled"),
    "all": gettext_lazy("All"),
}


def view_of(request: HttpRequest) -> str:
    """The view of the list: what is to be sent, unless another is chosen; a search and a status look at all."""
    chosen = request.GET.get("view", "")
    if chosen in VIEWS:
        return chosen
    return "all" if request.GET.get("q") or request.GET.get("status") else "send"


def in_view(rows: Rows, view: str, *, by_status: bool = False) -> Rows:
    """The rows of a view; ``by_status`` leaves the view's own status out, where another one is chosen."""
    if view == "all":
        return rows
    if not by_status:
        status = {"held": (Status.ON_HOLD,), "scheduled": (Status.SCHEDULED,)}.get(view, TO_SEND)
        rows = rows.filter(status__in=status)
    if view == "today":
        return rows.filter(LessThan(DUE, midnight() + timedelta(days=1)))
    if view == "late":
        # The first says no more than the second, but in the order of the list.
        return rows.filter(LessThan(DUE, timezone.now()), fulfill_by__lt=timezone.now())
    if view == "requests":
        return rows.filter(request_status__in=WAITING)
    return rows


class ViewFilter(SelectFilter):
    """The views of the list, which are its tabs as well."""

    title = gettext_lazy("view")
    parameter_name = "view"

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.chosen = view_of(request)
        self.by_status = bool(request.GET.get("status"))
        super().__init__(request, *args, **kwargs)

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The views' names."""
        return [(name, str(title)) for name, title in VIEWS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """The rows of the view; where a status is chosen, that status instead of the view's own."""
        return in_view(queryset, self.chosen, by_status=self.by_status)

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Without "all" of Django's own: it is one of the views."""
        for value, title in self.lookup_choices:
            yield {"value": value, "display": title, "selected": value == self.chosen}


class StatusFilter(SelectFilter):
    """By how far the work is."""

    title = gettext_lazy("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """All statuses."""
        return [(value, str(label)) for value, label in Status.choices]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Only the chosen one."""
        value = self.value()
        return queryset.filter(status=value) if value in Status.values else queryset


class RequestFilter(SelectFilter):
    """By what was asked of the service, and what it answered."""

    title = gettext_lazy("request")
    parameter_name = "request"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """All statuses of requests."""
        return [(value, str(label)) for value, label in RequestStatus.choices]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Only the chosen one."""
        value = self.value()
        return queryset.filter(request_status=value) if value in RequestStatus.values else queryset


class LocationFilter(SelectFilter):
    """By the location that sends."""

    title = gettext_lazy("location")
    parameter_name = "location"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The shop's locations, inactive ones last."""
        rows = Location.rows().order_by("-active", "name", "id")
        return [
            (str(row.pk), row.name if row.active else _("{place} (inactive)").format(place=row.name)) for row in rows
        ]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Only the chosen one's."""
        value = self.value() or ""
        return queryset.filter(assigned_location_id=int(value)) if value in dict(self.lookup_choices) else queryset


class ServiceFilter(SelectFilter):
    """By the fulfillment service, or what the shop sends itself."""

    title = gettext_lazy("service")
    parameter_name = "service"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The shop itself, and its services."""
        rows = FulfillmentService.rows().order_by("name", "id")
        return [(OWN, _("Sent by the shop")), *((str(row.pk), row.name) for row in rows)]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Only what lies at its location; a list of ids, which the index of the work list can be asked for."""
        value = self.value() or ""
        if value not in dict(self.lookup_choices):
            return queryset
        if value == OWN:
            own = list(Location.rows().filter(legacy=False).order_by().values_list("pk", flat=True))
            return queryset.filter(assigned_location_id__in=own)
        place = FulfillmentService.rows().filter(pk=value).values_list("location_id", flat=True).first()
        return queryset.filter(assigned_location_id=place)
