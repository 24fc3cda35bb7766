"""Calculate draft orders: discounts, taxes and totals, with the pricing of orders.

``calculate_draft`` sets the calculated columns whenever a draft order is saved. ``get_order_input`` turns the stored
columns into the input of a new order. The totals of the draft order and those of the completed order both come from
this input, so they are equal even if prices, tax rates or discounts of the shop change in the meantime.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Message
from apps.core.money import ZERO, format_decimal, format_plain, round_money, split_amount
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.discounts.domain.calculation import Cart, CartLine, CartShipping, calculate_discounts
from apps.discounts.domain.refusals import CODE_REFUSED
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.domain.create.drafts import OrderDraft, OrderParts, build_order
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.models import Order
from apps.shops.domain.tax_rates import TaxRates, get_tax_rates

SOURCE_NAME = "draft_order"
PERCENTAGE, FIXED_AMOUNT = "percentage", "fixed_amount"
# The columns of an order that are copied from its draft order.
_ORDER_COLUMNS = (
    *("email", "billing_address", "shipping_address", "note", "note_attributes", "tags"),
    *("currency", "presentment_currency", "exchange_rate", "taxes_included"),
)
# The columns of a line item that are copied from its line of the draft order.
LINE_COLUMNS = (
    *("variant_id", "product_id", "title", "variant_title", "name", "sku", "vendor", "grams", "price", "quantity"),
    *("properties", "requires_shipping", "taxable", "gift_card", "fulfillment_service"),
)
_TOTALS = (
    *("total_line_items_price", "total_discounts", "subtotal_price", "total_shipping_price", "total_tax"),
    *("total_price", "total_weight", "presentment_totals", "tax_lines"),
)
# The calculated columns of a draft order.
CALCULATED_COLUMNS = (*_TOTALS, "customer_tax_exempt", "discount_applications", "applied_discount", "shipping_line")


class DraftOrderRefused(DomainError):
    """Raised when the values of a draft order are invalid."""


class CodesRefused(DraftOrderRefused):
    """Raised when discount codes of a draft order do not apply."""

    def __init__(self, refused: Mapping[str, Message]) -> None:
        self.reasons = {code: CODE_REFUSED(code=code, reason=[reason]) for code, reason in refused.items()}
        super().__init__({"discount_codes": list(self.reasons.values())})


def calculate_draft(draft: DraftOrder, lines: Sequence[DraftOrderLine], *, at: datetime) -> None:
    """Set the calculated columns of a draft order and of its lines, without saving them.

    The taxes are those of the shipping address or, without one, of the billing address or of the shop.

    Raises:
        DraftOrderRefused: Values are invalid, or amounts are too large.
        CodesRefused: Discount codes do not apply.
    """
    draft.customer_tax_exempt = draft.customer is not None and draft.customer.tax_exempt
    _set_discounts(draft, lines)
    _apply_codes(draft, lines, at=at)
    _set_taxes(draft, lines)
    calculated = build_draft(draft, lines, at=at)
    order, shipping = calculated.order, calculated.shipping
    for name in _TOTALS:
        setattr(draft, name, getattr(order, name))
    draft.discount_applications = order.discount_applications
    for line, item in zip(lines, calculated.lines, strict=True):
        line.discount, line.tax, line.tax_lines = item.discount, item.tax, item.tax_lines
        line.discount_allocations = item.discount_allocations
    if draft.shipping_line is not None:
        calculated_columns = {name: getattr(shipping[0], name) for name in ("tax_lines", "discount_allocations")}
        draft.shipping_line = {**draft.shipping_line, **calculated_columns}


def build_draft(draft: DraftOrder, lines: Sequence[DraftOrderLine], *, at: datetime) -> OrderDraft:
    """Return the unsaved order with all amounts that the completion of a draft order would create.

    Raises:
        DraftOrderRefused: Values are invalid, or amounts are too large.
    """
    attrs, parts = get_order_input(draft, lines)
    try:
        return build_order(attrs, parts, app=draft.app, at=at)
    except OrderRefused as error:
        raise DraftOrderRefused(rename_fields(error.errors)) from None


def rename_fields(errors: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the errors of an order with the fields of its draft order, which has only one shipping line."""
    return {name.replace("shipping_lines.0", "shipping_line"): messages for name, messages in errors.items()}


def get_order_input(draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> tuple[Attrs, OrderParts]:
    """Return the input of ``orders.create.drafts.build_order`` for the stored values of a calculated draft order."""
    attrs = {name: getattr(draft, name) for name in _ORDER_COLUMNS}
    attrs |= {"tax_exempt": draft.is_tax_exempt, "source_name": SOURCE_NAME}
    parts = OrderParts(
        lines=[
            {**{name: getattr(line, name) for name in LINE_COLUMNS}, **_parse_amounts(vars(line))} for line in lines
        ],
        shipping=[] if draft.shipping_line is None else [_get_shipping(draft.shipping_line)],
        customer={"id": draft.customer_id} if draft.customer_id else None,
        applications=draft.discount_applications,
        codes=[_build_code(row) for row in draft.discount_applications if row["type"] == "discount_code"],
    )
    return attrs, parts


def _build_code(application: ReadOnlyAttrs) -> Attrs:
    """Return a code in the format of ``OrderParts``. The amount follows from the allocations of the application."""
    is_shipping = application["target_type"] == "shipping_line"
    return {
        "code": application["code"],
        "amount": ZERO,
        "type": "shipping" if is_shipping else application["value_type"],
    }


def _get_shipping(row: ReadOnlyAttrs) -> Attrs:
    code = row.get("handle") or row["title"]
    return {"title": row["title"], "code": code, "price": Decimal(row["price"]), **_parse_amounts(row)}


def _parse_amounts(row: ReadOnlyAttrs) -> Attrs:
    """Return the stored taxes and discount allocations of a row as decimals. The taxes follow from their rates."""
    return {
        "tax_lines": [
            {"title": tax["title"], "rate": Decimal(tax["rate"]), "price": None} for tax in row.get("tax_lines") or ()
        ],
        "discount_allocations": [
            {**allocation, "amount": Decimal(allocation["amount"])}
            for allocation in row.get("discount_allocations") or ()
        ],
    }


def _set_discounts(draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> None:
    """Set the manual discounts: first those of the lines, then the discount of the order on what remains."""
    draft.discount_applications = []
    for line in lines:
        line.discount, line.discount_allocations = ZERO, []
        if line.applied_discount:
            gross = line.gross_price
            amount = calculate_discount(line.applied_discount, gross, line.quantity, draft.currency)
            line.applied_discount = {**line.applied_discount, "amount": str(amount)}
            _allocate(line, amount, _add_application(draft, line.applied_discount, amount, is_line=True))
    if draft.shipping_line is not None:
        draft.shipping_line = {**draft.shipping_line, "discount_allocations": []}
    if draft.applied_discount:
        remaining = [line.net_price for line in lines]
        amount = calculate_discount(draft.applied_discount, sum(remaining, ZERO), 1, draft.currency)
        draft.applied_discount = {**draft.applied_discount, "amount": str(amount)}
        application = _add_application(draft, draft.applied_discount, amount, is_line=False)
        for line, part in zip(lines, split_amount(amount, remaining, draft.currency), strict=True):
            _allocate(line, part, application)


def calculate_discount(discount: ReadOnlyAttrs, price: Decimal, quantity: int, currency: str) -> Decimal:
    """Return the amount of a manual discount on ``price``. A fixed amount is per unit."""
    value = Decimal(discount["value"])
    if discount["value_type"] == PERCENTAGE:
        return round_money(price * value / 100, currency)
    return min(value * quantity, price)


def _add_application(draft: DraftOrder, discount: ReadOnlyAttrs, amount: Decimal, *, is_line: bool) -> int:
    """Add a manual discount application, and return the index that allocations refer to."""
    is_percentage = discount["value_type"] == PERCENTAGE
    application = {
        "type": "manual",
        "value_type": discount["value_type"],
        "value": discount["value"] if is_percentage else format_decimal(amount, draft.currency),
        "allocation_method": "one" if is_line else "across",
        "target_selection": "explicit" if is_line else "all",
        "target_type": "line_item",
        "title": discount["title"],
        "description": discount["description"],
    }
    draft.discount_applications = [*draft.discount_applications, application]
    return len(draft.discount_applications) - 1


def _allocate(line: DraftOrderLine, amount: Decimal, application: int) -> None:
    if amount:
        line.discount += amount
        allocation = {"amount": str(amount), "discount_application_index": application}
        line.discount_allocations = [*line.discount_allocations, allocation]


def _apply_codes(draft: DraftOrder, lines: Sequence[DraftOrderLine], *, at: datetime) -> None:
    """Apply the discount codes to the prices that remain after the manual discounts."""
    if not draft.discount_codes:
        return
    shipping = draft.shipping_line
    cart = Cart(
        currency=draft.currency,
        lines=[CartLine(line.quantity, line.price, line.product_id, line.variant_id, line.discount) for line in lines],
        shipping=[] if shipping is None else [CartShipping(Decimal(shipping["price"]))],
        customer=draft.customer,
        email=draft.recipient,
        country_code=_get_tax_region(draft)[0],
    )
    found = calculate_discounts(cart, draft.discount_codes, at=at)
    if found.refused:
        raise CodesRefused(found.refused)
    offset = len(draft.discount_applications)
    draft.discount_applications = [*draft.discount_applications, *found.applications]
    for line, allocations in zip(lines, found.line_allocations, strict=True):
        for row in allocations:
            _allocate(line, row["amount"], offset + row["discount_application_index"])
    if shipping is not None:
        shares = [
            {"amount": str(row["amount"]), "discount_application_index": offset + row["discount_application_index"]}
            for row in found.shipping_allocations[0]
        ]
        draft.shipping_line = {**shipping, "discount_allocations": shares}


def _set_taxes(draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> None:
    """Set the current tax rates on the taxable lines and on the shipping line. The prices are calculated later."""
    rates = TaxRates((), shipping_taxed=False) if draft.is_tax_exempt else get_tax_rates(*_get_tax_region(draft))
    taxes = [{"title": rate.title, "rate": format_plain(rate.rate)} for rate in rates.rates]
    for line in lines:
        line.tax_lines = taxes if line.taxable else []
    if draft.shipping_line is not None:
        draft.shipping_line = {**draft.shipping_line, "tax_lines": taxes if rates.shipping_taxed else []}


def _get_tax_region(draft: DraftOrder) -> tuple[str, str]:
    shop = get_current_shop()
    for address in (draft.shipping_address, draft.billing_address):
        if address and address.get("country_code"):
            return address["country_code"], address.get("province_code") or ""
    return shop.country_code, shop.province_code


def new_pricing_order(draft: DraftOrder) -> Order:
    """Return an unsaved order with the currencies of a draft order, to read catalog prices for it."""
    names = ("currency", "presentment_currency", "exchange_rate")
    return Order(**{name: getattr(draft, name) for name in names})
