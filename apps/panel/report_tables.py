"""Tables of the reports, rendered by ``panel/report_rows.html``."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows below named columns.

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
        """The rows, each value paired with the name of its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]
