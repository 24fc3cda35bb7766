"""Map the columns of a CSV file to our columns. A file may use our own names or names of other systems."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import NotRequired, TypedDict

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.imports_exports.domain.csv_reader import NoColumnKnown, UnreadableFile, has_name
from apps.imports_exports.domain.foreign_tables.conversion import find_format
from apps.imports_exports.domain.foreign_tables.formats import TableFormat
from apps.imports_exports.domain.formats.file_columns import (
    FileColumns,
    find_headers,
    find_source_headers,
    normalize_column_name,
)
from apps.imports_exports.domain.resources import Importer, get_importers

_NOT_UNIQUE = define_text("imports.columns_not_unique", "Each column name in the first line must be unique.")
_UNKNOWN = define_text("imports.columns_unknown", "The first line contains no known column name.")

# How similar a name must be to a known name to be suggested, and its minimum length.
_MIN_SIMILARITY, _MIN_SIMILAR_LENGTH = 0.8, 4


# The column with the reasons in a file of refused rows. An import ignores this column.
REASON_COLUMN = "Import error"


class MappingRefused(DomainError):
    pass


class ColumnMapping(TypedDict):
    """A column mapping that a user saved: our names, keyed by the names in the file, without ignored columns.

    ``copies`` are second names, for columns that fill two of our columns.
    """

    kind: str
    columns: dict[str, str]
    copies: NotRequired[dict[str, str]]


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """The resource and the column names of a file.

    Attributes:
        names: Our name for each column, or an empty string for an unknown column.
        unsupported: The names of columns in the file that are known from other systems but not supported, and columns
            without a name.
        copies: A second name for columns that fill two of our columns, keyed by the index of the column.
        file_columns: The names of our columns in the file.
        foreign_table: The format of another system's table. Its objects are converted to our columns.
    """

    kind: str
    importer: Importer
    names: Sequence[str]
    unknown: Sequence[str]
    unsupported: Sequence[str]
    file_columns: FileColumns
    foreign_table: TableFormat | None = None
    copies: Mapping[int, str] = field(default_factory=dict)

    def get_cells(self, row: Sequence[str]) -> dict[str, str]:
        cells = {name: cell for name, cell in zip(self.names, row, strict=False) if name}
        if self.copies:
            cells |= {name: row[index] for index, name in self.copies.items() if index < len(row)}
        return cells


def is_reason_column(column: str) -> bool:
    return normalize_column_name(column) == normalize_column_name(REASON_COLUMN)


def detect_columns(columns: Sequence[str], kinds: Mapping[str, Importer]) -> ColumnReading:
    """Detect the resource from the grouping column, or from the columns that identify customers.

    Raises:
        NoColumnKnown: If no column is known.
        UnreadableFile: If a column occurs twice.
    """
    spellings = normalize_columns(columns)
    if foreign := _detect_foreign_table(columns, spellings, kinds):
        return foreign
    if len(set(spellings)) < len(spellings):
        raise UnreadableFile(_NOT_UNIQUE)
    for kind, importer in kinds.items():
        if found_names := _find_names(columns, spellings, importer):
            return _create_column_reading(kind, importer, columns, found_names)
    for kind, importer in kinds.items():
        names = _get_names(spellings, importer)
        if importer.find_names is not None or (importer.group_by and importer.group_by not in names):
            continue
        has_own_name = bool(importer.group_by) and spellings[names.index(importer.group_by)] == normalize_column_name(
            importer.group_by
        )
        if importer.identifying_columns and not has_own_name and not set(importer.identifying_columns) & set(names):
            continue
        return _create_column_reading(kind, importer, columns, names)
    raise NoColumnKnown(_UNKNOWN)


def normalize_columns(columns: Sequence[str]) -> list[str]:
    return [normalize_column_name(column) or column for column in columns]


def _detect_foreign_table(
    columns: Sequence[str], spellings: Sequence[str], kinds: Mapping[str, Importer]
) -> ColumnReading | None:
    """Return the reading of a table of another system, or None. Columns that the conversion ignores are unsupported."""
    for kind, importer in kinds.items():
        if normalize_column_name(importer.group_by) in spellings:
            continue
        if table_format := find_format(spellings, importer.foreign_tables):
            ignored = [
                column for column, name in zip(columns, spellings, strict=True) if not table_format.is_read(name)
            ]
            source_names = list(map(table_format.translate, spellings))
            headers = find_source_headers(columns, source_names, table_format.sources)
            file_columns = FileColumns(headers, importer.field_columns)
            return ColumnReading(kind, importer, (importer.group_by,), [], ignored, file_columns, table_format)
    return None


def apply_mapping(columns: Sequence[str], mapping: ColumnMapping) -> ColumnReading:
    names = [mapping["columns"].get(column, "") for column in columns]
    reading = _create_column_reading(mapping["kind"], get_importers()[mapping["kind"]], columns, names)
    second_names = mapping.get("copies", {})
    copies = {index: second_names[name] for index, name in enumerate(columns) if name in second_names}
    headers = find_headers(columns, names, copies)
    return replace(reading, copies=copies, file_columns=replace(reading.file_columns, headers=headers))


def suggest_columns(columns: Sequence[str], importer: Importer) -> list[str]:
    """Suggest our column name for each column of a file. For an unknown column, suggest an empty string.

    A column with a name that is similar to a known name is suggested, too, but only to the user who maps the columns.
    """
    spellings = normalize_columns(columns)
    names = list(_find_names(columns, spellings, importer) or _get_names(spellings, importer))
    unsupported = {normalize_column_name(column) for column in importer.unsupported}
    known = get_known_names(importer)
    for index, spelling in enumerate(spellings):
        if names[index] or spelling in unsupported or len(spelling) < _MIN_SIMILAR_LENGTH:
            continue
        similar = get_close_matches(spelling, known, n=3, cutoff=_MIN_SIMILARITY)
        candidates = (known[word] for word in similar if known[word] in importer.importable_columns)
        names[index] = next((name for name in candidates if name not in names), "")
    return names


def _find_names(columns: Sequence[str], spellings: Sequence[str], importer: Importer) -> Sequence[str] | None:
    return importer.find_names(columns, _get_names(spellings, importer)) if importer.find_names else None


def check_mapping(names: Iterable[str], importer: Importer) -> None:
    """Check the names to which a user mapped the columns of a file.

    Raises:
        MappingRefused: If two columns have the same name, a name is unknown, or the grouping column is missing.
    """
    counts = Counter(name for name in names if name)
    if counts.keys() - {*importer.columns, *importer.get_more_columns()}:
        raise MappingRefused(_("A selected column no longer exists. Reload the page and try again."))
    duplicates = [name for name, count in counts.items() if count > 1]
    if duplicates:
        label = importer.get_label(duplicates[0])
        raise MappingRefused(_("Only one column can be mapped to {value}.").format(value=label))
    if importer.group_by and importer.group_by not in counts:
        text = _("Map a column to {group_by}. Consecutive rows with the same value are imported as one entry.")
        raise MappingRefused(text.format(group_by=importer.get_label(importer.group_by)))
    if not counts:
        raise MappingRefused(_("Map at least one column."))


def _create_column_reading(
    kind: str, importer: Importer, columns: Sequence[str], names: Sequence[str]
) -> ColumnReading:
    ignored = [column for column, name in zip(columns, names, strict=True) if not name and not is_reason_column(column)]
    unsupported = {normalize_column_name(column) for column in importer.unsupported}
    unknown = [column for column in ignored if has_name(column) and normalize_column_name(column) not in unsupported]
    unsupported_columns = [column for column in ignored if column not in unknown]
    file_columns = FileColumns(find_headers(columns, names, {}), importer.field_columns)
    return ColumnReading(kind, importer, names, unknown, unsupported_columns, file_columns)


def _get_names(spellings: Sequence[str], importer: Importer) -> list[str]:
    """Return our name for each column, or an empty string for an unknown column.

    If several columns would get the same name, a column with exactly our name wins, otherwise the first column.
    """
    own = {normalize_column_name(name): name for name in importer.columns}
    known = get_known_names(importer)
    names = [own.get(column, "") for column in spellings]
    for index, column in enumerate(spellings):
        alias_name = known.get(column, "")
        if not names[index] and alias_name not in names:
            names[index] = alias_name
    return names


def get_known_names(importer: Importer) -> dict[str, str]:
    """Return our names of columns, keyed by the normalized names that a file may contain.

    They are our own names, the names that other systems use, and the labels in all languages of the panel. If several
    columns have the same name, the earlier column has it.
    """
    known = {normalize_column_name(name): name for name in importer.columns}
    for name, aliases in importer.aliases.items():
        known |= {spelling: name for alias in aliases if (spelling := normalize_column_name(alias)) not in known}
    for language, _label in settings.LANGUAGES:
        with translation.override(language):
            for name in importer.columns:
                known.setdefault(normalize_column_name(importer.get_label(name)), name)
    return known
