"""Importable and exportable resources, which are declared in ``apps/imports_exports/resources``.

The other modules of this app work with any resource.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import IO, Protocol, TypeAlias

from django.db.models import Model
from django_stubs_ext import StrOrPromise

from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.imports_exports.domain.files import ExportCheckpoint
from apps.imports_exports.domain.rows import Body, Cells, ImportRow, RowOutcome, RowResult
from apps.imports_exports.models import Export

BATCH_SIZE = 200
# An exported object: the content of a JSON line, or the cells of a CSV row, keyed by column name.
ObjectData: TypeAlias = Attrs


class ImportRowFunction(Protocol):
    """Creates or updates the object of one row in its own transaction."""

    def __call__(self, row: ImportRow, body: Body, *, actor: str, at: datetime) -> RowOutcome:
        """Import the row. Raise a ``DomainError`` if its values are invalid."""


class ImportRowsFunction(Protocol):
    """Creates or updates the objects of several rows in one transaction. Each row has a different object."""

    def __call__(
        self, rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
    ) -> list[RowOutcome]:
        """Import the rows. With ``dry``, return the results that an import would have, without saving anything.

        An invalid row gets a failed result with a reason. An ``IntegrityError`` rolls everything back.
        """


class PrepareFunction(Protocol):
    """Fetches external data of rows before the transaction that imports the rows."""

    def __call__(
        self, rows: Sequence[ImportRow], *, alive: Callable[[], None]
    ) -> AbstractContextManager[list[ImportRow]]:
        """Return a context manager that provides the rows with the fetched data, and deletes unused data on exit.

        Fetching may take a long time, so ``alive`` is called every few seconds.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Describes an export file that contains a single document instead of a sequence of objects.

    Attributes:
        size: A function that returns the approximate number of rows in the document.
        write: A function that writes the document, starting at a checkpoint, and yields checkpoints. The memory use is
            constant. After the last checkpoint, the function writes the end of the document.
    """

    size: Callable[[Export], int]
    write: Callable[[Export, IO[str], ExportCheckpoint], Iterator[ExportCheckpoint]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """Describes how a resource is exported.

    Attributes:
        model: The model. Each row is exported as one object.
        permission: The Django permission to export.
        granted_by: The staff permission that grants the Django permission.
        topic: The event topic of a new export.
        filters: The allowed lookups.
        columns: The CSV columns.
        read_objects: A function that returns the complete objects for a list of ids, in the same order. Each JSON
            line contains one of these objects.
        get_cells: A function that returns the CSV rows of an object.
        document: Set if the export is a single document. Such exports are not offered in the list of resources.
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
    """Describes how a resource is imported.

    Attributes:
        permission: The Django permission to import.
        granted_by: The staff permission that grants the Django permission.
        models: The models that have the fields of an object and its parts, the most likely model first.
        columns: The CSV columns.
        aliases: Our column names, keyed by the names that other systems use.
        unsupported: Column names of other systems that are not supported. Staff see that these columns are ignored, but
            do not have to confirm this.
        members: The members that a JSON object may have, including ignored members.
        group_by: The column that groups consecutive CSV rows into one object. A file with this column contains this
            resource. Blank if each row is an object; files without any grouping column contain this resource.
        identifying_columns: If the file uses another system's name for ``group_by``, it must also have one of these
            columns.
        max_rows: The maximum number of rows of an object.
        sample: The rows of the example file.
        body: A function that converts the rows of an object to a body. It raises ``UnreadableCell`` if a cell is
            invalid.
        keys: A function that returns the keys that identify an object within a file. The strongest key comes first.
        duplicate_result: The result of an object that occurred earlier in the file.
        import_row: A function that imports one row.
        import_rows: A function that imports many rows, or None if rows are imported one by one.
        must_be_alone: A function that returns True if a row must be the only row of a batch.
        batch_size: The maximum number of rows in a batch. A larger batch would block other users for too long.
        prepare: A function that fetches external data before the transaction, or None.
        find: A function that finds objects by the labels in their row results.
        describe_missing: A function that returns the name of an object that ``find`` does not find.
        computed_columns: Columns that are exported but never imported, because Backoffice computes their values.
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
    describe_missing: Callable[[str], str] = str
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


resources = Registry[str, Resource]("imported and exported resources", get_key=attrgetter("name"))


def get_exporters() -> dict[str, Exporter]:
    """Return all exporters, keyed by resource name."""
    return {name: kind.exporter for name, kind in resources.items() if kind.exporter is not None}


def get_offered_exporters() -> dict[str, Exporter]:
    """Return the exporters that staff can choose on the export page."""
    return {name: exporter for name, exporter in get_exporters().items() if exporter.document is None}


def get_importers() -> dict[str, Importer]:
    """Return all importers, keyed by resource name."""
    return {name: kind.importer for name, kind in resources.items() if kind.importer is not None}
