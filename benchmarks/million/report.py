"""What is over its limit, as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.million.asking import Cost

MOST_MS, MOST_MS_OF_A_COUNT = 50, 100
MOST_GROWTH = 3
# Below this, growth says more about the clock than about the query.
GROWTH_FROM_MS = 10


@dataclass(frozen=True)
class Row:
    """One case: its cost at a thousand rows and at many."""

    name: str
    small: Cost
    big: Cost

    @property
    def limit(self) -> int:
        """The most milliseconds that the database may take."""
        return MOST_MS_OF_A_COUNT if "count.json" in self.name else MOST_MS

    @property
    def growth(self) -> float:
        """How many times as long the big one takes."""
        return self.big.ms / max(self.small.ms, 0.01)

    @property
    def verdict(self) -> str:
        """Why it is not as it should be; empty where it is."""
        if self.big.status >= 500 or self.small.status >= 500:
            return "refused"
        if self.big.ms > self.limit:
            return f"over {self.limit} ms"
        if self.growth > MOST_GROWTH and self.big.ms > GROWTH_FROM_MS:
            return "grows"
        if self.big.statements > self.small.statements + 3:
            return "more statements"
        return ""


def print_rows(rows: Sequence[Row]) -> list[Row]:
    """Print what is over as Markdown, the slowest first; returns that."""
    over = sorted((row for row in rows if row.verdict), key=lambda row: -row.big.ms)
    print("| case | at 1,000 | statements | at the end | statements | growth | |\n|---|---|---|---|---|---|---|")
    for row in over:
        print(
            f"| {row.name.replace('|', '/')} | {row.small.ms:.1f} ms | {row.small.statements} | {row.big.ms:.1f} ms"
            f" | {row.big.statements} | {row.growth:.1f} | {row.verdict} |"
        )
    quiet = sorted(row.big.ms for row in rows if not row.verdict)
    if quiet:
        print(f"\nWithin the limits: {len(quiet):,} of {len(rows):,}; their median {quiet[len(quiet) // 2]:.1f} ms.")
    return over
