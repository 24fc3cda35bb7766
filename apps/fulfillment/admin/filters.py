"""Filters for the fulfillment queue."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, QuerySet, TextChoices
from django.db.models.lookups import LessThan
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.lists.filters import Choices, Screen, SelectFilter, get_start_of_today
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.db.lookups import in_materialized
from apps.core.i18n import formats
from apps.fulfillment.models import FulfillmentOrder, FulfillmentService
from apps.fulfillment.models.orders import DUE, RequestStatus, Status
from apps.inventory.models import Location

Rows = QuerySet[FulfillmentOrder]
# The statuses of fulfillment orders that staff can work on now.
UNFULFILLED_STATUSES = (Status.OPEN, Status.IN_PROGRESS)
PENDING_REQUEST_STATUSES = (RequestStatus.SUBMITTED, RequestStatus.CANCELLATION_REQUESTED)
OWN = "own"
VIEWS: dict[str, StrOrPromise] = {
    "send": gettext_lazy("Unfulfilled"),
    "today": gettext_lazy("Due today"),
    "late": gettext_lazy("Late"),
    "requests": gettext_lazy("Requests"),
    "held": gettext_lazy("On hold"),
    "scheduled": gettext_lazy("Scheduled"),
    "all": gettext_lazy("All"),
}


def get_view(request: HttpRequest) -> str:
    """Return the selected view. The default is "send", or "all" if a search or status filter is active."""
    view = request.GET.get("view", "")
    if view in VIEWS:
        return view
    return "all" if request.GET.get("q") or request.GET.get("status") else "send"


def filter_by_view(rows: Rows, view: str, *, by_status: bool = False) -> Rows:
    """Filter rows by view. ``by_status`` skips the view's own status filter, because a status is selected."""
    if view == "all":
        return rows
    if not by_status:
        status = {"held": (Status.ON_HOLD,), "scheduled": (Status.SCHEDULED,)}.get(view, UNFULFILLED_STATUSES)
        rows = rows.filter(status__in=status)
    if view == "today":
        return rows.filter(LessThan(DUE, get_start_of_today() + timedelta(days=1)))
    if view == "late":
        # The condition on ``DUE`` is redundant, but allows the database to use the list's index.
        return rows.filter(LessThan(DUE, timezone.now()), fulfill_by__lt=timezone.now())
    if view == "requests":
        return rows.filter(request_status__in=PENDING_REQUEST_STATUSES)
    return rows


class ViewFilter(SelectFilter):
    title = pgettext_lazy("list", "view")
    parameter_name = "view"

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.view = get_view(request)
        self.by_status = bool(request.GET.get("status"))
        super().__init__(request, *args, **kwargs)

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(name, str(title)) for name, title in VIEWS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Filter by the view. A selected status replaces the view's own statuses."""
        return filter_by_view(queryset, self.view, by_status=self.by_status)

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield only the views, because they include "All"."""
        for value, title in self.lookup_choices:
            yield {"value": value, "display": title, "selected": value == self.view}


class StatusFilter(SelectFilter):
    title = gettext_lazy("status")
    parameter_name = column = "status"
    statuses: type[TextChoices] = Status

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(value, str(label)) for value, label in self.statuses.choices]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset.filter(**{self.column: value}) if value in self.statuses.values else queryset


class RequestFilter(StatusFilter):
    title = gettext_lazy("request")
    parameter_name, column = "request", "request_status"
    statuses = RequestStatus


class DeliveryFilter(SelectFilter):
    """Filter by delivery method. Each choice shows how many fulfillment orders of the view have the method."""

    title = gettext_lazy("delivery method")
    parameter_name = "delivery"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        view = get_view(request)
        # The view "all" has all finished fulfillment orders, too, so counting its rows would be slow.
        counts = None if view == "all" else _count_by_method(filter_by_view(FulfillmentOrder.rows(), view))
        return [
            (value, str(label) if counts is None else f"{label} ({formats.format_integer(counts[value])})")
            for value, label in FulfillmentOrder.Method.choices
        ]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        return queryset.filter(method_type=value) if value in FulfillmentOrder.Method.values else queryset


def _count_by_method(rows: Rows) -> Counter[str]:
    """Count at most ``MAX_COUNTED_ROWS`` rows, as lists do."""
    counted = FulfillmentOrder.rows().filter(in_materialized(rows.order_by().values("pk")[:MAX_COUNTED_ROWS]))
    return Counter(dict(counted.order_by().values_list("method_type").annotate(number=Count("pk"))))


class LocationFilter(SelectFilter):
    title = gettext_lazy("location")
    parameter_name = "location"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """List the shop's locations, inactive ones last."""
        rows = Location.rows().order_by("-active", "name", "id")
        return [
            (str(row.pk), row.name if row.active else _("{place} (inactive)").format(place=row.name)) for row in rows
        ]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value() or ""
        return queryset.filter(assigned_location_id=int(value)) if value in dict(self.lookup_choices) else queryset


class ServiceFilter(SelectFilter):
    title = gettext_lazy("service")
    parameter_name = "service"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """List the choice "Fulfilled by the shop" and the fulfillment services."""
        rows = FulfillmentService.rows().order_by("name", "id")
        return [(OWN, _("Fulfilled by the shop")), *((str(row.pk), row.name) for row in rows)]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Filter by location ids instead of joining the locations, so that the database can use the list's index."""
        value = self.value() or ""
        if value not in dict(self.lookup_choices):
            return queryset
        if value == OWN:
            own = list(Location.rows().filter(legacy=False).order_by().values_list("pk", flat=True))
            return queryset.filter(assigned_location_id__in=own)
        location_id = FulfillmentService.rows().filter(pk=value).values_list("location_id", flat=True).first()
        return queryset.filter(assigned_location_id=location_id)
