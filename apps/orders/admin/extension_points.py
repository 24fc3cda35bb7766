"""Extension points of the order page, which other apps use to add sections, actions and timeline events.

Apps register their extensions when their ``admin`` module is imported.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.http import HttpRequest
from django.urls import reverse
from django_stubs_ext import StrOrPromise

from apps.core.admin.staff_request import Context
from apps.core.events.models import Event
from apps.core.registry import Registry
from apps.orders.models import Order

# The maximum number of timeline entries. Older entries are not shown.
MAX_EVENTS = 200
# An event for the order's timeline, and its description.
TimelineEvent = tuple[Event, str]
TimelineSource = Callable[[HttpRequest, Order], Sequence[TimelineEvent]]


@dataclass(frozen=True, slots=True)
class OrderSection:
    """A section of the order page.

    The template receives the result of ``get_values``, which runs in the shop scope, as ``part`` and the order as
    ``original``. None hides the section. Sections with an ``order`` below 50 come after the items, all others after the
    transactions.
    """

    template: str
    get_values: Callable[[HttpRequest, Order], Context | None]
    order: int = 50


@dataclass(frozen=True, slots=True)
class OrderAction:
    """A link at the top of the order page to a panel URL with the order's id as its argument."""

    label: StrOrPromise
    url_name: str
    is_allowed: Callable[[HttpRequest, Order], bool]
    order: int = 50


order_sections = Registry[str, OrderSection]("sections of the order page", get_key=attrgetter("template"))
order_actions = Registry[str, OrderAction]("actions of the order page", get_key=attrgetter("url_name"))
# Functions that return the newest ``MAX_EVENTS`` events of related objects that the user may see, in any order.
timeline_sources = Registry[str, TimelineSource]("sources of the order timeline")


def get_other_events(request: HttpRequest, order: Order) -> list[TimelineEvent]:
    return [entry for get_entries in timeline_sources.values() for entry in get_entries(request, order)]


def get_extensions(request: HttpRequest, order: Order) -> Context:
    return {
        "buttons": [
            (link.label, reverse(f"admin:{link.url_name}", args=[order.pk]))
            for link in sorted(order_actions.values(), key=lambda link: (link.order, str(link.label)))
            if link.is_allowed(request, order)
        ],
        "parts_above": list(_visible_parts(request, order, above=True)),
        "parts_below": list(_visible_parts(request, order, above=False)),
    }


def _visible_parts(request: HttpRequest, order: Order, *, above: bool) -> Iterator[tuple[str, Context]]:
    for part in sorted(order_sections.values(), key=lambda part: part.order):
        if (part.order < 50) is above and (values := part.get_values(request, order)) is not None:
            yield part.template, values
