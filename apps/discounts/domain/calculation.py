"""Calculate the discounts that codes give on a cart. Nothing is written, so drafts and previews can call this.

Codes apply in their order, each to the price that remains after the previous codes. Minimums are compared with the
prices before any code. Amounts of rules are in the shop currency and converted with the shop's exchange rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from apps.catalog.models import Variant
from apps.core.i18n.messages import Amount, Message
from apps.core.money import ZERO, convert_amount, format_decimal, format_plain
from apps.core.tenancy.currency_conversion import find_presentment
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.discounts.domain import refusals
from apps.discounts.domain.allocation import (
    Bundle,
    Row,
    Value,
    allocate_across,
    allocate_to_units,
    choose_bundle_units,
    choose_cheapest_units,
)
from apps.discounts.domain.terms import CodeTerms, get_unique_codes, load_terms
from apps.discounts.models import PriceRule


@dataclass(frozen=True, slots=True)
class CartLine:
    """A line of a cart. ``price`` is the unit price, and ``discount`` the other discounts on the whole line."""

    quantity: int
    price: Decimal
    product_id: int | None = None
    variant_id: int | None = None
    discount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class CartShipping:
    price: Decimal
    discount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class Cart:
    """The items and shipping of an order that does not exist yet. All amounts are in ``currency``."""

    currency: str
    lines: Sequence[CartLine]
    shipping: Sequence[CartShipping] = ()
    customer: Customer | None = None
    email: str = ""
    country_code: str = ""


@dataclass(frozen=True, slots=True)
class CalculatedDiscounts:
    """The discounts of a cart.

    Attributes:
        applications: The discount applications, in the format of ``pricing.given_discounts`` of orders.
        line_allocations: The allocations of each line, with ``amount`` and ``discount_application_index``.
        shipping_allocations: The allocations of each shipping line.
        refused: The reasons for which codes do not apply, by code.
    """

    applications: Sequence[Attrs]
    line_allocations: Sequence[Sequence[Attrs]]
    shipping_allocations: Sequence[Sequence[Attrs]]
    refused: Mapping[str, Message]


@dataclass(slots=True)
class _Rows:
    """The lines or shipping lines of a cart while codes are applied, with their allocations."""

    rows: list[Row]
    allocations: list[list[Attrs]] = field(init=False)

    def __post_init__(self) -> None:
        self.allocations = [[] for _ in self.rows]

    def select(self, indexes: Sequence[int]) -> dict[int, Row]:
        return {index: self.rows[index] for index in indexes}

    def add(self, amounts: Mapping[int, Decimal], application: int) -> None:
        for index, amount in amounts.items():
            if amount:
                row = self.rows[index]
                self.rows[index] = Row(row.quantity, row.net, row.remaining - amount)
                self.allocations[index].append({"amount": amount, "discount_application_index": application})


class _Refusal(Exception):
    def __init__(self, reason: Message) -> None:
        self.reason = reason


def calculate_discounts(cart: Cart, codes: Sequence[str], *, at: datetime) -> CalculatedDiscounts:
    """Return the discounts of the codes on a cart. Codes that do not apply are refused with a reason."""
    lines = _Rows([_build_row(line.quantity, line.price * line.quantity, line.discount) for line in cart.lines])
    shipping = _Rows([_build_row(1, line.price, line.discount) for line in cart.shipping])
    codes_by_key = get_unique_codes(codes)
    product_ids = _find_product_ids(cart) if codes_by_key else []
    terms_by_key = load_terms(codes, (pk for pk in product_ids if pk is not None)) if codes_by_key else {}
    applications: list[Attrs] = []
    refused: dict[str, Message] = {}
    applied_rules = set[int]()
    for key, code in codes_by_key.items():
        terms = terms_by_key.get(key)
        if terms is None:
            refused[code] = refusals.UNKNOWN
            continue
        try:
            calculation = _CodeCalculation(cart, product_ids, terms)
            if reason := refusals.find_refusal(terms, cart.customer, cart.email, at):
                raise _Refusal(reason)
            if terms.rule.once_per_customer and terms.rule.pk in applied_rules:
                raise _Refusal(refusals.ALREADY_USED)
            is_shipping = terms.rule.target_type == PriceRule.TargetType.SHIPPING_LINE
            amounts = calculation.discount_shipping(lines, shipping) if is_shipping else calculation.discount(lines)
        except _Refusal as refusal:
            refused[code] = refusal.reason
            continue
        (shipping if is_shipping else lines).add(amounts, len(applications))
        applications.append(calculation.build_application())
        applied_rules.add(terms.rule.pk)
    return CalculatedDiscounts(applications, lines.allocations, shipping.allocations, refused)


def _build_row(quantity: int, gross: Decimal, discount: Decimal) -> Row:
    net = max(gross - discount, ZERO)
    return Row(quantity, net, net)


def _find_product_ids(cart: Cart) -> list[int | None]:
    """Return the product of each line. Lines may name only the variant."""
    variant_ids = {line.variant_id for line in cart.lines if line.product_id is None and line.variant_id is not None}
    products: dict[int, int] = {}
    if variant_ids:
        products = dict(Variant.objects.filter(pk__in=variant_ids).values_list("pk", "product_id"))
    return [products.get(line.variant_id or 0) if line.product_id is None else line.product_id for line in cart.lines]


class _CodeCalculation:
    """The calculation of one code on a cart. Methods raise ``_Refusal`` if the code does not apply."""

    def __init__(self, cart: Cart, product_ids: Sequence[int | None], terms: CodeTerms) -> None:
        self.cart = cart
        self.terms = terms
        self.rule = terms.rule
        self.items = [(product_id, line.variant_id) for product_id, line in zip(product_ids, cart.lines, strict=True)]

    @property
    def value(self) -> Value:
        if self.rule.value_type == PriceRule.ValueType.PERCENTAGE:
            return Value(-self.rule.value, True, self.cart.currency)
        return Value(self.convert(-self.rule.value), False, self.cart.currency)

    def convert(self, amount: Decimal) -> Decimal:
        """Convert an amount from the shop currency to the currency of the cart."""
        shop, currency = get_current_shop(), self.cart.currency
        if currency == shop.currency:
            return amount
        presentment = find_presentment(shop, currency)
        if presentment is None or presentment.rate is None:
            raise _Refusal(refusals.NO_RATE(currency=currency))
        return convert_amount(amount, presentment.rate, currency)

    def discount(self, lines: _Rows) -> dict[int, Decimal]:
        """Return the discount of each discounted line."""
        entitled = self._select_entitled()
        if not entitled:
            raise _Refusal(refusals.NO_ITEMS)
        rows = lines.select(entitled)
        self._check_minimums(list(rows.values()))
        value = self.value
        if self.rule.is_buy_x_get_y:
            units = choose_bundle_units(lines.rows, self._select_prerequisite(), entitled, self._build_bundle())
            if not units:
                raise _Refusal(refusals.MISSING_ITEMS)
            return allocate_to_units(rows, units, value)
        if self.rule.allocation_method == PriceRule.AllocationMethod.ACROSS:
            return allocate_across(rows, value)
        return allocate_to_units(rows, choose_cheapest_units(rows, self.rule.allocation_limit), value)

    def discount_shipping(self, lines: _Rows, shipping: _Rows) -> dict[int, Decimal]:
        """Return the discount of each discounted shipping line."""
        rule, country = self.rule, self.cart.country_code.upper()
        if rule.target_selection == PriceRule.TargetSelection.ENTITLED and country not in self.terms.country_codes:
            raise _Refusal(refusals.OTHER_COUNTRY)
        self._check_minimums(lines.rows)
        most = None if rule.prerequisite_shipping_price is None else self.convert(rule.prerequisite_shipping_price)
        rows = {index: row for index, row in enumerate(shipping.rows) if most is None or row.net <= most}
        if not rows:
            raise _Refusal(refusals.NO_SHIPPING)
        if rule.allocation_method == PriceRule.AllocationMethod.ACROSS:
            return allocate_across(rows, self.value)
        return allocate_to_units(rows, choose_cheapest_units(rows, rule.allocation_limit), self.value)

    def build_application(self) -> Attrs:
        rule = self.rule
        return {
            "type": "discount_code",
            "code": self.terms.code.code,
            "title": self.terms.code.code,
            "description": rule.title,
            "value": format_plain(self.value.number),
            "value_type": rule.value_type,
            "allocation_method": rule.allocation_method,
            "target_selection": rule.target_selection,
            "target_type": rule.target_type,
        }

    def _select_entitled(self) -> list[int]:
        takes_all = self.rule.target_selection == PriceRule.TargetSelection.ALL
        return [index for index, item in enumerate(self.items) if takes_all or self.terms.entitled.includes(*item)]

    def _select_prerequisite(self) -> list[int]:
        return [index for index, item in enumerate(self.items) if self.terms.prerequisite.includes(*item)]

    def _check_minimums(self, rows: Sequence[Row]) -> None:
        if (least := self.rule.prerequisite_subtotal) is not None:
            amount = self.convert(least)
            if sum((row.net for row in rows), ZERO) < amount:
                text = format_decimal(amount, self.cart.currency)
                raise _Refusal(refusals.SUBTOTAL_TOO_LOW(amount=Amount(text, self.cart.currency)))
        count = self.rule.prerequisite_quantity
        if count is not None and sum(row.quantity for row in rows) < count:
            raise _Refusal(refusals.QUANTITY_TOO_LOW(count=count))

    def _build_bundle(self) -> Bundle:
        rule = self.rule
        amount = None if rule.prerequisite_amount is None else self.convert(rule.prerequisite_amount)
        return Bundle(
            rule.prerequisite_quantity_ratio, amount, rule.entitled_quantity_ratio or 1, rule.allocation_limit
        )
