"""Print tables of the cases over a limit, and of the total cost of each panel screen."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.million.requests import Cost

MOST_MS, MOST_MS_OF_A_COUNT = 50, 100
MOST_GROWTH = 3
# Growth is ignored below this time, because it depends more on the clock's precision than on the query.
GROWTH_FROM_MS = 10
# The time allowed for an exact count per million rows, because its index-only scan grows with the number of rows.
MS_FOR_A_MILLION_COUNTED = 100
# Limits for panel pages: CPU time of the database and this process, and the size of a list of 25 rows in bytes.
MOST_MS_OF_A_PAGE, MOST_BYTES_OF_A_LIST = 500, 60_000
_SCREEN = re.compile(r"panel (?P<screen>\w+)(?P<rest>.*)")


@dataclass(frozen=True)
class Row:
    """A case with its cost at a thousand rows, at an intermediate size, and at the full size.

    The cost of a bounded query, such as counting up to 10,000 rows, grows until the bound is reached, which is before
    the intermediate size. A query with a cost that still grows after this size is unbounded.
    """

    name: str
    small: Cost
    middle: Cost
    big: Cost

    @property
    def is_count(self) -> bool:
        """Return True if the response is an exact count."""
        return "count.json" in self.name

    @property
    def limit(self) -> int:
        """Return the limit for the database time in milliseconds."""
        return MOST_MS_OF_A_COUNT if self.is_count else MOST_MS

    @property
    def growth(self) -> float:
        """Return the ratio of the database time at the full size to the time at a thousand rows."""
        return self.big.ms / max(self.small.ms, 0.01)

    @property
    def later_growth(self) -> float:
        """Return the ratio of the database time at the full size to the time at the intermediate size."""
        return self.big.ms / max(self.middle.ms, 0.01)

    @property
    def reaches_a_bound(self) -> bool:
        """Return True if the time grows only up to the intermediate size, or in proportion to an exact count."""
        if self.growth <= MOST_GROWTH or self.big.ms <= GROWTH_FROM_MS:
            return False
        if self.is_count:
            return self.big.ms <= GROWTH_FROM_MS + MS_FOR_A_MILLION_COUNTED * self.big.counted / 1_000_000
        return self.later_growth <= MOST_GROWTH

    @property
    def verdict(self) -> str:
        """Return the reason why the case fails, or an empty string."""
        if self.big.status >= 500 or self.small.status >= 500:
            return "failed"
        if self.big.ms > self.limit:
            return f"over {self.limit} ms"
        if self.growth > MOST_GROWTH and self.big.ms > GROWTH_FROM_MS and not self.reaches_a_bound:
            return "grows"
        if self.big.statements > self.small.statements + 3:
            return "more statements"
        if self._is_page and self.big.in_all_ms > MOST_MS_OF_A_PAGE:
            return f"over {MOST_MS_OF_A_PAGE} ms in total"
        if "?size=25" in self.name and self.big.size > MOST_BYTES_OF_A_LIST:
            return f"over {MOST_BYTES_OF_A_LIST // 1000} KB"
        return ""

    @property
    def _is_page(self) -> bool:
        return self.name.startswith(("panel", "palette"))


def print_rows(rows: Sequence[Row]) -> list[Row]:
    """Print the failed cases as a Markdown table, slowest first; return the failed cases."""
    over = sorted((row for row in rows if row.verdict), key=lambda row: -row.big.ms)
    print("| case | at 1,000 rows | statements | intermediate | full size | statements | growth | |")
    print("|---|---|---|---|---|---|---|---|")
    for row in over:
        print(
            f"| {row.name.replace('|', '/')} | {row.small.ms:.1f} ms | {row.small.statements} | {row.middle.ms:.1f} ms"
            f" | {row.big.ms:.1f} ms | {row.big.statements} | {row.growth:.1f} | {row.verdict} |"
        )
    quiet = sorted(row.big.ms for row in rows if not row.verdict)
    if quiet:
        median = quiet[len(quiet) // 2]
        print(f"\nWithin the limits: {len(quiet):,} of {len(rows):,} cases, with a median of {median:.1f} ms.")
    _print_bounded([row for row in rows if not row.verdict and row.reaches_a_bound])
    return over


def _print_bounded(rows: Sequence[Row]) -> None:
    """Print the number of cases that grow up to a bound, and the slowest of these cases."""
    for kind, by_cost in (
        ("are exact counts, which grow with the number of rows", [row for row in rows if row.is_count]),
        ("only grow up to a bound", [row for row in rows if not row.is_count]),
    ):
        if by_cost:
            most = max(by_cost, key=lambda row: row.big.ms)
            print(
                f"Of these cases, {len(by_cost)} {kind}. The slowest takes {most.big.ms:.1f} ms: {most.name}"
                f" ({most.small.ms:.1f} ms at 1,000 rows, {most.middle.ms:.1f} ms at the intermediate size)."
            )


def print_pages(rows: Sequence[Row]) -> None:
    """Print the total time and the size of each panel screen's pages."""
    screens: dict[str, list[tuple[str, Cost]]] = {}
    for row in rows:
        if match := _SCREEN.fullmatch(row.name):
            screens.setdefault(match["screen"], []).append((match["rest"], row.big))
    print("\n| screen | list of 25 rows | | slowest sort, filter or search | cases | change page | |")
    print("|---|---|---|---|---|---|---|")
    for screen, pages in screens.items():
        by_rest = dict(pages)
        slowest = max((cost.in_all_ms for rest, cost in pages if rest.startswith("?")), default=None)
        count = sum(rest.startswith("?") for rest, _ in pages)
        print(
            f"| {screen} | {_told(by_rest.get('?size=25'))}"
            f" | {'' if slowest is None else f'{slowest:.0f} ms'} | {count or ''} | {_told(by_rest.get(' change'))} |"
        )
    _print_slowest("panel pages", (row for row in rows if row.name.startswith("panel")))
    _print_slowest("palette searches", (row for row in rows if row.name.startswith("palette")))


def _told(cost: Cost | None) -> str:
    if cost is None or cost.status != 200:
        return " | "
    return f"{cost.in_all_ms:.0f} ms | {cost.size / 1000:.0f} KB"


def _print_slowest(kind: str, rows: Iterable[Row]) -> None:
    by_cost = sorted(rows, key=lambda row: row.big.in_all_ms)
    if by_cost:
        print(
            f"\n{len(by_cost):,} {kind}: median {by_cost[len(by_cost) // 2].big.in_all_ms:.0f} ms of CPU time,"
            f" maximum {by_cost[-1].big.in_all_ms:.0f} ms ({by_cost[-1].name})."
        )
