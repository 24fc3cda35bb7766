"""Bar charts for the templates ``panel/chart.html`` and ``panel/ranking.html``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.core.money import ZERO

BAR_WIDTH = 10  # The width of a bar, including the gap next to the bar.
_MAX_X_LABELS = 4


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


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of an axis. ``position`` is a percentage of the chart's height or width, from the top or the left."""

    position: int
    label: str


@dataclass(frozen=True, slots=True)
class Axes:
    """The round values of the vertical axis, and some labels of bars for the horizontal axis."""

    values: list[Tick]
    labels: list[Tick]

    @property
    def longest_value(self) -> str:
        return max((tick.label for tick in self.values), key=len)


def build_axes(amounts: Sequence[Decimal], format_value: Callable[[int], str], labels: Sequence[str]) -> Axes:
    """Return the axes of a chart with these amounts. ``labels`` has a label for each bar."""
    highest = max(amounts, default=ZERO)
    step = _get_step(highest)
    values = [
        Tick(100 - round(100 * value / highest) if highest > 0 else 100, format_value(value))
        for value in range(0, int(max(highest, ZERO)) + 1, step)
    ]
    last = len(labels) - 1
    number = min(_MAX_X_LABELS, len(labels))
    indexes = sorted({round(index * last / max(number - 1, 1)) for index in range(number)})
    return Axes(values, [Tick(round(100 * (index + 0.4) / len(labels)), labels[index]) for index in indexes])


def _get_step(highest: Decimal) -> int:
    """Return a round number that fits at least twice and less than four times into the amount, or 1."""
    power = 1
    while highest >= 10 * power:
        power *= 10
    factors = (Decimal("0.5"), Decimal(1), Decimal(2), Decimal("2.5"))
    return max(int(power * next(factor for factor in factors if highest < 4 * factor * power)), 1)
