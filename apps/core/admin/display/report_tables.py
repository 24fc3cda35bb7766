"""Report tables for the template ``panel/report_rows.html``."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of a report. All columns except the first contain numbers.

    The first value of each row is already formatted. ``more`` counts the rows that only the exported file contains.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    more: int = 0

    @property
    def labeled_rows(self) -> list[list[tuple[str, object]]]:
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]
