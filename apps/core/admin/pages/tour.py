"""The tour of the panel for new users: a few pages, each with a short explanation.

A ``PanelAdmin`` with ``tour = TourStep(10, …)`` adds its list to the tour for users who may open the list. The query
parameter ``tour`` contains the position, so nothing is stored during the tour. The home page offers the tour until the
user ends it. The end of the tour applies to all shops (``User.tour_ended_at``).
"""

from dataclasses import dataclass
from typing import cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from django_stubs_ext import StrOrPromise

from apps.core.admin import menu
from apps.core.tenancy.models import User

TOUR_VAR = "tour"


@dataclass(frozen=True, slots=True)
class TourStep:
    order: int
    title: StrOrPromise
    text: StrOrPromise


HOME = TourStep(
    90,
    gettext_lazy("Find anything"),
    gettext_lazy(
        "Press Ctrl+K (⌘K on a Mac) on any page to search for a name, order number, SKU or setting. The home page "
        "shows your open tasks."
    ),
)


@dataclass(frozen=True, slots=True)
class TourStop:
    step: TourStep
    number: int
    link: str


@dataclass(frozen=True, slots=True)
class TourPosition:
    stop: TourStop
    before: TourStop | None
    after: TourStop | None
    count: int


def get_stops(request: HttpRequest) -> list[TourStop]:
    steps = {
        address: step
        for model, model_admin in admin.site._registry.items()
        if (step := getattr(model_admin, "tour", None)) and (address := menu.get_list_url(request, model))
    } | {reverse("admin:index"): HOME}
    return [
        TourStop(step, number, f"{address}?{TOUR_VAR}={number}")
        for number, (address, step) in enumerate(sorted(steps.items(), key=lambda item: item[1].order), 1)
    ]


def get_offered_stops(request: HttpRequest) -> list[TourStop]:
    """Return the stops if there are several and the user has neither started nor ended the tour."""
    if TOUR_VAR in request.GET or not isinstance(request.user, User) or request.user.tour_ended_at:
        return []
    tour_stops = get_stops(request)
    return tour_stops if len(tour_stops) > 1 else []


def get_tour_position(request: HttpRequest) -> TourPosition | None:
    if TOUR_VAR not in request.GET:
        return None
    requested_number, tour_stops = request.GET[TOUR_VAR], get_stops(request)
    current = next((stop for stop in tour_stops if str(stop.number) == requested_number), None)
    if current is None or current.link.partition("?")[0] != request.path:
        return None
    before, after = tour_stops[: current.number - 1], tour_stops[current.number :]
    return TourPosition(current, before[-1] if before else None, after[0] if after else None, len(tour_stops))


@require_POST
def end_tour(request: HttpRequest) -> HttpResponse:
    """End the tour permanently. The user needs no permission, because only the user's own row changes."""
    user = cast("User", request.user)
    User.objects.filter(pk=user.pk, tour_ended_at=None).update(tour_ended_at=timezone.now())
    return HttpResponseRedirect(reverse("admin:index"))
