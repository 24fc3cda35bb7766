"""What the apps above add to the page of an order, which knows nothing of them.

Called where the adding app's ``admin`` is imported.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django_stubs_ext import StrOrPromise

from apps.events.models import Event
from apps.orders.models import Order
from apps.panel.requests import Context

# So many entries the timeline shows, the newest.
MAX_EVENTS = 200
# An event of something that belongs to an order, with the sentence that tells of it.
Told = tuple[Event, str]
Tell = Callable[[HttpRequest, Order], Sequence[Told]]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page: a template, which finds its values as ``part`` and the order as ``original``.

    Attributes:
        template: Its name.
        values: Asked in the shop's scope; None where the part is not shown to this person, or says nothing.
        order: Its place; what was bought stands above all parts, money and people below those before 50.
    """

    template: str
    values: Callable[[HttpRequest, Order], Context | None]
    order: int = 50


@dataclass(frozen=True, slots=True)
class Button:
    """A link among the actions at the top of the page.

    Attributes:
        label: Its words.
        url_name: A route of the panel that takes the order's id.
        allowed: Whether it is shown.
        order: Its place.
    """

    label: StrOrPromise
    url_name: str
    allowed: Callable[[HttpRequest, Order], bool]
    order: int = 50


_parts: list[Part] = []
_buttons: list[Button] = []
_tells: list[Tell] = []


def add_part(part: Part) -> None:
    """Add a part to the page."""
    _parts.append(part)


def add_button(button: Button) -> None:
    """Add a link to the actions of the page."""
    _buttons.append(button)


def add_events(tell: Tell) -> None:
    """Let the timeline tell of events of what belongs to an order.

    Args:
        tell: Gives the newest ``MAX_EVENTS`` of them that this person may know of, in any order.
    """
    _tells.append(tell)


def events_of(request: HttpRequest, order: Order) -> list[Told]:
    """What the apps above tell on the timeline, for this person."""
    return [told for tell in _tells for told in tell(request, order)]


def added(request: HttpRequest, order: Order) -> Context:
    """What was added, for this person and this order: ``buttons``, ``parts_above`` and ``parts_below``."""
    return {
        "buttons": [
            (button.label, reverse(f"admin:{button.url_name}", args=[order.pk]))
            for button in sorted(_buttons, key=lambda button: (button.order, str(button.label)))
            if button.allowed(request, order)
        ],
        "parts_above": list(_shown(request, order, above=True)),
        "parts_below": list(_shown(request, order, above=False)),
    }


def _shown(request: HttpRequest, order: Order, *, above: bool) -> Iterator[tuple[str, Context]]:
    for part in sorted(_parts, key=lambda part: part.order):
        if (part.order < 50) is above and (values := part.values(request, order)) is not None:
            yield part.template, values
