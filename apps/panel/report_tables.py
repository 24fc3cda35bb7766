"""Tables of the reports, rendered by ``panel/report_rows.html``."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of a report.

    Attributes:
        title: The heading of the table.
        columns: The column names; all columns except the first hold numbers.
        rows: One value per column, the first one formatted for people.
        more: The number of rows that are only in the exported file.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    more: int = 0

    @property
    def labeled_rows(self) -> list[list[tuple[str, object]]]:
        """The rows as lists of (column name, value) pairs."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]
