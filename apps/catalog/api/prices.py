"""Presentment prices of variants: render prices, filter the currencies of responses, and parse fixed prices."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework import serializers

from apps.catalog.domain.presentment_prices import FixedPrice, build_fixed_price, get_prices_in_currency
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST
from apps.core.money import format_decimal, has_valid_precision, is_currency
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ApiField, DecimalField
from apps.core.rest.resources.filters import ApiFilter
from apps.core.rest.resources.nested_objects import check_objects
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.currency_conversion import MAX_CURRENCIES, find_presentment
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, Errors, Rendered, RequestData

M = TypeVar("M", bound=ShopOwned)
FILTER = "presentment_currencies"
_PRICE = DecimalField(max_digits=15, decimal_places=3, allow_null=True)


def render_presentment_prices(
    context: RenderContext, price: Decimal, compare_at: Decimal | None, fixed_prices: Mapping[str, FixedPrice] | None
) -> list[Rendered]:
    shop_currency = context.shop.currency
    prices: list[Rendered] = []
    if context.currencies is None or shop_currency in context.currencies:
        prices.append(_render_prices(price, compare_at, shop_currency))
    prices += [
        _render_prices(*tag, presentment.currency)
        for presentment in context.presentments
        if (tag := get_prices_in_currency(presentment, price, compare_at, fixed_prices))
    ]
    return prices


def _render_prices(price: Decimal, compare_at: Decimal | None, currency: str) -> Rendered:
    def render(amount: Decimal) -> Rendered:
        return {"amount": format_decimal(amount, currency), "currency_code": currency}

    return {"price": render(price), "compare_at_price": None if compare_at is None else render(compare_at)}


class CurrenciesFilter(ApiFilter):
    """Query parameter with the currencies to render prices in, separated by commas. It never excludes rows."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs


class PresentmentPricesViewSet(ShopViewSet[M]):
    currencies: frozenset[str] | None = None

    @property
    def context(self) -> RenderContext:
        return RenderContext(self.shop, self.version, self.currencies)

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[M] | type[M]:
        """Store the requested currencies for rendering, and filter the rows by the other parameters."""
        remaining = dict(filters)
        currencies = remaining.pop(FILTER, None)
        if currencies is not None:
            codes = frozenset(code.strip().upper() for code in currencies.split(","))
            if len(codes) > MAX_CURRENCIES or not all(map(is_currency, codes)):
                raise BadRequest({FILTER: NOT_IN_LIST})
            self.currencies = codes
        return super().filter_rows(remaining)


class FixedPricesField(ApiField):
    """Fixed prices in presentment currencies. A null price removes the fixed price."""

    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["currency_code", "price"],
            "properties": {
                "currency_code": {"type": "string"},
                "price": {"type": ["string", "null"], "format": "decimal"},
                "compare_at_price": {"type": ["string", "null"], "format": "decimal"},
            },
        },
    }

    def __init__(self) -> None:
        super().__init__(write_only=True, required=False)

    def to_internal_value(self, data: object) -> dict[str, FixedPrice | None]:
        changes: dict[str, FixedPrice | None] = {}
        for row in check_objects(data, MAX_CURRENCIES, self._check):
            if row["currency"] in changes:
                self.fail("invalid")
            changes[row["currency"]] = row["fixed"]
        return changes

    def _check(self, item: RequestData) -> tuple[Attrs, Errors]:
        code, errors = item.get("currency_code"), Errors()
        if not isinstance(code, str) or find_presentment(get_current_shop(), code) is None:
            return {}, {"currency_code": [NOT_IN_LIST if code else BLANK]}
        amounts: dict[str, Any] = {}
        for name in ("price", "compare_at_price"):
            try:
                amounts[name] = _PRICE.run_validation(item.get(name))
            except serializers.ValidationError as error:
                errors[name] = [str(detail) for detail in error.detail]
            else:
                if amounts[name] is not None and not has_valid_precision(amounts[name], code):
                    errors[name] = [INVALID]
        if not errors and "price" not in item:
            errors["price"] = [BLANK]
        if errors:
            return {}, errors
        price, compare_at = amounts["price"], amounts["compare_at_price"]
        return {"currency": code, "fixed": None if price is None else build_fixed_price(price, compare_at, code)}, {}
