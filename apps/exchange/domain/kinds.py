"""The kinds of objects that files hold: declared in ``apps/exchange/kinds``, registered at start.

Exports and imports work through what is declared here and know no kind by its name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Protocol, TypeAlias

from django.db.models import Model
from django_stubs_ext import StrOrPromise

from apps.exchange.domain.parts import Reached
from apps.exchange.domain.rows import Body, Cells, Fate, Outcome, RawRow
from apps.exchange.models import LABELS, Export
from apps.ground.attrs import Attrs
from apps.ground.rows import ShopOwned

AT_ONCE = 200
# An object as it goes out: a line of JSON, or by column the cells of a row.
Shown: TypeAlias = Attrs


class TakeIn(Protocol):
    """Makes or changes what a row describes; runs in a transaction of its own."""

    def __call__(self, row: RawRow, body: Body, *, actor: str, at: datetime) -> Outcome:
        """Take the row in; raises a ``DomainError`` where its values do not fit."""


class TakeInMany(Protocol):
    """Makes or changes what several rows describe, no two of which have a key in common, in one transaction."""

    def __call__(self, rows: Sequence[tuple[RawRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[Outcome]:
        """Take the rows in, or find out what would become of each without any write (``dry``).

        Rows whose values do not fit have failed and say why; an ``IntegrityError`` undoes all.
        """


class Prepare(Protocol):
    """Has what rows name from elsewhere before the transaction that takes them in."""

    def __call__(self, rows: Sequence[RawRow], *, alive: Callable[[], None]) -> AbstractContextManager[list[RawRow]]:
        """The rows with what was fetched for them; at the end, what nothing came of is put away.

        ``alive`` is called every few seconds, for that may take long.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """How a file is written that is no sequence of objects of one kind.

    Attributes:
        size: About how many rows the file is made of.
        write: Writes what is behind a place of it, piece by piece, in memory that does not grow with it; gives how far
            it goes. What is written behind the last of these places is the end of the document.
    """

    size: Callable[[Export], int]
    write: Callable[[Export, IO[str], Reached], Iterator[Reached]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """How a kind goes out.

    Attributes:
        model: Each of its rows is one object.
        permission: The Django permission that people need.
        granted_by: The staff permission that grants it.
        topic: The event that a file was asked for.
        filters: The lookups by which a file can be narrowed.
        columns: Of a table.
        read: The objects with these ids, in their order, complete; in JSON lines they stand as they are.
        cells: One object as rows of a table.
        document: Where the file is one; nobody chooses such a kind from the list, it is asked for where it belongs.
    """

    model: type[ShopOwned]
    permission: str
    granted_by: str
    topic: str
    filters: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    read: Callable[[Sequence[int]], list[Shown]] = lambda ids: []
    cells: Callable[[Shown], Iterable[Shown]] = lambda shown: ()
    document: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """How a kind comes in.

    Attributes:
        permission: The Django permission that people need.
        granted_by: The staff permission that lets people import at all.
        models: What has the fields of an object and of its parts, the likeliest first.
        columns: Of a table.
        aliases: What other systems call them.
        passed_over: Columns of other systems that have no place here; they are named, and left out unasked.
        members: Of an object in a line of JSON, also those that are not taken.
        group_by: The column that makes one object of consecutive rows with the same cell; a table that has it holds
            this kind. Blank for the kind of all other tables, in which each row is an object.
        known_by: Of these columns a table must have one where it calls ``group_by`` as other systems do.
        most_rows: Of one object.
        sample: The rows of a file that shows how it is done.
        body: The rows of one object as its body; raises ``Unreadable``.
        keys: By what an object is known again within a file, the strongest first.
        repeated: What becomes of an object that stands in the file before.
        take_in: What a row does.
        take_in_many: The same for many rows together; None for a kind whose rows come one by one.
        alone: Whether a row is taken in by itself nevertheless.
        at_once: So many of them at most: longer transactions would keep others waiting.
        prepare: What comes before the transaction; None for nothing.
        find: The objects that rows are noted to be about, by what they were called then (``Outcome.label``).
        following: Of the columns those that follow from orders: they go out, and are never taken in.
    """

    permission: str
    granted_by: str
    models: tuple[type[Model], ...]
    columns: tuple[str, ...]
    aliases: Mapping[str, str]
    members: frozenset[str]
    group_by: str = ""
    known_by: tuple[str, ...] = ()
    most_rows: int = 1
    sample: Sequence[Cells]
    body: Callable[[Sequence[Cells]], Body]
    keys: Callable[[RawRow, Body], Sequence[str]]
    repeated: Fate
    take_in: TakeIn
    take_in_many: TakeInMany | None = None
    alone: Callable[[Body], bool] = lambda body: False
    at_once: int = AT_ONCE
    prepare: Prepare | None = None
    find: Callable[[Collection[str]], Mapping[str, Model]] = lambda labels: {}
    following: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that are taken in."""
        return tuple(name for name in self.columns if name not in self.following)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a file can hold.

    Attributes:
        name: In the database and in addresses, at most 9 letters.
        label: For people.
        singular: The key of an object in a line of JSON.
        exporter: None where it does not go out.
        importer: None where it does not come in.
    """

    name: str
    label: StrOrPromise
    singular: str
    exporter: Exporter | None = None
    importer: Importer | None = None


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Add a kind; called from ``AppConfig.ready()``.

    Raises:
        ValueError: There is one with this name.
    """
    if kind.name in _kinds:
        raise ValueError(f"The kind {kind.name!r} is registered twice")
    _kinds[kind.name] = kind
    LABELS[kind.name] = kind.label


def named(name: str) -> Kind:
    """The kind with a name.

    Raises:
        KeyError: There is none.
    """
    return _kinds[name]


def exporters() -> dict[str, Exporter]:
    """What goes out, by the name of the kind."""
    return {name: kind.exporter for name, kind in _kinds.items() if kind.exporter is not None}


def offered() -> dict[str, Exporter]:
    """What people choose from when they ask for a file of many objects."""
    return {name: exporter for name, exporter in exporters().items() if exporter.document is None}


def importers() -> dict[str, Importer]:
    """What comes in, by the name of the kind."""
    return {name: kind.importer for name, kind in _kinds.items() if kind.importer is not None}
