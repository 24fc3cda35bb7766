"""Which columns of a table are ours: by our own names however they are spelled, and by those of other systems."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.exchange.domain.kinds import Importer


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table is read.

    Attributes:
        kind: The name of the kind that its rows are of.
        importer: The kind's.
        names: What we call its columns; blank for those that nobody knows.
        unknown: What the table calls those.
    """

    kind: str
    importer: Importer
    names: Sequence[str]
    unknown: Sequence[str]

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
        ValueError: It names a column twice, or none that is known.
    """
    given = [spelled(column) or column for column in columns]
    if len(set(given)) < len(given):
        raise ValueError("The first line must name every column once.")
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
        unknown = [
            column or f"column {number}, which has no name"
            for number, (column, name) in enumerate(zip(columns, names, strict=True), 1)
            if not name
        ]
        return Reading(kind, importer, names, unknown)
    raise ValueError("The first line names no column that is known.")


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
