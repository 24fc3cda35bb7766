"""A model of price rules and discount codes, with its own arithmetic and no code of the product.

The rules are those of ``docs/internals.md``. Items are counted one by one, and unit prices are exact fractions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from tests.model.arithmetic import ZERO, take_share, to_money


@dataclass(frozen=True)
class Person:
    """A customer of the shop with an email address in lower case."""

    pk: int
    email: str
    is_tax_exempt: bool = False


@dataclass(frozen=True)
class Buyer:
    """Who buys. The email address of a draft order or cart can be that of another customer, or of no customer yet."""

    customer: Person | None = None
    email: str = ""
    owner: Person | None = None

    @property
    def order_customer(self) -> Person | None:
        """Return the customer of the order, who is found by the email address unless the draft order has one."""
        return self.customer or self.owner

    def get_names(self) -> set[object]:
        """Return the ids and email addresses by which previous uses of the buyer are found."""
        people = {self.customer, self.owner} - {None}
        names = {name for person in people if person is not None for name in (person.pk, person.email)}
        return names | ({self.email.lower()} - {""})

    def get_names_of_use(self) -> set[object]:
        """Return the id and the email address that a use in an order keeps."""
        person = self.order_customer
        email = self.email.lower() or (person.email if person else "")
        return ({person.pk} if person else set()) | ({email} - {""})


NOBODY = Buyer()


@dataclass(frozen=True)
class CartRow:
    """A line of a cart, or a shipping line with a quantity of 1. ``net`` is the price before discount codes."""

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
    shipping: Sequence[Decimal] = ()
    buyer: Buyer = NOBODY
    country: str = ""


@dataclass(eq=False)
class RuleModel:
    """A price rule. ``buys`` is the number of items or the amount that "buy X, get Y" requires for ``gets`` items.

    ``customers`` and ``countries`` are None if the rule is for all of them.
    """

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
    customers: frozenset[int] | None = None
    countries: frozenset[str] | None = None
    is_active: bool = True
    codes: list["CodeModel"] = field(default_factory=list)

    def reduce(self, price: Decimal, items: int, currency: str) -> Decimal:
        """Return the discount on the price of this many items."""
        discount = to_money(price * self.value / 100, currency) if self.is_percentage else self.value * items
        return min(discount, price)

    def has_minimum(self, rows: Sequence[CartRow]) -> bool:
        subtotal, quantity = sum((row.net for row in rows), ZERO), sum(row.quantity for row in rows)
        return subtotal >= (self.minimum_subtotal or 0) and quantity >= (self.minimum_quantity or 0)

    def is_used_by(self, buyer: Buyer) -> bool:
        return any(names & buyer.get_names() for code in self.codes for names in code.uses)

    def is_for(self, buyer: Buyer) -> bool:
        """Return True if the buyer is selected. An email address does not prove that a customer is selected."""
        return self.customers is None or (buyer.customer is not None and buyer.customer.pk in self.customers)

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

    def discount_shipping(self, cart: Cart, left: Sequence[Decimal]) -> dict[int, Decimal] | None:
        """Return the discount by shipping line, or None if the rule does not apply."""
        most = self.highest_shipping
        chosen = [index for index, price in enumerate(cart.shipping) if most is None or price <= most]
        is_other_country = self.countries is not None and cart.country not in self.countries
        if not chosen or is_other_country or not self.has_minimum(cart.rows):
            return None
        if not self.is_each:
            return self._share({index: left[index] for index in chosen}, cart.currency)
        rows = [CartRow(1, price) for price in cart.shipping]
        return {index: self.reduce(left[index], 1, cart.currency) for index in self._choose_cheapest(rows, chosen)}

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
    """A code with the names of the buyer of each order that uses it."""

    pk: int
    text: str
    rule: RuleModel
    uses: list[set[object]] = field(default_factory=list)

    def is_used_up(self) -> bool:
        return self.rule.usage_limit is not None and len(self.uses) >= self.rule.usage_limit

    def may_be_used_by(self, buyer: Buyer) -> bool:
        used = self.rule.once_per_customer and self.rule.is_used_by(buyer)
        return not used and not self.is_used_up()


@dataclass
class AppliedCodes:
    """The discounts of each code: by row, or by shipping line. Refused codes have none."""

    items: dict[str, dict[int, Decimal]] = field(default_factory=dict)
    shipping: dict[str, dict[int, Decimal]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def get_row(self, index: int) -> Decimal:
        return add_up_index(self.items, index)

    def get_shipping(self, index: int) -> Decimal:
        return add_up_index(self.shipping, index)

    def get_amounts(self) -> dict[str, Decimal]:
        return {code: sum(amounts.values(), ZERO) for code, amounts in {**self.items, **self.shipping}.items()}


def add_up_index(discounts: Mapping[str, Mapping[int, Decimal]], index: int) -> Decimal:
    return sum((amounts.get(index, ZERO) for amounts in discounts.values()), ZERO)


def apply_codes(codes: Sequence[CodeModel], cart: Cart) -> AppliedCodes:
    """Apply codes in their order, each to the prices that the previous codes leave."""
    applied = AppliedCodes()
    rules: list[RuleModel] = []
    for code in codes:
        rule = code.rule
        usable = rule.is_active and rule.is_for(cart.buyer) and code.may_be_used_by(cart.buyer)
        usable = usable and not (rule.once_per_customer and rule in rules)
        parts: dict[int, Decimal] | None = None
        if usable and rule.is_shipping:
            left = [price - applied.get_shipping(index) for index, price in enumerate(cart.shipping)]
            parts = rule.discount_shipping(cart, left)
        elif usable:
            left = [row.net - applied.get_row(index) for index, row in enumerate(cart.rows)]
            parts = rule.discount_items(cart, left)
        if parts is None:
            applied.refused.append(code.text)
            continue
        (applied.shipping if rule.is_shipping else applied.items)[code.text] = parts
        rules.append(rule)
    return applied
