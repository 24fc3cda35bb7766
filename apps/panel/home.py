"""The home page: what waits for the person, figures, and what happened lately.

Domains add to it from their ``admin``: work with ``add_task``, figures with ``add_card``, sections with
``add_section``. What a person may not see is not computed, and nothing leads to a list that they may not open.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.ground import languages
from apps.panel import menu, tour
from apps.panel.access import may
from apps.panel.requests import Context
from apps.panel.screens.paging import COUNTED
from apps.staff.domain.actors import names_of

RECENT = 8
_PARTS = ("tasks", "cards", "sections", "recent")


@dataclass(frozen=True, slots=True)
class Task:
    """Work that waits: a row of the to-do list, as long as there is some.

    Attributes:
        title: What is to be done, read behind its number.
        note: Which rows are meant, in a few words.
        model: Whose list it leads to; only who may open that list sees the row.
        query: What narrows the list to exactly this work.
        rows: The work itself, asked for in the shop's scope.
        order: Its place, from above.
        is_urgent: Whether somebody waits for it.
    """

    title: StrOrPromise
    note: StrOrPromise
    model: type[Model]
    query: str
    rows: Callable[[HttpRequest], QuerySet[Model]]
    order: int = 50
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task, how much of it there is, and where."""

    task: Task
    number: str
    link: str


@dataclass(frozen=True, slots=True)
class Figure:
    """What a card shows: a number, and a sentence below it."""

    number: int | str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A card of the home page; it leads to the list of ``model`` for those who may open that."""

    title: StrOrPromise
    icon: str
    permission: str
    model: type[Model]
    figure: Callable[[HttpRequest], Figure]
    order: int = 50
    query: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the home page below the cards: a template, which finds its values as ``section``."""

    template: str
    permission: str
    values: Callable[[HttpRequest], Context]


_tasks: list[Task] = []
_cards: list[Card] = []
_sections: list[Section] = []


def add_task(task: Task) -> None:
    """Add work to the to-do list; it is counted for those only who may open its list."""
    _tasks.append(task)


def add_card(card: Card) -> None:
    """Add a card; ``figure`` is asked in the shop's scope, only for those who hold the permission."""
    _cards.append(card)


def add_section(section: Section) -> None:
    """Add a section; like a card it is made only for those who hold the permission."""
    _sections.append(section)


def page(request: HttpRequest) -> Context:
    """What the page shows this person."""
    shown: Context = {
        "greeting": _greeting(),
        "today": languages.dated(timezone.localtime(), "l, j F"),
        "tasks": tasks(request),
        "cards": cards(request),
        "sections": sections(request),
        "recent": recent(request),
        "offered_tour": tour.offered(request),
    }
    return {**shown, "is_anything_open": any(shown[part] for part in _PARTS) or bool(menu.entries(request))}


def tasks(request: HttpRequest) -> list[Waiting]:
    """What waits for this person: each task by one bounded count."""
    found = []
    for task in sorted(_tasks, key=lambda task: (task.order, str(task.title))):
        if link := menu.list_address(request, task.model, task.query):
            number = counted(task.rows(request))
            if number != "0":
                found.append(Waiting(task, number, link))
    return found


def cards(request: HttpRequest) -> list[tuple[Card, Figure, str]]:
    """The cards of this person, with their figures and, where they may open it, the address of the list."""
    shown = (
        card for card in sorted(_cards, key=lambda card: (card.order, str(card.title))) if may(request, card.permission)
    )
    return [(card, card.figure(request), menu.list_address(request, card.model, card.query)) for card in shown]


def sections(request: HttpRequest) -> list[tuple[str, Context]]:
    """The templates of this person's sections, with their values."""
    return [(section.template, section.values(request)) for section in _sections if may(request, section.permission)]


def counted(rows: QuerySet[Model]) -> str:
    """How many there are, for people: no more than a list counts are, and "10,000+" stands for more."""
    number = rows.order_by().values("pk")[:COUNTED].count()
    return f"{languages.count(number)}{'+' if number == COUNTED else ''}"


def _greeting() -> str:
    """A greeting for the time of day in the shop."""
    hour = timezone.localtime().hour
    if 5 <= hour < 12:
        return _("Good morning")
    return _("Good afternoon") if 12 <= hour < 18 else _("Good evening")


def recent(request: HttpRequest) -> list[tuple[Event, str, str]]:
    """The newest events with their actors and what happened, for those who may see the audit log."""
    if not may(request, "events.view_event"):
        return []
    events = list(Event.rows().order_by("-id").defer("payload")[:RECENT])
    names = names_of([event.actor for event in events])
    return [(event, names[event.actor], sentence(event)) for event in events]
