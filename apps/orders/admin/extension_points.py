"""Extension points of the order page, which other apps use to add sections, actions and timeline events.

Apps register their extensions when their ``admin`` module is imported.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.http import HttpRequest
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
    ``original``. None hides the section. Sections with an ``order`` below 10 come after the items, all others after the
    payment.
    """

    template: str
    get_values: Callable[[HttpRequest, Order], Context | None]
    order: int = 50


@dataclass(frozen=True, slots=True)
class OrderAction:
    """An action at the top of the order page: a link, or with ``is_form`` a form without fields.

    The first action with ``is_step`` is the next step, which is the page's main button. All other actions are in the
    menu *More*, except actions with ``is_button``. ``kind`` is the style, such as ``danger``.
    """

    label: StrOrPromise
    url: str
    order: int = 50
    is_step: bool = False
    is_button: bool = False
    is_form: bool = False
    kind: str = ""
    in_new_window: bool = False


ActionSource = Callable[[HttpRequest, Order], Iterable[OrderAction]]

order_sections = Registry[str, OrderSection]("sections of the order page", get_key=attrgetter("template"))
# Functions that return the actions that the user may take now, in any order.
action_sources = Registry[str, ActionSource]("actions of the order page")
# Functions that return where an order comes from, as a text and a URL, or None.
origin_sources = Registry[str, Callable[[HttpRequest, Order], tuple[str, str] | None]]("origins of the order page")
# Functions that return the newest ``MAX_EVENTS`` events of related objects that the user may see, in any order.
timeline_sources = Registry[str, TimelineSource]("sources of the order timeline")


def get_other_events(request: HttpRequest, order: Order) -> list[TimelineEvent]:
    return [entry for get_entries in timeline_sources.values() for entry in get_entries(request, order)]


def get_origin(request: HttpRequest, order: Order) -> tuple[str, str] | None:
    return next(filter(None, (get(request, order) for get in origin_sources.values())), None)


def get_sections(request: HttpRequest, order: Order) -> Context:
    return {
        "parts_above": list(_visible_parts(request, order, above=True)),
        "parts_below": list(_visible_parts(request, order, above=False)),
    }


def arrange_actions(request: HttpRequest, order: Order, own_actions: Iterable[OrderAction]) -> Context:
    """Return the page's own actions and those of other apps: the next step, the other buttons and the menu."""
    actions = [
        *own_actions,
        *(action for get_actions in action_sources.values() for action in get_actions(request, order)),
    ]
    actions.sort(key=attrgetter("order"))
    step = next((action for action in actions if action.is_step), None)
    others = [action for action in actions if action is not step]
    return {
        "next_step": step,
        "buttons": [action for action in others if action.is_button],
        "menu": [action for action in others if not action.is_button],
    }


def _visible_parts(request: HttpRequest, order: Order, *, above: bool) -> Iterator[tuple[str, Context]]:
    for part in sorted(order_sections.values(), key=lambda part: part.order):
        if (part.order < 10) is above and (values := part.get_values(request, order)) is not None:
            yield part.template, values
