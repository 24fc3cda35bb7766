"""Split the tax of refunded items, shipping and duties over the taxes of the row, in both currencies.

Refunds of current items take the last part of the row's tax (``split_first``), so that the rest is the tax of the
remaining items. No share is negative, and the shares of all refunds add up to the row's tax lines, in any order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from apps.core.money import ZERO, split_amount, split_first
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain.pricing.taxes import get_presentment_prices
from apps.orders.models import LineItem, Order


@dataclass(frozen=True, slots=True)
class TaxShares:
    """An amount of each tax of a row, in the order's currency and in the presentment currency.

    Attributes:
        taxes: The tax lines of the row.
        prices: The amounts in the order's currency.
        converted: The amounts in the presentment currency.
    """

    order: Order
    taxes: Sequence[ReadOnlyAttrs]
    prices: Sequence[Decimal]
    converted: Sequence[Decimal]

    @classmethod
    def of_row(cls, order: Order, taxes: Sequence[ReadOnlyAttrs]) -> "TaxShares":
        """Return the whole taxes of a line item or shipping line."""
        prices = [Decimal(tax["price"]) for tax in taxes]
        return cls(order, taxes, prices, get_presentment_prices(order, taxes))

    @classmethod
    def of_duty(cls, order: Order, line: LineItem, duty: ReadOnlyAttrs) -> "TaxShares":
        """Return the whole taxes of a duty. The duties of a line are converted together."""
        all_taxes = [tax for row in line.duties for tax in row["tax_lines"]]
        converted = iter(get_presentment_prices(order, all_taxes))
        by_duty = {row["id"]: [next(converted) for _tax in row["tax_lines"]] for row in line.duties}
        return replace(cls.of_row(order, duty["tax_lines"]), converted=by_duty[duty["id"]])

    def subtract_lines(self, refunded: Iterable[Sequence[ReadOnlyAttrs]]) -> "TaxShares":
        """Subtract the stored taxes of earlier refunds of the row."""
        rest = self
        for lines in refunded:
            if len(lines) == len(self.taxes):
                prices = [Decimal(line["price"]) for line in lines]
                converted = [Decimal(line.get("presentment_price", line["price"])) for line in lines]
                rest -= replace(self, prices=prices, converted=converted)
        return rest

    def get_first(self, amount: Decimal, converted: Decimal) -> "TaxShares":
        """Return the shares of the first part of the tax, from the part's amount in both currencies."""
        return replace(
            self,
            prices=split_first(amount, self.prices, self.order.currency),
            converted=split_first(converted, self.converted, self.order.presentment_currency),
        )

    def take(self, amount: Decimal, converted: Decimal) -> "TaxShares":
        """Split a part of the tax in proportion to the amounts. No share exceeds its amount if the sum suffices."""
        return replace(
            self,
            prices=_take_part(amount, self.prices, self.order.currency),
            converted=_take_part(converted, self.converted, self.order.presentment_currency),
        )

    def __add__(self, other: "TaxShares") -> "TaxShares":
        prices, converted = (
            [amount + more for amount, more in zip(*pair, strict=True)]
            for pair in ((self.prices, other.prices), (self.converted, other.converted))
        )
        return replace(self, prices=prices, converted=converted)

    def __sub__(self, other: "TaxShares") -> "TaxShares":
        prices, converted = (
            [amount - less for amount, less in zip(*pair, strict=True)]
            for pair in ((self.prices, other.prices), (self.converted, other.converted))
        )
        return replace(self, prices=prices, converted=converted)

    def build_tax_lines(self) -> list[Attrs]:
        """Return the shares in the stored format, one tax line for each tax of the row."""
        lines = [{**tax, "price": str(price)} for tax, price in zip(self.taxes, self.prices, strict=True)]
        if not self.order.is_multi_currency:
            return lines
        pairs = zip(lines, self.converted, strict=True)
        return [{**line, "presentment_price": str(price)} for line, price in pairs]


def _take_part(amount: Decimal, amounts: Sequence[Decimal], currency: str) -> list[Decimal]:
    weights = [max(weight, ZERO) for weight in amounts]
    if sum(weights, ZERO) >= amount:
        return split_first(amount, weights, currency)
    return split_amount(amount, weights, currency)
