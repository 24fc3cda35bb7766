"""Map the columns of a CSV file to our columns. A file may use our own names or names of other systems."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.imports_exports.domain.csv_reader import NoColumnKnown, UnreadableFile, has_name
from apps.imports_exports.domain.resources import Importer, get_importers

_NOT_UNIQUE = define_text("imports.columns_not_unique", "Each column name in the first line must be unique.")
_UNKNOWN = define_text("imports.columns_unknown", "The first line contains no known column name.")


class MappingRefused(DomainError):
    pass


class ColumnMapping(TypedDict):
    """A column mapping that a user saved: our names, keyed by the names in the file, without ignored columns."""

    kind: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """The resource and the column names of a file.

    Attributes:
        names: Our name for each column, or an empty string for an unknown column.
        unsupported: The names of columns in the file that are known from other systems but not supported, and columns
            without a name.
    """

    kind: str
    importer: Importer
    names: Sequence[str]
    unknown: Sequence[str]
    unsupported: Sequence[str]

    def get_cells(self, row: Sequence[str]) -> dict[str, str]:
        return {name: cell for name, cell in zip(self.names, row, strict=False) if name}


def normalize_column_name(name: str) -> str:
    """Return the column name in lower case, without spaces, underscores and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold())


def detect_columns(columns: Sequence[str], kinds: Mapping[str, Importer]) -> ColumnReading:
    """Detect the resource from the grouping column. A file without one contains the resource that needs none.

    Raises:
        NoColumnKnown: If no column is known.
        UnreadableFile: If a column occurs twice.
    """
    spellings = [normalize_column_name(column) or column for column in columns]
    if len(set(spellings)) < len(spellings):
        raise UnreadableFile(_NOT_UNIQUE)
    for kind, importer in kinds.items():
        names = _get_names(spellings, importer)
        if importer.group_by and importer.group_by not in names:
            continue
        group_index = names.index(importer.group_by) if importer.group_by else 0
        is_own_name = spellings[group_index] == normalize_column_name(importer.group_by)
        if importer.group_by and not is_own_name and not set(importer.identifying_columns) & set(names):
            continue
        if not any(names):
            break
        return _create_column_reading(kind, importer, columns, names)
    raise NoColumnKnown(_UNKNOWN)


def apply_mapping(columns: Sequence[str], mapping: ColumnMapping) -> ColumnReading:
    names = [mapping["columns"].get(column, "") for column in columns]
    return _create_column_reading(mapping["kind"], get_importers()[mapping["kind"]], columns, names)


def suggest_columns(columns: Sequence[str], importer: Importer) -> list[str]:
    """Suggest our column name for each column of a file. For an unknown column, suggest an empty string."""
    return _get_names([normalize_column_name(column) or column for column in columns], importer)


def check_mapping(names: Iterable[str], importer: Importer) -> None:
    """Check the names to which a user mapped the columns of a file.

    Raises:
        MappingRefused: If two columns have the same name, a name is unknown, or the grouping column is missing.
    """
    counts = Counter(name for name in names if name)
    if counts.keys() - set(importer.columns):
        raise MappingRefused(_("A selected column no longer exists. Reload the page and try again."))
    duplicates = [name for name, count in counts.items() if count > 1]
    if duplicates:
        raise MappingRefused(_("Only one column can be mapped to {value}.").format(value=duplicates[0]))
    if importer.group_by and importer.group_by not in counts:
        text = _("Map a column to {group_by}. Consecutive rows with the same value are imported as one entry.")
        raise MappingRefused(text.format(group_by=importer.group_by))
    if not counts:
        raise MappingRefused(_("Map at least one column."))


def _create_column_reading(
    kind: str, importer: Importer, columns: Sequence[str], names: Sequence[str]
) -> ColumnReading:
    ignored = [column for column, name in zip(columns, names, strict=True) if not name]
    unsupported = {normalize_column_name(column) for column in importer.unsupported}
    unknown = [column for column in ignored if has_name(column) and normalize_column_name(column) not in unsupported]
    return ColumnReading(kind, importer, names, unknown, [column for column in ignored if column not in unknown])


def _get_names(spellings: Sequence[str], importer: Importer) -> list[str]:
    """Return our name for each column, or an empty string for an unknown column.

    If several columns would get the same name, a column with exactly our name wins, otherwise the first column.
    """
    own = {normalize_column_name(name): name for name in importer.columns}
    by_alias = {normalize_column_name(alias): name for name, aliases in importer.aliases.items() for alias in aliases}
    names = [own.get(column, "") for column in spellings]
    for index, column in enumerate(spellings):
        alias_name = by_alias.get(column, "")
        if not names[index] and alias_name not in names:
            names[index] = alias_name
    return names
