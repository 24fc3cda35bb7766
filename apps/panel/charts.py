"""Bars that show amounts one after the other; the template ``panel/bars.html`` draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.ground.money import ZERO

WIDTH = 10  # of a bar with the gap beside it


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: ``height`` is its share of the highest one, in percent; ``label`` says what it stands for."""

    left: int
    height: int
    label: str

    @property
    def top(self) -> int:
        """Where it begins, from above."""
        return 100 - self.height


def bars_of(values: Sequence[tuple[Decimal, str]]) -> list[Bar]:
    """Bars for amounts, each with its label; that of nothing is a line."""
    best = max((amount for amount, _ in values), default=ZERO)
    return [
        Bar(place * WIDTH, max(round(100 * amount / best), 1) if best else 1, label)
        for place, (amount, label) in enumerate(values)
    ]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two bars at one place, the front one narrower; heights are shares of the highest of all, in percent."""

    left: int
    back: int
    front: int
    label: str

    @property
    def back_top(self) -> int:
        """Where the back one begins, from above."""
        return 100 - self.back

    @property
    def front_left(self) -> int:
        """Where the front one begins, from the left."""
        return self.left + 2

    @property
    def front_top(self) -> int:
        """Where the front one begins, from above."""
        return 100 - self.front


def pairs_of(values: Sequence[tuple[Decimal, Decimal, str]]) -> list[Pair]:
    """Pairs for two amounts each, the back one first, with their label; ``panel/pairs.html`` draws them."""
    best = max((max(back, front) for back, front, _ in values), default=ZERO)

    def height(amount: Decimal) -> int:
        return max(round(100 * amount / best), 1) if amount > 0 else 0

    return [
        Pair(place * WIDTH, height(back), height(front), label) for place, (back, front, label) in enumerate(values)
    ]
