"""Importable and exportable resources, which are declared in ``apps/imports_exports/resources``.

The other modules of this app work with any resource.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import IO, Protocol, TypeAlias

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Model
from django_stubs_ext import StrOrPromise

from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.imports_exports.domain.files import ExportCheckpoint
from apps.imports_exports.domain.foreign_tables.formats import TableFormat
from apps.imports_exports.domain.rows import Body, Cells, ImportRow, NotedBody, RowOutcome, RowResult
from apps.imports_exports.models import Export

BATCH_SIZE = 200
# An exported object: the content of a JSON line, or the cells of a CSV row, keyed by column name.
ObjectData: TypeAlias = Attrs


class ImportRowsFunction(Protocol):
    """Creates or updates the objects of rows in one transaction. Each row has a different object."""

    def __call__(
        self, rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
    ) -> list[RowOutcome]:
        """Import the rows. With ``dry``, return the results that an import would have. The caller rolls it back.

        An invalid row gets a failed result with a reason. Raise a ``DomainError`` or ``IntegrityError`` if all rows
        fail. The caller then imports the rows one by one to find the invalid row.
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
        size: Returns the approximate number of rows in the document.
        write: Writes the document in constant memory, starting at a checkpoint, and yields checkpoints. After the last
            checkpoint, the function writes the end of the document.
        convert: Converts the complete document to the final file, for formats that can't be written in parts.
    """

    size: Callable[[Export], int]
    write: Callable[[Export, IO[str], ExportCheckpoint], Iterator[ExportCheckpoint]]
    convert: Callable[[IO[bytes], IO[bytes]], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """Describes how a resource is exported.

    Attributes:
        permission: The Django permission to export, which the staff permission ``granted_by`` grants.
        topic: The event topic of a new export.
        filters: The allowed lookups.
        columns: The CSV columns.
        read_objects: Returns the complete objects for a list of ids in the same order, one for each JSON line. An
            object with very many parts can be split into several objects.
        get_cells: Returns the CSV rows of an object.
        restrict: Returns filters for the rows that a user may export. By default, a user may export all rows.
        document: Set if the export is a single document. Such exports are not offered in the list of resources.
    """

    model: type[ShopOwned]
    permission: str
    granted_by: str
    topic: str
    filters: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    read_objects: Callable[[Sequence[int]], Iterable[ObjectData]] = lambda ids: ()
    get_cells: Callable[[ObjectData], Iterable[ObjectData]] = lambda shown: ()
    restrict: Callable[[AbstractBaseUser], Mapping[str, object]] = lambda user: {}
    document: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Describes how a resource is imported.

    Attributes:
        permission: The Django permission to import, which the staff permission ``granted_by`` grants.
        models: The models that have the fields of an object and its parts, the most likely model first.
        columns: The CSV columns.
        aliases: The names that other systems use, keyed by our column names.
        field_columns: The names of columns that differ from their fields, keyed by the path of the field without
            positions, such as ``line_items.price``.
        get_label: Returns the label of a column in the current language. The labels are known names in files, too.
        unsupported: Column names of other systems that are not supported. Staff see that these columns are ignored, but
            do not have to confirm this.
        members: The members that a JSON object may have, including ignored members.
        group_by: The column that groups consecutive CSV rows into one object. A file with this column contains this
            resource. Blank if files without any grouping column contain this resource.
        identifying_columns: Unless the file has our name for ``group_by``, it must have one of these columns. Blank if
            any known column is enough.
        max_rows: The maximum number of rows of an object. With 1, each row is an object, and ``group_by`` only
            identifies the resource.
        loose_rows: True if the rows of an object need not be consecutive, and values after the last column are left out
            with a note. Otherwise, such rows fail, for example because another order may have the same name.
        body: Converts the rows of an object to a body, perhaps with notes, or raises ``UnreadableCell``.
        keys: Returns the keys that identify an object within a file, the strongest first.
        duplicate_result: The result of an object that occurred earlier in the file.
        must_be_alone: Returns True if a row must be the only row of a batch.
        batch_size: The maximum number of rows in a batch. A larger batch would block other users for too long.
        prepare: Fetches external data before the transaction.
        find: Finds objects by the labels in their row results.
        describe_missing: Returns the name of an object that ``find`` does not find.
        foreign_tables: The tables of other systems that can be converted.
        find_names: Returns our name for each column of a table that certainly contains this resource, and otherwise
            None. The arguments are the columns, and our names for those with a known name.
        get_more_columns: Returns columns that depend on the shop, such as one for each location.
        computed_columns: Columns that are exported but never imported, because Backoffice computes their values.
    """

    permission: str
    granted_by: str
    models: tuple[type[Model], ...]
    columns: tuple[str, ...]
    aliases: Mapping[str, Sequence[str]]
    field_columns: Mapping[str, str] = field(default_factory=dict)
    get_label: Callable[[str], str] = str
    members: frozenset[str]
    group_by: str = ""
    identifying_columns: tuple[str, ...] = ()
    max_rows: int = 1
    loose_rows: bool = False
    body: Callable[[Sequence[Cells]], Body | NotedBody]
    keys: Callable[[ImportRow, Body], Sequence[str]]
    duplicate_result: RowResult
    import_rows: ImportRowsFunction
    must_be_alone: Callable[[Body], bool] = lambda body: False
    batch_size: int = BATCH_SIZE
    prepare: PrepareFunction | None = None
    find: Callable[[Collection[str]], Mapping[str, Model]] = lambda labels: {}
    describe_missing: Callable[[str], str] = str
    computed_columns: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    foreign_tables: tuple[TableFormat, ...] = ()
    find_names: Callable[[Sequence[str], Sequence[str]], Sequence[str] | None] | None = None
    get_more_columns: Callable[[], Sequence[str]] = tuple

    @property
    def importable_columns(self) -> tuple[str, ...]:
        own_columns = (name for name in self.columns if name not in self.computed_columns)
        return (*own_columns, *self.get_more_columns())


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource that can be imported or exported.

    Attributes:
        name: The name in the database and in URLs, at most 9 letters.
        label: The name for staff.
        singular: The key of an object in a JSON line.
    """

    name: str
    label: StrOrPromise
    singular: str
    exporter: Exporter | None = None
    importer: Importer | None = None


resources = Registry[str, Resource]("imported and exported resources", get_key=attrgetter("name"))


def get_exporters() -> dict[str, Exporter]:
    return {name: kind.exporter for name, kind in resources.items() if kind.exporter is not None}


def get_offered_exporters() -> dict[str, Exporter]:
    """Return the exporters that staff can choose on the export page."""
    return {name: exporter for name, exporter in get_exporters().items() if exporter.document is None}


def get_importers() -> dict[str, Importer]:
    return {name: kind.importer for name, kind in resources.items() if kind.importer is not None}
