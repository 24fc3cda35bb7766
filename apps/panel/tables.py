"""Tables of the reports, as ``panel/report_rows.html`` shows them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows under named columns.

    Attributes:
        title: Its heading.
        columns: The names of its columns; all but the first hold numbers.
        rows: A value for each column, the first one for people.
        more: How many rows only the file has.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    more: int = 0

    @property
    def labelled(self) -> list[list[tuple[str, object]]]:
        """The rows, each value with the name of its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]
