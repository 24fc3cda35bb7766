"""The tour: a few pages in turn, each with a word about what is done there, for whoever is new to the panel.

A ``PanelAdmin`` with ``tour = Step(10, …)`` is a stop at its list for those who may open that. The address of a page
says the stop (``tour``), so that nothing is kept while somebody walks. The home page offers the tour until the person
ends it, which holds for good and in every shop (``User.tour_ended_at``).
"""

from dataclasses import dataclass
from typing import cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.panel import menu
from apps.staff.models import User

TOUR_VAR = "tour"


@dataclass(frozen=True, slots=True)
class Step:
    """A page of the tour: its place, what it is about, and what is done there in a sentence or two."""

    order: int
    title: StrOrPromise
    text: StrOrPromise


HOME = Step(
    90,
    gettext_lazy("Find anything"),
    gettext_lazy(
        "Ctrl+K (on a Mac ⌘K) opens the search on every page: part of a name, the number of an order, a SKU, or what a "
        "setting is called. This page says each morning what waits for you."
    ),
)


@dataclass(frozen=True, slots=True)
class Stop:
    """A step as one person meets it: its number, from 1, and where it is."""

    step: Step
    number: int
    link: str


@dataclass(frozen=True, slots=True)
class Stay:
    """Where somebody is on the tour: the stop, its neighbours and how many there are."""

    stop: Stop
    before: Stop | None
    after: Stop | None
    count: int


def stops(request: HttpRequest) -> list[Stop]:
    """The tour of this person; it ends at the home page."""
    steps = {
        address: step
        for model, screen in admin.site._registry.items()
        if (step := getattr(screen, "tour", None)) and (address := menu.list_address(request, model))
    } | {reverse("admin:index"): HOME}
    return [
        Stop(step, number, f"{address}?{TOUR_VAR}={number}")
        for number, (address, step) in enumerate(sorted(steps.items(), key=lambda item: item[1].order), 1)
    ]


def offered(request: HttpRequest) -> list[Stop]:
    """The tour for whoever has not ended it and is not on it; with a single stop there is nothing to see."""
    if TOUR_VAR in request.GET or not isinstance(request.user, User) or request.user.tour_ended_at:
        return []
    found = stops(request)
    return found if len(found) > 1 else []


def stay(request: HttpRequest) -> Stay | None:
    """Where the address of the request is on the tour; None for pages beside it."""
    if TOUR_VAR not in request.GET:
        return None
    asked, found = request.GET[TOUR_VAR], stops(request)
    here = next((stop for stop in found if str(stop.number) == asked), None)
    if here is None or here.link.partition("?")[0] != request.path:
        return None
    before, after = found[: here.number - 1], found[here.number :]
    return Stay(here, before[-1] if before else None, after[0] if after else None, len(found))


def end(request: HttpRequest) -> HttpResponse:
    """End the tour for good; the person's own, so that nothing has to be allowed to them."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    person = cast("User", request.user)
    User.objects.filter(pk=person.pk, tour_ended_at=None).update(tour_ended_at=timezone.now())
    return HttpResponseRedirect(reverse("admin:index"))
