"""Registry of importable and exportable resources, which are declared in ``apps/exchange/resources``.

Imports and exports work through these declarations and know no resource by name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Protocol, TypeAlias

from django.db.models import Model
from django_stubs_ext import StrOrPromise

from apps.exchange.domain.import_rows import Body, Cells, ImportRow, RowOutcome, RowResult
from apps.exchange.domain.resumable_file import ExportCheckpoint
from apps.exchange.models import RESOURCE_LABELS, Export
from apps.ground.base_models import ShopOwned
from apps.ground.types import Attrs

BATCH_SIZE = 200
# An exported object: a JSON line, or the cells of a CSV row by column.
ObjectData: TypeAlias = Attrs


class ImportRowFunction(Protocol):
    """Creates or updates the object of one row, in a transaction of its own."""

    def __call__(self, row: ImportRow, body: Body, *, actor: str, at: datetime) -> RowOutcome:
        """Import the row; raise a ``DomainError`` if its values are invalid."""


class ImportRowsFunction(Protocol):
    """Creates or updates the objects of several rows without a common key, in one transaction."""

    def __call__(
        self, rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
    ) -> list[RowOutcome]:
        """Import the rows, or return what would happen without writing (``dry``).

        Invalid rows have a failed result with a reason; an ``IntegrityError`` rolls everything back.
        """


class PrepareFunction(Protocol):
    """Fetches external data of rows before the transaction that imports them."""

    def __call__(
        self, rows: Sequence[ImportRow], *, alive: Callable[[], None]
    ) -> AbstractContextManager[list[ImportRow]]:
        """Return the rows with fetched data; on exit, fetched data that was not used is deleted.

        ``alive`` is called every few seconds, because fetching may take long.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file that contains a single document instead of a sequence of objects.

    Attributes:
        size: Returns the approximate number of rows.
        write: Writes the document from a checkpoint on in constant memory and yields checkpoints. Text after the last
            checkpoint is the end of the document.
    """

    size: Callable[[Export], int]
    write: Callable[[Export, IO[str], ExportCheckpoint], Iterator[ExportCheckpoint]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """How a resource is exported.

    Attributes:
        model: The model; each row is one object.
        permission: The required Django permission.
        granted_by: The staff permission that grants it.
        topic: The event topic of a new export.
        filters: Allowed lookups.
        columns: CSV columns.
        read_objects: Returns complete objects by ids, in order; JSON lines contain them unchanged.
        get_cells: Returns an object as CSV rows.
        document: Set if the export is one document; documents are not offered in the list of resources.
    """

    model: type[ShopOwned]
    permission: str
    granted_by: str
    topic: str
    filters: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    read_objects: Callable[[Sequence[int]], list[ObjectData]] = lambda ids: []
    get_cells: Callable[[ObjectData], Iterable[ObjectData]] = lambda shown: ()
    document: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """How a resource is imported.

    Attributes:
        permission: The required Django permission.
        granted_by: The staff permission that allows imports.
        models: Models with the fields of an object and its parts, the most likely model first.
        columns: CSV columns.
        aliases: Our columns by the names that other systems use.
        unsupported: Columns of other systems that are not supported; they are listed and ignored without consent.
        members: Members of a JSON object, including ignored ones.
        group_by: The column that groups consecutive CSV rows into one object. A file with this column belongs to this
            resource. Blank for the resource of all other files, which have one object per row.
        identifying_columns: If ``group_by`` has another system's name, the file must also have one of these columns.
        max_rows: The maximum number of rows of an object.
        sample: Rows of the example file.
        body: Converts the rows of an object to a body; raises ``UnreadableCell``.
        keys: Returns the keys that identify an object within a file, strongest first.
        duplicate_result: The result of an object that occurred earlier in the file.
        import_row: Imports one row.
        import_rows: Imports many rows; None if rows are imported one by one.
        must_be_alone: Returns True if a row has to be imported alone.
        batch_size: The batch size; longer transactions would block others.
        prepare: Runs before the transaction; None for nothing.
        find: Finds objects by the labels of their row results.
        computed_columns: Computed columns, which are exported but never imported.
    """

    permission: str
    granted_by: str
    models: tuple[type[Model], ...]
    columns: tuple[str, ...]
    aliases: Mapping[str, str]
    members: frozenset[str]
    group_by: str = ""
    identifying_columns: tuple[str, ...] = ()
    max_rows: int = 1
    sample: Sequence[Cells]
    body: Callable[[Sequence[Cells]], Body]
    keys: Callable[[ImportRow, Body], Sequence[str]]
    duplicate_result: RowResult
    import_row: ImportRowFunction
    import_rows: ImportRowsFunction | None = None
    must_be_alone: Callable[[Body], bool] = lambda body: False
    batch_size: int = BATCH_SIZE
    prepare: PrepareFunction | None = None
    find: Callable[[Collection[str]], Mapping[str, Model]] = lambda labels: {}
    computed_columns: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()

    @property
    def importable_columns(self) -> tuple[str, ...]:
        """Return the columns that can be imported."""
        return tuple(name for name in self.columns if name not in self.computed_columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource that can be imported or exported.

    Attributes:
        name: The name in the database and in URLs, at most 9 letters.
        label: The name for staff.
        singular: The key of an object in a JSON line.
        exporter: None if the resource can't be exported.
        importer: None if the resource can't be imported.
    """

    name: str
    label: StrOrPromise
    singular: str
    exporter: Exporter | None = None
    importer: Importer | None = None


_kinds: dict[str, Resource] = {}


def register_resource_type(kind: Resource) -> None:
    """Register a resource; call it from ``AppConfig.ready()``.

    Raises:
        ValueError: If the name is registered already.
    """
    if kind.name in _kinds:
        raise ValueError(f"The kind {kind.name!r} is registered twice")
    _kinds[kind.name] = kind
    RESOURCE_LABELS[kind.name] = kind.label


def get_resource(name: str) -> Resource:
    """Return a resource by name.

    Raises:
        KeyError: If the name is unknown.
    """
    return _kinds[name]


def get_exporters() -> dict[str, Exporter]:
    """Return all exporters by resource name."""
    return {name: kind.exporter for name, kind in _kinds.items() if kind.exporter is not None}


def get_offered_exporters() -> dict[str, Exporter]:
    """Return the exporters that staff can choose on the export page."""
    return {name: exporter for name, exporter in get_exporters().items() if exporter.document is None}


def get_importers() -> dict[str, Importer]:
    """Return all importers by resource name."""
    return {name: kind.importer for name, kind in _kinds.items() if kind.importer is not None}
