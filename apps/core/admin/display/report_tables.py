"""Report tables for the template ``panel/report_rows.html``."""

from collections.abc import Sequence
from dataclasses import dataclass


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
