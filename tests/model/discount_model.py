"""A model of price rules and discount codes, with its own arithmetic and no code of the product.

The rules are those of ``docs/internals.md``. Items are counted one by one, and unit prices are exact fractions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from tests.model.arithmetic import ZERO, take_share, to_money


@dataclass(frozen=True)
class CartRow:
    """A line of a cart, or its shipping with a quantity of 1. ``net`` is the price before discount codes."""

    quantity: int
    net: Decimal
    variant: int | None = None

    @property
    def unit_price(self) -> Fraction:
        return Fraction(self.net) / self.quantity


@dataclass(frozen=True)
class Cart:
    currency: str
    rows: Sequence[CartRow]
    shipping: Decimal | None = None
    customer: int | None = None


@dataclass(eq=False)
class RuleModel:
    """A price rule. ``buys`` is the number of items or the amount that "buy X, get Y" requires for ``gets`` items."""

    value: Decimal
    is_percentage: bool
    is_shipping: bool = False
    is_each: bool = False
    limit: int | None = None
    entitled: frozenset[int] | None = None
    minimum_subtotal: Decimal | None = None
    minimum_quantity: int | None = None
    highest_shipping: Decimal | None = None
    bought: frozenset[int] = frozenset()
    buys: int | Decimal | None = None
    gets: int = 0
    usage_limit: int | None = None
    once_per_customer: bool = False
    is_active: bool = True
    codes: list["CodeModel"] = field(default_factory=list)

    def reduce(self, price: Decimal, items: int, currency: str) -> Decimal:
        """Return the discount on the price of this many items."""
        discount = to_money(price * self.value / 100, currency) if self.is_percentage else self.value * items
        return min(discount, price)

    def has_minimum(self, rows: Sequence[CartRow]) -> bool:
        subtotal, quantity = sum((row.net for row in rows), ZERO), sum(row.quantity for row in rows)
        return subtotal >= (self.minimum_subtotal or 0) and quantity >= (self.minimum_quantity or 0)

    def is_used_by(self, customer: int | None) -> bool:
        return customer is not None and any(customer in code.uses for code in self.codes)

    def discount_items(self, cart: Cart, left: Sequence[Decimal]) -> dict[int, Decimal] | None:
        """Return the discount by row, or None if the rule does not apply. ``left`` are the prices after other codes."""
        rows = cart.rows
        chosen = [index for index, row in enumerate(rows) if self.entitled is None or row.variant in self.entitled]
        if not chosen or not self.has_minimum([rows[index] for index in chosen]):
            return None
        if self.buys is None and not self.is_each:
            return self._share({index: left[index] for index in chosen}, cart.currency)
        counts = self._choose_bundles(rows, chosen) if self.buys is not None else self._choose_cheapest(rows, chosen)
        if not counts and self.buys is not None:
            return None
        return {
            index: self.reduce(
                take_share(left[index], count, rows[index].quantity, cart.currency), count, cart.currency
            )
            for index, count in counts.items()
        }

    def discount_shipping(self, cart: Cart, left: Decimal) -> Decimal | None:
        if not self.has_minimum(cart.rows) or cart.shipping is None:
            return None
        if self.highest_shipping is not None and cart.shipping > self.highest_shipping:
            return None
        return self.reduce(left, 1, cart.currency)

    def _share(self, prices: dict[int, Decimal], currency: str) -> dict[int, Decimal]:
        """Share one discount in proportion to the prices, so that the rounded shares add up."""
        whole = sum(prices.values(), ZERO)
        total, first, shares = self.reduce(whole, 1, currency), ZERO, {}
        for index, price in prices.items():
            before, first = take_share(total, first, whole, currency), first + price
            shares[index] = take_share(total, first, whole, currency) - before
        return shares

    def _choose_cheapest(self, rows: Sequence[CartRow], chosen: Sequence[int]) -> Counter[int]:
        units = [index for index in chosen for _ in range(rows[index].quantity)]
        units.sort(key=lambda index: (rows[index].unit_price, index))
        return Counter(units if self.limit is None else units[: self.limit])

    def _choose_bundles(self, rows: Sequence[CartRow], chosen: Sequence[int]) -> Counter[int]:
        """Return the discounted items of the largest number of sets. No item is both bought and discounted."""
        by_amount = isinstance(self.buys, Decimal)
        weights = {
            index: row.unit_price if by_amount else Fraction(1)
            for index, row in enumerate(rows)
            if row.variant in self.bought
        }
        units = [index for index in chosen for _ in range(rows[index].quantity)]
        units.sort(key=lambda index: (index in weights, rows[index].unit_price, index))
        whole = sum((weight * rows[index].quantity for index, weight in weights.items()), Fraction(0))
        need = Fraction(self.buys or 1)
        most = min(whole // need, len(units))
        for sets in range(most if self.limit is None else min(most, self.limit), 0, -1):
            spare, discounted = whole - need * sets, Counter[int]()
            for index in units:
                weight = weights.get(index, Fraction(0))
                if discounted.total() < sets * self.gets and weight <= spare:
                    spare -= weight
                    discounted[index] += 1
            if discounted.total() > (sets - 1) * self.gets:
                return discounted
        return Counter()


@dataclass(eq=False)
class CodeModel:
    """A code with the customers of the orders that use it. Orders without a customer are None."""

    pk: int
    text: str
    rule: RuleModel
    uses: list[int | None] = field(default_factory=list)

    def is_used_up(self) -> bool:
        return self.rule.usage_limit is not None and len(self.uses) >= self.rule.usage_limit

    def may_be_used_by(self, customer: int | None) -> bool:
        used = self.rule.once_per_customer and self.rule.is_used_by(customer)
        return not used and not self.is_used_up()


@dataclass
class AppliedCodes:
    """The discounts of each code: by row, or on shipping. Refused codes have none."""

    items: dict[str, dict[int, Decimal]] = field(default_factory=dict)
    shipping: dict[str, Decimal] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def get_row(self, index: int) -> Decimal:
        return sum((amounts.get(index, ZERO) for amounts in self.items.values()), ZERO)

    def get_shipping(self) -> Decimal:
        return sum(self.shipping.values(), ZERO)

    def get_amounts(self) -> dict[str, Decimal]:
        return {code: sum(amounts.values(), ZERO) for code, amounts in self.items.items()} | self.shipping


def apply_codes(codes: Sequence[CodeModel], cart: Cart) -> AppliedCodes:
    """Apply codes in their order, each to the prices that the previous codes leave."""
    applied = AppliedCodes()
    rules: list[RuleModel] = []
    for code in codes:
        rule = code.rule
        usable = rule.is_active and code.may_be_used_by(cart.customer)
        usable = usable and not (rule.once_per_customer and rule in rules)
        left = [row.net - applied.get_row(index) for index, row in enumerate(cart.rows)]
        if usable and rule.is_shipping:
            part = rule.discount_shipping(cart, (cart.shipping or ZERO) - applied.get_shipping())
            usable = part is not None
            if part is not None:
                applied.shipping[code.text] = part
        elif usable:
            parts = rule.discount_items(cart, left)
            usable = parts is not None
            if parts is not None:
                applied.items[code.text] = parts
        if usable:
            rules.append(rule)
        else:
            applied.refused.append(code.text)
    return applied
