"""What became of the rows of an import, as staff read it: stored in English and in the interface's names of fields."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.exchange.domain.kinds import importers
from apps.exchange.models import ImportedRow
from apps.ground.retelling import renamed, retold
from apps.panel.told import Models, name_of, value_of
from apps.panel.wording import reason

# What the preview says in place of a value.
_SAID = frozenset({
    gettext_noop("yes"),
    gettext_noop("no"),
    gettext_noop("new"),
    gettext_noop("as in the file"),
    gettext_noop("is put in"),
})  # fmt: skip
_STATES = "_consent"


@dataclass(frozen=True, slots=True)
class Told:
    """A row of the file; ``changes`` are field, old value and new one, ``link`` leads to what it is about."""

    line: int
    kind: str
    fate: str
    label: str
    reason: str
    changes: list[tuple[str, str, str]]
    link: str


def told(rows: Iterable[ImportedRow]) -> list[Told]:
    """The rows in the reader's language."""
    return [
        Told(
            line=row.line,
            kind=row.kind_label,
            fate=row.get_fate_display(),
            label=renamed(row.label),
            reason=reason(row.reason, _fields(row.kind), _models(row.kind)),
            changes=_changes(row.changes, _models(row.kind)),
            link=row.link,
        )
        for row in rows
    ]


def _changes(noted: Iterable[tuple[str, str, str]], models: Models) -> list[tuple[str, str, str]]:
    return [(_name(name, models), _value(name, old, models), _value(name, new, models)) for name, old, new in noted]


@cache
def _fields(kind: str) -> frozenset[str]:
    """What reasons call the fields of a kind."""
    importer = importers().get(kind)
    return frozenset() if importer is None else importer.members | frozenset(importer.columns)


def _models(kind: str) -> Models:
    """What has the fields of a kind."""
    importer = importers().get(kind)
    return () if importer is None else importer.models


def _name(name: str, models: Models) -> str:
    """What changes: a field, or something of a part, whose name comes first."""
    whole = retold(name)
    if whole != name:
        return whole
    part, colon, field = name.rpartition(": ")
    return f"{retold(part)}: {_name(field, models)}" if colon else name_of(name, models)


def _value(name: str, value: str, models: Models) -> str:
    field = name.rpartition(": ")[2]
    if value in _SAID:
        return _(value)
    if name.endswith(_STATES):
        return _(value.replace("_", " ").capitalize()) if value else ""
    if name == "…":
        return retold(value)
    # Of a new variant its price is said.
    return value_of("price" if field.startswith("variant ") else field, value, models)
