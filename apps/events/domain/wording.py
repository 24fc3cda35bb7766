"""What changed, as the audit trail keeps it and as people read it."""

from typing import Any

import orjson
from django.db.models import Model, QuerySet
from django.forms import BaseForm

from apps.events.domain import topics
from apps.events.models import Event

LONGEST = 2000


def changes_of(form: BaseForm) -> dict[str, list[Any]]:
    """``{field: [before, after]}`` of the fields that changed, as JSON values."""
    return {
        name: [_plain(form.get_initial_for_field(form.fields[name], name)), _plain(form.cleaned_data.get(name))]
        for name in form.changed_data
        if name in form.fields and not form.fields[name].widget.is_hidden
    }


def _plain(value: Any) -> Any:
    """A value that JSON can hold, shortened where it is a long text."""
    if isinstance(value, Model):
        return str(value)
    if isinstance(value, QuerySet | list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    try:
        return orjson.loads(orjson.dumps(value, default=str))
    except TypeError:
        return str(value)


def label_of(topic: str) -> str:
    """A topic in words; topics of domains that are gone stay as they are."""
    try:
        return topics.topic(topic).label
    except topics.UnknownTopic:
        return topic


def sentence(event: Event) -> str:
    """What happened, in words."""
    return event.message or label_of(event.topic)
