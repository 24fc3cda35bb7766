"""Format the changes of an event for staff: one line for each changed field of the row and of its parts."""

from collections.abc import Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.core.admin.display import fields
from apps.core.db.row_changes import Action
from apps.core.events.changed_rows import ROWS
from apps.core.events.models import Event


class ChangeLine(NamedTuple):
    name: str
    before: str = ""
    after: str = ""
    # "created" or "deleted" if the line names a part that was created or deleted, or the number of further parts.
    # The line of a created or deleted part has all its values in one text.
    note: str = ""
    # The page of the row that is the new value.
    url: str = ""


class RowLink(NamedTuple):
    name: str
    url: str


# The rows that are values of recorded fields, by the field and the ID.
RowLinks: TypeAlias = Mapping[tuple[str, int], RowLink]


def describe_changes(
    event: Event, links: RowLinks = MappingProxyType({}), *, omit: Container[str] = ()
) -> list[ChangeLine]:
    """Return the changes of an event without the fields in ``omit``, beginning with the event's own row.

    New values with a link show the name of the row instead of its ID.
    """
    models = fields.get_subject_models(event.subject_type)
    own = [
        _link(_describe(name, change, models), name, change, links)
        for name, change in event.changes.items()
        if name != ROWS and name not in omit
    ]
    return [*sorted(own), *_describe_rows(event.changes.get(ROWS, {}))]


def get_changed_names(event: Event) -> list[str]:
    """Return the names of the changed fields, without the names of changed parts' fields."""
    own = [name for name in event.changes if name != ROWS]
    models = fields.get_subject_models(event.subject_type)
    parts = event.changes.get(ROWS, {}).get("rows", ())
    return [
        *sorted(fields.get_field_label(name, models) for name in own),
        *dict.fromkeys(_get_row_name(row) for row in parts),
    ]


def _describe(name: str, change: object, models: fields.Models, prefix: str = "") -> ChangeLine:
    values = change if isinstance(change, list) and len(change) == 2 else [None, change]
    before, after = (fields.format_field_value(name, value, models) for value in values)
    return ChangeLine(prefix + fields.get_field_label(name, models), before, after)


def _link(line: ChangeLine, name: str, change: object, links: RowLinks) -> ChangeLine:
    after = change[1] if isinstance(change, list) and len(change) == 2 else change
    link = links.get((name, after)) if isinstance(after, int) else None
    return line._replace(after=link.name, url=link.url) if link else line


def _describe_rows(changes: Mapping[str, Any]) -> Iterator[ChangeLine]:
    notes = {Action.CREATED: _("created"), Action.DELETED: _("deleted")}
    for row in changes.get("rows", ()):
        name, models = _get_row_name(row), fields.get_subject_models(row["type"])
        note = notes.get(row["action"], "")
        lines = _describe_fields(row["changes"], models, "" if note else f"{name}: ")
        if note:
            before, after = (_join_values((line.name, line[side]) for line in lines) for side in (1, 2))
            yield ChangeLine(name, before, after, note)
        else:
            yield from lines
    for label, count in changes.get("more", {}).items():
        names = [str(model._meta.verbose_name_plural) for model in fields.get_subject_models(label)]
        yield ChangeLine(capfirst(names[0]) if names else label, note=_("{count} more").format(count=count))


def _describe_fields(changes: Mapping[str, object], models: fields.Models, prefix: str) -> list[ChangeLine]:
    return [_describe(name, change, models, prefix) for name, change in changes.items()]


def _join_values(values: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values if value)


def _get_row_name(row: Mapping[str, Any]) -> str:
    """Return the name of a part, e.g. ``Variant S / Red``."""
    kinds = [str(model._meta.verbose_name) for model in fields.get_subject_models(row["type"])]
    return f"{capfirst(kinds[0]) if kinds else row['type']} {row['label']}".strip()
