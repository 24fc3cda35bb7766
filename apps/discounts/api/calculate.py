"""The route that calculates the discounts of a cart."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from apps.catalog.domain.presentment_prices import get_price_in_currency
from apps.catalog.models import Variant
from apps.core.i18n.error_messages import BLANK, INVALID, MUST_EXIST, at_most
from apps.core.money import MAX_AMOUNT, ZERO, format_decimal, has_valid_precision, is_currency
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.requests.views import ApiView
from apps.core.rest.resources.fields import ApiField, EmailField, IntegerField, TextField
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField, ValueListField, validate_members
from apps.core.types import Attrs, Errors, ReadOnlyAttrs, Rendered, Schema
from apps.customers.models import Customer
from apps.discounts.api.fields import DECIMAL, amount_member
from apps.discounts.domain.calculation import CalculatedDiscounts, Cart, CartLine, CartShipping, calculate_discounts
from apps.discounts.models.codes import MAX_CODE

MAX_LINES, MAX_SHIPPING_LINES, MAX_CODES = 500, 25, 25
_ID: dict[str, Any] = {"required": False, "allow_null": True, "min_value": 1}
_BODY: dict[str, ApiField] = {
    "currency": TextField(max_length=3, required=False, allow_null=True),
    "line_items": ObjectListField(
        {
            "variant_id": IntegerField(**_ID),
            "product_id": IntegerField(**_ID),
            "quantity": IntegerField(min_value=1, max_value=10**6),
            "price": amount_member(),
            "total_discount": amount_member(),
        },
        most=MAX_LINES,
        required=True,
        allow_null=False,
    ),
    "shipping_lines": ObjectListField({"price": amount_member()}, most=MAX_SHIPPING_LINES),
    "discount_codes": ValueListField(TextField(max_length=MAX_CODE), most=MAX_CODES, required=True, allow_null=False),
    "customer": ObjectField({"id": IntegerField(min_value=1)}),
    "email": EmailField(required=False, allow_null=True, allow_blank=True, max_length=255),
    "country_code": TextField(max_length=2, required=False, allow_null=True, allow_blank=True),
}
_ALLOCATIONS: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"amount": DECIMAL, "discount_application_index": {"type": "integer"}},
    },
}
_LINE: Schema = {"type": "object", "properties": {"price": DECIMAL, "discount_allocations": _ALLOCATIONS}}
_TEXT: Schema = {"type": "string"}
_APPLICATION_NAMES = (
    *("type", "code", "title", "description", "value_type", "allocation_method", "target_selection", "target_type"),
)
_RESPONSE: Schema = {
    "type": "object",
    "required": ["discount_calculation"],
    "properties": {
        "discount_calculation": {
            "type": "object",
            "properties": {
                "currency": _TEXT,
                "discount_applications": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"value": DECIMAL, **dict.fromkeys(_APPLICATION_NAMES, _TEXT)},
                    },
                },
                "line_items": {"type": "array", "items": _LINE},
                "shipping_lines": {"type": "array", "items": _LINE},
                "subtotal_price": DECIMAL,
                "total_discounts": DECIMAL,
                "total_price": DECIMAL,
                "refused_codes": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"code": _TEXT, "reason": _TEXT}},
                },
            },
        }
    },
}


class CalculationViewSet(ApiView):
    """The calculation of discounts."""

    plural = "discount_codes"
    request_bodies = {"calculate": _BODY}
    responses = {"calculate": _RESPONSE}

    def get_scopes(self, method: str) -> tuple[str, ...]:
        return "write_price_rules", "write_discounts"

    def calculate(self, request: Request, **_: int) -> HttpResponse:
        """Calculate the discounts of a cart, without creating an order."""
        attrs = validate_members(_BODY, self.body)
        cart = _CartParser(attrs, (attrs.get("currency") or self.shop.currency).upper()).parse()
        result = calculate_discounts(cart, attrs["discount_codes"], at=self.at)
        return self.json_response({"discount_calculation": _render(cart, result)})


class _CartParser:
    """Builds a cart from a validated body. All errors are reported together."""

    def __init__(self, attrs: ReadOnlyAttrs, currency: str) -> None:
        self.attrs = attrs
        self.currency = currency
        self.errors: Errors = {}

    def parse(self) -> Cart:
        if not is_currency(self.currency):
            raise Unprocessable({"currency": [INVALID]})
        lines = self._parse_lines(self.attrs["line_items"])
        shipping = [
            CartShipping(self._check(f"shipping_lines.{index}.price", line.get("price")))
            for index, line in enumerate(self.attrs.get("shipping_lines") or ())
        ]
        customer = self._find_customer()
        if self.errors:
            raise Unprocessable(self.errors)
        email, country = self.attrs.get("email") or "", self.attrs.get("country_code") or ""
        return Cart(self.currency, lines, shipping, customer, email, country)

    def _parse_lines(self, entries: Sequence[ReadOnlyAttrs]) -> list[CartLine]:
        ids = {entry["variant_id"] for entry in entries if entry.get("variant_id")}
        variants = Variant.objects.in_bulk(ids)
        return [self._parse_line(f"line_items.{index}", entry, variants) for index, entry in enumerate(entries)]

    def _parse_line(self, path: str, entry: ReadOnlyAttrs, variants: Mapping[int, Variant]) -> CartLine:
        variant_id, price = entry.get("variant_id"), entry.get("price")
        variant = variants.get(variant_id or 0)
        if variant_id and variant is None:
            self.errors[f"{path}.variant_id"] = [MUST_EXIST]
        elif price is None and variant is not None:
            price = get_price_in_currency(variant, variant.shop, self.currency)
        price = self._check(f"{path}.price", price)
        discount = self._check(f"{path}.total_discount", entry.get("total_discount") or ZERO)
        quantity = entry["quantity"]
        if discount > price * quantity:
            self.errors.setdefault(f"{path}.total_discount", [at_most(price * quantity)])
        product_id = variant.product_id if variant is not None else entry.get("product_id")
        return CartLine(quantity, price, product_id, variant_id, discount)

    def _check(self, path: str, amount: Decimal | None) -> Decimal:
        if amount is None:
            self.errors.setdefault(path, [BLANK])
        elif amount >= MAX_AMOUNT or not has_valid_precision(amount, self.currency):
            self.errors.setdefault(path, [INVALID])
        return amount or ZERO

    def _find_customer(self) -> Customer | None:
        pk = (self.attrs.get("customer") or {}).get("id")
        customer = Customer.objects.filter(pk=pk).first() if pk is not None else None
        if pk is not None and customer is None:
            self.errors["customer.id"] = [MUST_EXIST]
        return customer


def _render(cart: Cart, result: CalculatedDiscounts) -> Rendered:
    currency = cart.currency
    subtotal = sum((line.price * line.quantity - line.discount for line in cart.lines), ZERO)
    gross = subtotal + sum((line.price for line in cart.shipping), ZERO)
    allocations = [*result.line_allocations, *result.shipping_allocations]
    total = sum((entry["amount"] for line in allocations for entry in line), ZERO)
    return {
        "currency": currency,
        "discount_applications": list(result.applications),
        "line_items": _render_lines([line.price for line in cart.lines], result.line_allocations, currency),
        "shipping_lines": _render_lines([line.price for line in cart.shipping], result.shipping_allocations, currency),
        "subtotal_price": format_decimal(subtotal, currency),
        "total_discounts": format_decimal(total, currency),
        "total_price": format_decimal(gross - total, currency),
        "refused_codes": [{"code": code, "reason": str(reason)} for code, reason in result.refused.items()],
    }


def _render_lines(prices: Sequence[Decimal], allocations: Sequence[Sequence[Attrs]], currency: str) -> list[Rendered]:
    return [
        {
            "price": format_decimal(price, currency),
            "discount_allocations": [
                {**entry, "amount": format_decimal(entry["amount"], currency)} for entry in entries
            ],
        }
        for price, entries in zip(prices, allocations, strict=True)
    ]
