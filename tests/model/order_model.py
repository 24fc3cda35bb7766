"""A model of the amounts of one order, with its own arithmetic and no code of the product.

The rules are those of ``docs/refunds.md``. The model keeps every amount in both currencies of the order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from tests.model.arithmetic import ZERO, take_share, to_money


@dataclass(frozen=True)
class Terms:
    """The currencies of an order, and whether its prices include taxes. ``rate`` converts to ``presentment``."""

    currency: str
    presentment: str
    rate: Decimal = Decimal(1)
    taxes_included: bool = False

    @property
    def has_two_currencies(self) -> bool:
        return self.currency != self.presentment

    def convert(self, amount: Decimal) -> Decimal:
        return to_money(amount * self.rate, self.presentment)

    def build_taxes(self, price: Decimal, rates: Iterable[Decimal]) -> list[Decimal]:
        rates = list(rates)
        divisor = 1 + sum(rates, ZERO) if self.taxes_included else Decimal(1)
        return [to_money(price * rate / divisor, self.currency) for rate in rates]


@dataclass
class Money:
    """An amount in the currency of the order and in the presentment currency."""

    shop: Decimal = ZERO
    shown: Decimal = ZERO

    def __add__(self, other: "Money") -> "Money":
        return Money(self.shop + other.shop, self.shown + other.shown)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.shop - other.shop, self.shown - other.shown)


def add_up(amounts: Iterable[Money]) -> Money:
    return sum(amounts, Money())


@dataclass
class PricedPart:
    """A price and its tax that lose parts: ``left`` of ``whole`` items, or of a price."""

    terms: Terms
    price: Money
    tax: Money

    def get_price_left(self, price: Decimal) -> Money:
        """Return what is left if ``price`` is left in the order's currency. The rest is rounded in presentment."""
        return Money(price, self._convert_left(self.price, price))

    def get_tax_left(self, tax: Decimal) -> Money:
        return Money(tax, self._convert_left(self.tax, tax))

    def _convert_left(self, amount: Money, left: Decimal) -> Decimal:
        if not self.terms.has_two_currencies:
            return left
        return amount.shown - take_share(amount.shown, amount.shop - left, amount.shop, self.terms.presentment)


@dataclass
class LineModel:
    """A line item: ``current`` items are in the order, ``removed`` ones were edited out and can still be refunded."""

    terms: Terms
    price: Decimal
    quantity: int
    discount: Decimal = ZERO
    rates: Sequence[Decimal] = ()
    current: int = 0
    removed: int = 0
    refunded_discount: Money = field(default_factory=Money)
    refunded_price: Money = field(default_factory=Money)
    refunded_tax: Money = field(default_factory=Money)
    # The presentment amount of the discounted price depends on the whole order.
    net_shown: Decimal = ZERO

    def __post_init__(self) -> None:
        self.current = self.quantity
        self.taxes = self.terms.build_taxes(self.net, self.rates)
        self.tax = sum(self.taxes, ZERO)

    @property
    def net(self) -> Decimal:
        return self.price * self.quantity - self.discount

    @property
    def part(self) -> PricedPart:
        tax = Money(self.tax, self.terms.convert(self.tax))
        return PricedPart(self.terms, Money(self.net, self.net_shown), tax)

    def _share(self, amount: Decimal, items: int) -> Decimal:
        return take_share(amount, items, self.quantity, self.terms.currency)

    def get_price(self, items: int) -> Money:
        """Return the discounted price of the first items."""
        return self.part.get_price_left(self.price * items - self._share(self.discount, items))

    def get_discount(self, items: int) -> Money:
        whole = Money(self.discount, self.terms.convert(self.discount))
        discounts = PricedPart(self.terms, whole, Money())
        return discounts.get_price_left(self._share(self.discount, items))

    def get_tax(self, items: int) -> Money:
        return self.part.get_tax_left(self._share(self.tax, items))

    def price_refund(self, items: int) -> tuple[Money, Money]:
        """Return the price and the tax of refunded items: first current ones, then removed ones.

        Current items are worth what the total loses. Removed items get what the items that can still be refunded
        afterwards leave of the line.
        """
        current = min(items, self.current)
        rest = self.current + self.removed - items

        def price_part(of: Callable[[int], Decimal], whole: Decimal, refunded: Decimal) -> Decimal:
            part = of(self.current) - of(self.current - current)
            if items > current:
                part += max(whole - refunded - part - of(rest), ZERO)
            return part

        discount = price_part(
            lambda count: self._share(self.discount, count), self.discount, self.refunded_discount.shop
        )
        tax = price_part(lambda count: self._share(self.tax, count), self.tax, self.refunded_tax.shop)
        price = self.price * items - discount
        if not self.terms.has_two_currencies:
            return Money(price, price), Money(tax, tax)
        price_shown = price_part(lambda count: self.get_price(count).shown, self.net_shown, self.refunded_price.shown)
        whole_tax = self.terms.convert(self.tax)
        tax_shown = price_part(lambda count: self.get_tax(count).shown, whole_tax, self.refunded_tax.shown)
        return Money(price, price_shown), Money(tax, tax_shown)

    def refund(self, items: int) -> None:
        price, tax = self.price_refund(items)
        self.refunded_price, self.refunded_tax = self.refunded_price + price, self.refunded_tax + tax
        discount = self.price * items - price.shop
        self.refunded_discount += Money(discount, ZERO)
        from_current = min(items, self.current)
        self.current -= from_current
        self.removed -= items - from_current


@dataclass
class Payment:
    """A payment in the presentment currency, and its refunded part. ``shop`` is its value in the order's currency."""

    amount: Decimal
    refunded: Decimal = ZERO

    @property
    def left(self) -> Decimal:
        return self.amount - self.refunded


@dataclass(eq=False)
class Authorization:
    """An authorized amount in the presentment currency. ``left`` is neither captured nor released."""

    pk: int
    left: Decimal
    is_captured: bool = False

    def capture(self, amount: Decimal) -> Payment:
        self.left -= amount
        self.is_captured = True
        return Payment(amount)

    def release(self) -> None:
        self.left = ZERO


@dataclass(frozen=True)
class Suggestion:
    """A calculated refund. ``total``, ``limit`` and ``amount`` are in the presentment currency."""

    lines: Sequence[tuple[Money, Money]]
    shipping: Money
    shipping_tax: Money
    total: Decimal
    limit: Decimal
    amount: Decimal
    shares: Sequence[Decimal]


@dataclass
class OrderModel:
    """The expected amounts of an order. ``withheld`` is the sum of differences from suggested refunds."""

    terms: Terms
    lines: list[LineModel]
    shipping_price: Decimal = ZERO
    shipping_rates: Sequence[Decimal] = ()
    tip: Decimal = ZERO
    payments: list[Payment] = field(default_factory=list)
    authorizations: list[Authorization] = field(default_factory=list)
    has_voids: bool = False
    shipping_refunded: Decimal = ZERO
    shipping_tax_refunded: Decimal = ZERO
    withheld: Decimal = ZERO
    is_cancelled: bool = False
    is_shipping_removed: bool = False
    shipping_discount: Decimal = ZERO

    def __post_init__(self) -> None:
        self.shipping_tax = sum(self.terms.build_taxes(self.shipping_net, self.shipping_rates), ZERO)
        self.share_total()

    @property
    def shipping_net(self) -> Decimal:
        return self.shipping_price - self.shipping_discount

    def add_line(self, line: LineModel) -> None:
        self.lines.append(line)
        self.share_total()

    def share_total(self) -> None:
        """Convert the total, and let the lines share what the other parts leave of it.

        The line with the highest price gets the difference by rounding.
        """
        terms = self.terms
        for line in self.lines:
            line.net_shown = terms.convert(line.price * line.quantity) - terms.convert(line.discount)
        if not terms.has_two_currencies:
            return
        others = self.shipping.price.shown + terms.convert(self.tip)
        if not terms.taxes_included:
            others += sum((terms.convert(line.tax) for line in self.lines), terms.convert(self.shipping_tax))
        largest = max(self.lines, key=lambda line: line.net)
        shown = sum((line.net_shown for line in self.lines), others)
        if largest.net:
            largest.net_shown = max(largest.net_shown + terms.convert(self.get_total_price()) - shown, ZERO)

    def get_total_price(self) -> Decimal:
        total = sum((line.net for line in self.lines), self.shipping_net + self.tip)
        return total if self.terms.taxes_included else total + self.get_total_tax()

    def get_total_tax(self) -> Decimal:
        return sum((line.tax for line in self.lines), self.shipping_tax)

    @property
    def shipping(self) -> PricedPart:
        convert = self.terms.convert
        net = Money(self.shipping_net, convert(self.shipping_price) - convert(self.shipping_discount))
        return PricedPart(self.terms, net, Money(self.shipping_tax, convert(self.shipping_tax)))

    def get_totals(self) -> dict[str, Money]:
        """Return the amounts of the order by the names of the interface."""
        convert = self.terms.convert

        def both(amount: Decimal) -> Money:
            return Money(amount, convert(amount))

        item_discounts = add_up(both(line.discount) for line in self.lines)
        subtotal = add_up(Money(line.net, line.net_shown) for line in self.lines)
        tax = add_up(both(line.tax) for line in self.lines) + both(self.shipping_tax)
        total = subtotal + self.shipping.price + both(self.tip)
        totals = {
            "total_line_items_price": subtotal + item_discounts,
            "total_discounts": item_discounts + both(self.shipping_discount),
            "subtotal_price": subtotal,
            "total_tax": tax,
            "total_shipping_price": both(self.shipping_price),
            "total_price": total if self.terms.taxes_included else total + tax,
        }
        return {**totals, **self._get_current_totals()}

    def _get_current_totals(self) -> dict[str, Money]:
        shipping, shipping_tax = Money(), Money()
        discounts = add_up(line.get_discount(line.current) for line in self.lines)
        if not self.is_shipping_removed:
            shipping = self.shipping.get_price_left(self.shipping_net - self.shipping_refunded)
            discounts += Money(self.shipping_discount, self.terms.convert(self.shipping_discount))
            shipping_tax = self.shipping.get_tax_left(self.shipping_tax - self.shipping_tax_refunded)
        subtotal = add_up(line.get_price(line.current) for line in self.lines)
        tax = add_up(line.get_tax(line.current) for line in self.lines) + shipping_tax
        is_void = self.is_cancelled and not any(line.current for line in self.lines)
        tip = Money() if is_void else Money(self.tip, self.terms.convert(self.tip))
        # Differences from the suggestion only occur in orders with one currency.
        total = subtotal + shipping + tip + Money(self.withheld, self.withheld)
        if not self.terms.taxes_included:
            total += tax
        return {
            "current_total_discounts": discounts,
            "current_subtotal_price": subtotal,
            "current_total_tax": tax,
            "current_total_price": Money(max(total.shop, ZERO), max(total.shown, ZERO)),
        }

    @property
    def paid(self) -> Decimal:
        return sum((payment.amount for payment in self.payments), ZERO)

    @property
    def refunded(self) -> Decimal:
        return sum((payment.refunded for payment in self.payments), ZERO)

    @property
    def outstanding(self) -> Decimal:
        """Return the balance due in the presentment currency. For canceled orders, nothing is due."""
        balance = self.get_totals()["current_total_price"].shown - self.paid + self.refunded
        return min(balance, ZERO) if self.is_cancelled else balance

    def get_financial_status(self) -> str:
        totals = self.get_totals()
        if self.refunded:
            return "refunded" if self.refunded >= self.paid else "partially_refunded"
        if self.paid >= totals["total_price"].shown:
            return "paid"
        if self.paid and not self.is_cancelled and self.paid >= totals["current_total_price"].shown:
            return "paid"
        if self.paid:
            return "partially_paid"
        if any(row.left for row in self.authorizations):
            return "authorized"
        return "voided" if self.is_cancelled or self.has_voids else "pending"

    def release_authorizations(self) -> None:
        """Release all that is authorized and not captured, as the cancellation of an order does."""
        for row in self.authorizations:
            if row.left:
                row.release()

    def calculate(self, items: Sequence[tuple[LineModel, int]], shipping: Decimal = ZERO) -> Suggestion:
        """Suggest the refund of items, at most one entry per line, and of shipping in the order's currency."""
        lines = [line.price_refund(count) for line, count in items]
        shipping_tax = self._get_refunded_shipping_tax(shipping)
        before = self.shipping_refunded, self.shipping_tax_refunded
        part = self._take_shipping(self.shipping.get_price_left, self.shipping_net, before[0], shipping)
        tax_part = self._take_shipping(self.shipping.get_tax_left, self.shipping_tax, before[1], shipping_tax)
        prices, taxes = add_up(price for price, _tax in lines) + part, add_up(tax for _price, tax in lines) + tax_part
        total = prices if self.terms.taxes_included else prices + taxes
        counts = {id(line): count for line, count in items}
        quantities = [(line.current, line.removed) for line in self.lines]
        for line in self.lines:
            line.current -= min(counts.get(id(line), 0), line.current)
        self.shipping_refunded += shipping
        self.shipping_tax_refunded += shipping_tax
        after = self.get_totals()["current_total_price"].shown
        self.shipping_refunded, self.shipping_tax_refunded = before
        for line, (current, removed) in zip(self.lines, quantities, strict=True):
            line.current, line.removed = current, removed
        limit = max(self.paid - self.refunded - after, ZERO)
        amount = min(total.shown, limit)
        return Suggestion(lines, part, tax_part, total.shown, limit, amount, self.split(amount))

    def _get_refunded_shipping_tax(self, shipping: Decimal) -> Decimal:
        if not self.shipping_net:
            return self.shipping_tax - self.shipping_tax_refunded
        upto = take_share(self.shipping_tax, self.shipping_refunded + shipping, self.shipping_net, self.terms.currency)
        return max(upto - self.shipping_tax_refunded, ZERO)

    def _take_shipping(
        self, get_left: Callable[[Decimal], Money], whole: Decimal, before: Decimal, part: Decimal
    ) -> Money:
        return get_left(whole - before) - get_left(whole - before - part)

    def split(self, amount: Decimal) -> list[Decimal]:
        """Split an amount over the payments, oldest first."""
        shares = []
        for payment in self.payments:
            shares.append(min(amount, payment.left))
            amount -= shares[-1]
        return shares

    def refund(
        self, items: Sequence[tuple[LineModel, int]], shipping: Decimal, shares: Sequence[Decimal]
    ) -> tuple[Suggestion, Decimal]:
        """Refund items, shipping and money. Return the suggestion and the difference from it."""
        suggested = self.calculate(items, shipping)
        money = sum(shares, ZERO)
        withheld = suggested.amount - money if money < suggested.amount else min(suggested.limit - money, ZERO)
        self.withheld += withheld
        for line, count in items:
            line.refund(count)
        self.shipping_tax_refunded += suggested.shipping_tax.shop
        self.shipping_refunded += shipping
        for payment, share in zip(self.payments, shares, strict=True):
            payment.refunded += share
        return suggested, withheld

    def cancel(self, *, restock: bool) -> None:
        if restock:
            for line in self.lines:
                line.removed += line.current
                line.current = 0
            self.is_shipping_removed = True
        self.is_cancelled = True
