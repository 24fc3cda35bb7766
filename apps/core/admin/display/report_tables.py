"""Report tables for the template ``panel/report_rows.html``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.utils.translation import gettext as _

MAX_ROWS = 100
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of a report. The first ``text_columns`` columns contain text, the other columns contain numbers.

    The texts of each row are already formatted. ``more`` counts the rows that only the exported file contains.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    more: int = 0
    text_columns: int = 1

    @property
    def labeled_rows(self) -> list[list[tuple[str, object]]]:
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable(ReportTable):
    """A table with a name, which selects its CSV file in the query parameter ``table``."""

    name: str
    footer: str = ""


def build_table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    format_row: Callable[[Row], Sequence[object]],
    currency: str = "",
    text_columns: int = 1,
    limit: int | None = MAX_ROWS,
    footer: str = "",
) -> NamedTable:
    """Build a table with the first ``limit`` rows.

    ``title`` and ``columns`` are marked for translation, but not translated. Columns may contain ``{currency}``.
    """
    return NamedTable(
        name=name,
        title=_(title),
        columns=[_(column).format(currency=currency) for column in columns],
        rows=[format_row(row) for row in rows[:limit]],
        more=0 if limit is None else max(len(rows) - limit, 0),
        text_columns=text_columns,
        footer=footer,
    )


def build_header(columns: Sequence[str], currency: str) -> list[str]:
    """Return the columns of a CSV file, which are not translated."""
    return [column.format(currency=currency) for column in columns]
