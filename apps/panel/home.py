"""The home page: a greeting, and cards for what the person may see.

Domains add cards with ``add_card`` and sections with ``add_section``; one whose permission is missing is not computed.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils import timezone

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.panel.access import may
from apps.panel.requests import Context
from apps.staff.domain.actors import names_of

RECENT = 8


@dataclass(frozen=True, slots=True)
class Figure:
    """What a card shows: a number, a sentence below it, and whether it asks for attention."""

    number: int | str
    note: str = ""
    alarming: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """A card of the home page."""

    title: str
    icon: str
    permission: str
    url_name: str
    figure: Callable[[HttpRequest], Figure]
    order: int = 50
    query: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the home page below the cards: a template, which finds its values as ``section``."""

    template: str
    permission: str
    values: Callable[[HttpRequest], Context]


_cards: list[Card] = []
_sections: list[Section] = []


def add_card(card: Card) -> None:
    """Add a card; ``figure`` is asked in the shop's scope, only for those who hold the permission."""
    _cards.append(card)


def add_section(section: Section) -> None:
    """Add a section; like a card it is made only for those who hold the permission."""
    _sections.append(section)


def sections(request: HttpRequest) -> list[tuple[str, Context]]:
    """The templates of this person's sections, with their values."""
    return [(section.template, section.values(request)) for section in _sections if may(request, section.permission)]


def cards(request: HttpRequest) -> list[tuple[Card, Figure]]:
    """The cards of this person, with their figures."""
    shown = (
        card for card in sorted(_cards, key=lambda card: (card.order, card.title)) if may(request, card.permission)
    )
    return [(card, card.figure(request)) for card in shown]


def greeting() -> str:
    """A greeting for the time of day in the shop."""
    hour = timezone.localtime().hour
    if 5 <= hour < 12:
        return "Good morning"
    return "Good afternoon" if 12 <= hour < 18 else "Good evening"


def recent(request: HttpRequest) -> list[tuple[Event, str, str]]:
    """The newest events with their actors and what happened, for those who may see the audit log."""
    if not may(request, "events.view_event"):
        return []
    events = list(Event.rows().order_by("-id").defer("payload")[:RECENT])
    names = names_of([event.actor for event in events])
    return [(event, names[event.actor], sentence(event)) for event in events]
