"""Pure functions that allocate one discount to the lines of a cart. They never allocate more than a line's price."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from apps.core.money import ZERO, calculate_portion, round_money, split_amount


@dataclass(frozen=True, slots=True)
class Row:
    """A line or shipping line. ``net`` is the price before discount codes, and ``remaining`` the price after them."""

    quantity: int
    net: Decimal
    remaining: Decimal

    @property
    def unit_price(self) -> Fraction:
        """Return the exact price of one unit, so that the prices of all units add up to ``net``."""
        return Fraction(self.net) / self.quantity if self.quantity else Fraction(0)


@dataclass(frozen=True, slots=True)
class Value:
    """A positive percentage or amount. Amounts are in the currency of the cart."""

    number: Decimal
    is_percentage: bool
    currency: str

    def calculate(self, price: Decimal, units: int = 1) -> Decimal:
        """Return the discount on a price of this many units."""
        if self.is_percentage:
            return min(round_money(price * self.number / 100, self.currency), price)
        return min(self.number * units, price)


def allocate_across(rows: Mapping[int, Row], value: Value) -> dict[int, Decimal]:
    """Split one discount over the rows in proportion to their prices."""
    weights = [row.remaining for row in rows.values()]
    total = value.calculate(sum(weights, ZERO))
    if not total:
        return {}
    return dict(zip(rows, split_amount(total, weights, value.currency), strict=True))


def allocate_to_units(rows: Mapping[int, Row], units: Mapping[int, int], value: Value) -> dict[int, Decimal]:
    """Give the discount to each of the chosen units. ``units`` is their number by row."""
    return {
        index: value.calculate(
            calculate_portion(rows[index].remaining, count, rows[index].quantity, value.currency), count
        )
        for index, count in units.items()
    }


def choose_cheapest_units(rows: Mapping[int, Row], limit: int | None) -> dict[int, int]:
    """Return the number of discounted units by row: all units, or the ``limit`` cheapest units."""
    units: dict[int, int] = {}
    left = sum(row.quantity for row in rows.values()) if limit is None else limit
    for index in sorted(rows, key=lambda index: (rows[index].unit_price, index)):
        if count := min(left, rows[index].quantity):
            units[index] = count
            left -= count
    return units


@dataclass(frozen=True, slots=True)
class Bundle:
    """The terms of "buy X, get Y": each ``quantity`` or ``amount`` of prerequisite items discounts ``entitled`` units.

    ``limit`` is the maximum number of such sets in an order.
    """

    quantity: int | None
    amount: Decimal | None
    entitled: int
    limit: int | None


def choose_bundle_units(
    rows: Sequence[Row], prerequisite: Collection[int], entitled: Collection[int], bundle: Bundle
) -> dict[int, int]:
    """Return the number of discounted units by row for "buy X, get Y".

    A unit is either bought or discounted, never both. Items that are only entitled are discounted first, then the
    cheapest items. The last set may be incomplete: it discounts the entitled units that the cart has.
    """
    weights = {index: rows[index].unit_price if bundle.amount is not None else Fraction(1) for index in prerequisite}
    need = Fraction(bundle.amount if bundle.amount is not None else bundle.quantity or 1)
    candidates = sorted(entitled, key=lambda index: (index in weights, rows[index].unit_price, index))
    total = sum((weight * rows[index].quantity for index, weight in weights.items()), Fraction(0))

    def choose(count: int, sets: int) -> dict[int, int]:
        """Choose up to ``count`` units, so that the other units are enough for this number of sets."""
        spare, chosen = total - need * sets, dict[int, int]()
        for index in candidates:
            units = min(count, rows[index].quantity)
            if weight := weights.get(index):
                units = min(units, int(spare / weight))
                spare -= units * weight
            if units:
                chosen[index] = units
                count -= units
        return chosen

    def has_units(sets: int) -> bool:
        """Return True if the cart has at least one unit to discount in the last of this number of sets."""
        least = (sets - 1) * bundle.entitled + 1
        return sum(choose(least, sets).values()) == least

    most = min(int(total / need), -(-sum(rows[index].quantity for index in candidates) // bundle.entitled))
    low, high = 0, most if bundle.limit is None else min(most, bundle.limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if has_units(middle) else (low, middle - 1)
    return choose(low * bundle.entitled, low) if low else {}
