"""Bar charts for the templates ``panel/bars.html``, ``panel/ranking.html`` and ``panel/bar_pairs.html``."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.core.money import ZERO

BAR_WIDTH = 10  # The width of a bar, including the gap next to the bar.


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart. ``height`` is a percentage of the highest bar's height."""

    left: int
    height: int
    label: str

    @property
    def top(self) -> int:
        return 100 - self.height


def build_bars(values: Sequence[tuple[Decimal, str]]) -> list[Bar]:
    """Return a bar for each pair of amount and label. An amount of zero becomes a thin line."""
    highest = max((amount for amount, _ in values), default=ZERO)
    return [
        Bar(index * BAR_WIDTH, max(round(100 * amount / highest), 1) if highest else 1, label)
        for index, (amount, label) in enumerate(values)
    ]


@dataclass(frozen=True, slots=True)
class BarPair:
    """Two overlapping bars, a wide one in the back and a narrow one in front, with heights as in ``Bar``."""

    left: int
    back: int
    front: int
    label: str

    @property
    def back_top(self) -> int:
        return 100 - self.back

    @property
    def front_left(self) -> int:
        return self.left + 2

    @property
    def front_top(self) -> int:
        return 100 - self.front


def build_bar_pairs(values: Sequence[tuple[Decimal, Decimal, str]]) -> list[BarPair]:
    highest = max((max(back, front) for back, front, _ in values), default=ZERO)

    def height(amount: Decimal) -> int:
        return max(round(100 * amount / highest), 1) if amount > 0 else 0

    return [
        BarPair(index * BAR_WIDTH, height(back), height(front), label)
        for index, (back, front, label) in enumerate(values)
    ]
