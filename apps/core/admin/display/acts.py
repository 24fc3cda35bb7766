"""Describe acts for the audit log, the home page and histories: who did what, to which object, with which changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.admin.display.changes import ChangeLine, describe_changes
from apps.core.admin.display.subjects import Subject, get_subjects
from apps.core.events.acts import Act
from apps.core.events.models import Event
from apps.core.events.timelines import describe_event
from apps.core.i18n import formats
from apps.core.tenancy.actor_names import get_actor_names

# Lists show this many changed fields with values, and only the labels of the others.
_SHOWN_CHANGES = 2
_MAX_VALUE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class DescribedEvent:
    """An event in words."""

    event: Event
    actor_name: str
    text: str
    subject: Subject
    changes: list[ChangeLine]

    @property
    def at(self) -> datetime:
        return self.event.created_at

    @property
    def visible_changes(self) -> list[ChangeLine]:
        """Return the changes with different old and new texts."""
        return [change for change in self.changes if change.note or change.before != change.after]

    @property
    def short_changes(self) -> str:
        """Return the changes as one line of text, with the old and new values of the first fields."""
        changes = self.visible_changes
        shown = [_describe_change(change) for change in changes[:_SHOWN_CHANGES]]
        return ", ".join([*shown, *(change.name for change in changes[_SHOWN_CHANGES:])])


@dataclass(frozen=True, slots=True)
class DescribedAct:
    """An act in words. ``more`` says how many other events the act has."""

    lead: DescribedEvent
    more: str


def describe_acts(request: HttpRequest, acts: Sequence[Act]) -> list[DescribedAct]:
    leads = describe_events(request, [act.lead for act in acts])
    return [DescribedAct(lead, _count_others(act)) for act, lead in zip(acts, leads, strict=True)]


def describe_events(request: HttpRequest, events: Sequence[Event]) -> list[DescribedEvent]:
    names = get_actor_names([event.actor for event in events])
    subjects = get_subjects(request, events)
    return [
        DescribedEvent(event, names[event.actor], describe_event(event), subjects[event.pk], describe_changes(event))
        for event in events
    ]


def _count_others(act: Act) -> str:
    number = len(act.others)
    if not number:
        return ""
    if not act.is_complete:
        return _("more than {number} other changes").format(number=formats.format_integer(number))
    text = ngettext("{number} other change", "{number} other changes", number)
    return text.format(number=formats.format_integer(number))


def _describe_change(change: ChangeLine) -> str:
    if change.note:
        return f"{change.name}: {change.note}"
    after = shorten(change.after) or "–"
    return f"{change.name}: {shorten(change.before)} → {after}" if change.before else f"{change.name}: {after}"


def shorten(text: str) -> str:
    """Return a text for a list. Long texts, such as URLs, end with an ellipsis."""
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…"
