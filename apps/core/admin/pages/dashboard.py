"""The home page: open tasks, figures and what staff and apps did last.

Apps register ``tasks``, ``cards`` and ``sections`` in their ``admin`` module. The page
only loads content that the user may see and only links to lists that the user may open.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from apps.core.admin import menu
from apps.core.admin.display.acts import DescribedAct, describe_acts
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.admin.pages import tour
from apps.core.admin.pages.first_steps import get_first_steps
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.events.acts import exclude_system, find_acts, load_acts
from apps.core.events.models import Event
from apps.core.i18n import formats
from apps.core.registry import Registry

RECENT_ACTS = 8


@dataclass(frozen=True, slots=True)
class Task:
    """A task in the to-do list, for users who may open the list of ``model``, while there are rows to work on.

    The page shows the number of rows before the title. ``query`` must filter the linked list to exactly these rows.
    ``is_urgent`` means that someone is waiting for the work.
    """

    title: StrOrPromise
    note: StrOrPromise
    model: type[Model]
    query: str
    rows: Callable[[HttpRequest], QuerySet[Model]]
    order: int = 50
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class TaskCount:
    task: Task
    number: str
    link: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its meaning and, in ``before``, the same number of the period before."""

    number: int | str
    note: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A card on the home page. For users who may open the list of ``model``, the card links to that list."""

    title: StrOrPromise
    icon: str
    permission: str
    model: type[Model]
    figure: Callable[[HttpRequest], Figure]
    order: int = 50
    query: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the home page below the cards. The template receives the section's values as ``section``."""

    template: str
    permission: str
    values: Callable[[HttpRequest], Context]


tasks = Registry[str, Task]("tasks on the home page", get_key=lambda task: f"{task.model._meta.label} {task.query}")
cards = Registry[str, Card](
    "cards on the home page", get_key=lambda card: f"{card.model._meta.label} {card.permission}"
)
sections = Registry[str, Section]("sections of the home page", get_key=attrgetter("template"))


def get_home_context(request: HttpRequest) -> Context:
    context: Context = {
        "greeting": _greeting(),
        "today": formats.format_date(timezone.localtime(), "l, j F"),
        "first_steps": get_first_steps(request),
        "tasks": get_tasks(request),
        "cards": get_cards(request),
        "sections": [
            (section.template, section.values(request))
            for section in sections.values()
            if has_permission(request, section.permission)
        ],
        "recent": get_recent_acts(request),
        "may_view_activity": has_permission(request, "events.view_event"),
        "offered_tour": tour.get_offered_stops(request),
    }
    context["is_anything_open"] = any(
        context[part] for part in ("tasks", "cards", "sections", "may_view_activity")
    ) or bool(menu.get_page_entries(request))
    return context


def get_tasks(request: HttpRequest) -> list[TaskCount]:
    open_tasks = []
    for task in sorted(tasks.values(), key=lambda task: (task.order, str(task.title))):
        if link := menu.get_list_url(request, task.model, task.query):
            number = format_capped_count(task.rows(request))
            if number != "0":
                open_tasks.append(TaskCount(task, number, link))
    return open_tasks


def get_cards(request: HttpRequest) -> list[tuple[Card, Figure, str]]:
    """Return the user's cards with figures and list URLs, which are empty if the user may not open the list."""
    return [
        (card, card.figure(request), menu.get_list_url(request, card.model, card.query))
        for card in sorted(cards.values(), key=lambda card: (card.order, str(card.title)))
        if has_permission(request, card.permission)
    ]


def format_capped_count(rows: QuerySet[Model]) -> str:
    """Return the formatted number of rows, capped like list counts, e.g. ``10,000+``."""
    number = rows.order_by().values("pk")[:MAX_COUNTED_ROWS].count()
    return f"{formats.format_integer(number)}{'+' if number == MAX_COUNTED_ROWS else ''}"


def _greeting() -> str:
    hour = timezone.localtime().hour
    if 5 <= hour < 12:
        return _("Good morning")
    return _("Good afternoon") if 12 <= hour < 18 else _("Good evening")


def get_recent_acts(request: HttpRequest) -> list[DescribedAct]:
    """Return what staff and apps did last."""
    if not has_permission(request, "events.view_event"):
        return []
    found, _has_older = find_acts(exclude_system(Event.rows()), RECENT_ACTS)
    return describe_acts(request, load_acts(found))
