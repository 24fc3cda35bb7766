"""Which columns of a table are ours: by our own names however they are spelled, and by those of other systems."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.exchange.domain.kinds import Importer, importers
from apps.ground.errors import DomainError


class ColumnsUnknown(ValueError):
    """No column of a table is known."""


class MappingRefused(DomainError):
    """What somebody says that columns mean makes no table that can be read."""

    code = "mapping_refused"


class Mapped(TypedDict):
    """What people said of a table.

    Attributes:
        kind: What its rows are.
        columns: By the table's names, what we call the columns that are not left out.
    """

    kind: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table is read.

    Attributes:
        kind: The name of the kind that its rows are of.
        importer: The kind's.
        names: What we call its columns; blank for those that nobody knows.
        unknown: What the table calls those.
        passed_over: What it calls those that are known to have no place here.
    """

    kind: str
    importer: Importer
    names: Sequence[str]
    unknown: Sequence[str]
    passed_over: Sequence[str]

    def cells(self, row: Sequence[str]) -> dict[str, str]:
        """The cells of a row under our names."""
        return {name: cell for name, cell in zip(self.names, row, strict=False) if name}


def spelled(name: str) -> str:
    """A name without what spellings differ in: case, blanks, underscores, signs."""
    return re.sub(r"[\W_]+", "", name.casefold())


def reading_of(columns: Sequence[str], kinds: Mapping[str, Importer]) -> Reading:
    """How a table with these columns is read.

    It holds the kind that is grouped by one of its columns, else the one that is not grouped.

    Raises:
        ColumnsUnknown: It names none that is known.
        ValueError: It names a column twice.
    """
    given = [spelled(column) or column for column in columns]
    if len(set(given)) < len(given):
        raise ValueError(gettext_noop("The first line must name every column once."))
    for kind, importer in kinds.items():
        names = _names(given, importer)
        if importer.group_by and importer.group_by not in names:
            continue
        called = names.index(importer.group_by) if importer.group_by else 0
        own = given[called] == spelled(importer.group_by)
        if importer.group_by and not own and not set(importer.known_by) & set(names):
            continue
        if not any(names):
            break
        return _reading(kind, importer, columns, names)
    raise ColumnsUnknown(gettext_noop("The first line names no column that is known."))


def mapped(columns: Sequence[str], mapping: Mapped) -> Reading:
    """How a table is read of which people said what its columns mean."""
    names = [mapping["columns"].get(column, "") for column in columns]
    return _reading(mapping["kind"], importers()[mapping["kind"]], columns, names)


def suggested(columns: Sequence[str], importer: Importer) -> list[str]:
    """What columns would mean if the rows of a table were of a kind; blank for those that are not known."""
    return _names([spelled(column) or column for column in columns], importer)


def check_mapping(names: Iterable[str], importer: Importer) -> None:
    """Refuse what no table can be read by.

    Raises:
        MappingRefused: Two columns mean the same, one means what is none, or the one that tells objects apart is none.
    """
    meant = Counter(name for name in names if name)
    if meant.keys() - set(importer.columns):
        raise MappingRefused(_("A column means something that there is not. Open the page again."))
    double = [name for name, times in meant.items() if times > 1]
    if double:
        raise MappingRefused(_("Two columns cannot both be {value}.").format(value=double[0]))
    if importer.group_by and importer.group_by not in meant:
        raise MappingRefused(
            _("Say which column is {group_by}: it tells what belongs together.").format(group_by=importer.group_by)
        )
    if not meant:
        raise MappingRefused(_("Say of at least one column what it is."))


def _reading(kind: str, importer: Importer, columns: Sequence[str], names: Sequence[str]) -> Reading:
    left = [
        column or f"column {number}, which has no name"
        for number, (column, name) in enumerate(zip(columns, names, strict=True), 1)
        if not name
    ]
    placeless = {spelled(column) for column in importer.passed_over}
    unknown = [column for column in left if spelled(column) not in placeless]
    return Reading(kind, importer, names, unknown, [column for column in left if column not in unknown])


def _names(given: Sequence[str], importer: Importer) -> list[str]:
    """What we call columns; where two mean the same, our own name counts, else the first."""
    own = {spelled(name): name for name in importer.columns}
    others = {spelled(alias): name for alias, name in importer.aliases.items()}
    names = [own.get(column, "") for column in given]
    for place, column in enumerate(given):
        meant = others.get(column, "")
        if not names[place] and meant not in names:
            names[place] = meant
    return names
