"""Report tables for the template ``panel/report_rows.html``."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of a report.

    Attributes:
        title: The heading of the table.
        columns: The column names. All columns except the first contain numbers.
        rows: The rows, with one value per column. The first value of each row is already formatted.
        more: The number of further rows, which only the exported file contains.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    more: int = 0

    @property
    def labeled_rows(self) -> list[list[tuple[str, object]]]:
        """Return each row as a list of (column name, value) pairs."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]
