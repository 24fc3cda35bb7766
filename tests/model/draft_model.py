"""A model of the amounts of draft orders, with its own arithmetic and no code of the product.

Discounts apply in a fixed order: those of the lines, that of the draft order, and the codes. The amounts are those of
the last calculation, even if tax rates or price rules change later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tests.model.arithmetic import ZERO, take_share, to_money
from tests.model.discount_model import NOBODY, AppliedCodes, Buyer, Cart, CartRow, CodeModel, apply_codes
from tests.model.order_model import LineModel, OrderModel, Terms


@dataclass(frozen=True)
class ManualDiscount:
    """A discount by staff. A fixed amount is per item."""

    value: Decimal
    is_percentage: bool

    def calculate(self, price: Decimal, items: int, currency: str) -> Decimal:
        if self.is_percentage:
            return to_money(price * self.value / 100, currency)
        return min(self.value * items, price)


@dataclass(frozen=True)
class DraftLine:
    price: Decimal
    quantity: int
    variant: int | None = None
    taxable: bool = True
    discount: ManualDiscount | None = None


@dataclass(frozen=True)
class DraftValues:
    """The values from which a draft order is calculated. ``region`` is a country, or a country and a province."""

    terms: Terms
    lines: tuple[DraftLine, ...]
    discount: ManualDiscount | None = None
    shipping: Decimal | None = None
    codes: tuple[CodeModel, ...] = ()
    buyer: Buyer = NOBODY
    tax_exempt: bool = False
    region: str = ""

    @property
    def country(self) -> str:
        return self.region.partition("-")[0]

    def get_line_discounts(self) -> list[Decimal]:
        """Return the own discounts of the lines."""
        currency = self.terms.currency
        return [
            line.discount.calculate(line.price * line.quantity, line.quantity, currency) if line.discount else ZERO
            for line in self.lines
        ]

    def get_manual_discounts(self) -> list[Decimal]:
        """Return the own discounts of the lines with their shares of the draft order's discount."""
        discounts, currency = self.get_line_discounts(), self.terms.currency
        left = [line.price * line.quantity - part for line, part in zip(self.lines, discounts, strict=True)]
        whole, first = sum(left, ZERO), ZERO
        total = self.discount.calculate(whole, 1, currency) if self.discount else ZERO
        for index, price in enumerate(left):
            before, first = take_share(total, first, whole, currency), first + price
            discounts[index] += take_share(total, first, whole, currency) - before
        return discounts

    def get_cart(self) -> Cart:
        rows = [
            CartRow(line.quantity, line.price * line.quantity - discount, line.variant)
            for line, discount in zip(self.lines, self.get_manual_discounts(), strict=True)
        ]
        shipping = () if self.shipping is None else (self.shipping,)
        return Cart(self.terms.currency, rows, shipping, self.buyer, self.country)

    def apply_codes(self) -> AppliedCodes:
        return apply_codes(self.codes, self.get_cart())


@dataclass(frozen=True)
class TaxTable:
    """The tax rates by region of a shop."""

    rates: Mapping[str, Sequence[Decimal]]
    shipping_taxed: bool


@dataclass(frozen=True)
class CalculatedDraft:
    """The amounts of a draft order: those of the order that it becomes, and the discounts of its codes."""

    amounts: OrderModel
    codes: AppliedCodes


def calculate(values: DraftValues, taxes: TaxTable) -> CalculatedDraft | None:
    """Return the amounts, or None if a code is refused."""
    applied = values.apply_codes()
    if applied.refused:
        return None
    customer = values.buyer.customer
    is_exempt = values.tax_exempt or (customer is not None and customer.is_tax_exempt)
    rates = [] if is_exempt else list(taxes.rates.get(values.region, ()))
    lines = [
        LineModel(
            values.terms, line.price, line.quantity, manual + applied.get_row(index), rates if line.taxable else []
        )
        for index, (line, manual) in enumerate(zip(values.lines, values.get_manual_discounts(), strict=True))
    ]
    amounts = OrderModel(
        values.terms,
        lines,
        values.shipping or ZERO,
        rates if taxes.shipping_taxed and values.shipping is not None else [],
        shipping_discount=applied.get_shipping(0),
    )
    return CalculatedDraft(amounts, applied)
