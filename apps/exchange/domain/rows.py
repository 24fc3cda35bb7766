"""One object of a file that comes in: what was read of it, and what became of it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from apps.exchange.models import ImportedRow
from apps.ground.attrs import Given
from apps.ground.errors import DomainError

Fate = ImportedRow.Fate
# An object of a file, as the interface would take it.
Body: TypeAlias = Given
# A row of a table, by column.
Cells: TypeAlias = Mapping[str, str]
# By field: the old value, None where there was none, and the new one.
Changes: TypeAlias = Mapping[str, tuple[object, object]]


# By what people tell objects apart, the first that an object says: the number of an order, a title, an e-mail.
_CALLED = ("name", "order", "title", "email", "handle", "phone", "first_name", "last_name")


def called(values: Given) -> str:
    """By what people find an object, or a row of a table, in its file again; blank where it says none of it."""
    said = {name.lower(): value for name, value in values.items()}
    texts = (value for name in _CALLED if isinstance(value := said.get(name), str))
    # What failed may hold anything, also what no database keeps.
    readable = ("".join(filter(str.isprintable, text)).strip() for text in texts)
    return next(filter(None, readable), "")


class Unreadable(ValueError):
    """A cell says what nobody understands."""


class RowRefused(DomainError):
    """The values of a row do not fit."""

    code = "row_refused"


@dataclass(frozen=True, slots=True)
class RawRow:
    """An object of a file, which in a table may take several rows.

    Attributes:
        line: Where it begins, from 1.
        kind: The name of its kind; blank where that cannot be told.
        body: As the interface would take it.
        problem: Why there is no body.
        called: By what people find it again where there is no body.
        unknown: What it says under names that nobody knows.
        fetched: What was had for it from elsewhere, by where that is; None where nobody went there, as in a check.
    """

    line: int
    kind: str = ""
    body: Body | None = None
    problem: str = ""
    called: str = ""
    unknown: frozenset[str] = frozenset()
    fetched: Given | None = None

    @property
    def digest(self) -> str:
        """What equal rows have in common."""
        return hashlib.sha256(orjson.dumps(self.body, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row.

    Attributes:
        fate: Of ``ImportedRow.Fate``.
        label: By what the object is found again (``Importer.find``), or what people call it.
        reason: Why it was skipped or failed.
        source_key: By what a new object is known again in later files; blank where it may come again.
        changes: By field, what it was and what it becomes; for the preview.
    """

    fate: Fate
    label: str = ""
    reason: str = ""
    source_key: str = ""
    changes: Changes = field(default_factory=dict)


def failed(refusal: DomainError) -> Outcome:
    """The fate of a row whose values do not fit."""
    return Outcome(Fate.FAILED, reason=refusal.sentence)
