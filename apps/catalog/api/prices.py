"""Prices in the currencies that a shop shows them in: shown with every variant, narrowed by lists, fixed by bodies."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework import serializers

from apps.api.context import Context
from apps.api.errors import BadRequest
from apps.api.resources.fields import ApiField
from apps.api.resources.fields.values import DecimalField
from apps.api.resources.filters import ApiFilter
from apps.api.resources.members import check_objects
from apps.api.shapes import Attrs, Data, Errors, Shown
from apps.api.viewsets import ShopViewSet
from apps.catalog.domain.price_tags import Fixed, fixed, tag_in
from apps.ground.money import fits, is_currency, text_of
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST
from apps.ground.rows import ShopOwned
from apps.ground.tenancy import current_shop
from apps.shops.domain.presentment import MOST, presentment_of

M = TypeVar("M", bound=ShopOwned)
FILTER = "presentment_currencies"
_PRICE = DecimalField(max_digits=15, decimal_places=3, allow_null=True)


def shown_prices(
    context: Context, price: Decimal, compare_at: Decimal | None, kept: Mapping[str, Fixed] | None
) -> list[Shown]:
    """The prices in the shop's currency and in those that it shows prices in; of these, the ones asked for."""
    own = context.shop.currency
    shown: list[Shown] = []
    if context.currencies is None or own in context.currencies:
        compared = None if compare_at is None else {"amount": text_of(compare_at, own), "currency_code": own}
        mine = {"amount": text_of(price, own), "currency_code": own}
        shown.append({"price": mine, "compare_at_price": compared})
    for each in context.presentments:
        tag = tag_in(each, price, compare_at, kept)
        if tag is not None:
            code = each.currency
            compared = None if tag[1] is None else {"amount": text_of(tag[1], code), "currency_code": code}
            shown.append(
                {"price": {"amount": text_of(tag[0], code), "currency_code": code}, "compare_at_price": compared}
            )
    return shown


class CurrenciesFilter(ApiFilter):
    """The currencies, separated by commas, that prices are shown in; it hides no row."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """All of them."""
        return qs


class ShowsPrices(ShopViewSet[M]):
    """Lists take ``presentment_currencies``."""

    currencies: frozenset[str] | None = None

    @property
    def context(self) -> Context:
        """With the currencies that were asked for."""
        return Context(self.shop, self.version, self.currencies)

    def filtered(self, filters: Mapping[str, str]) -> QuerySet[M] | type[M]:
        """The rows that fit; the currencies only say what is shown of them."""
        rest = dict(filters)
        asked = rest.pop(FILTER, None)
        if asked is not None:
            codes = frozenset(code.strip().upper() for code in asked.split(","))
            if len(codes) > MOST or not all(map(is_currency, codes)):
                raise BadRequest({FILTER: NOT_IN_LIST})
            self.currencies = codes
        return super().filtered(rest)


class FixedPricesField(ApiField):
    """Prices to be fixed: a currency each with its price, or with null to let it be converted again."""

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
        """Taken only: what they come to is shown as ``presentment_prices``."""
        super().__init__(write_only=True, required=False)

    def to_internal_value(self, data: object) -> dict[str, Fixed | None]:
        """The changes by currency."""
        found: dict[str, Fixed | None] = {}
        for row in check_objects(data, MOST, self._check):
            if row["currency"] in found:
                self.fail("invalid")
            found[row["currency"]] = row["fixed"]
        return found

    def _check(self, item: Data) -> tuple[Attrs, Errors]:
        code, errors = item.get("currency_code"), Errors()
        if not isinstance(code, str) or presentment_of(current_shop(), code) is None:
            return {}, {"currency_code": [NOT_IN_LIST if code else BLANK]}
        amounts: dict[str, Any] = {}
        for name in ("price", "compare_at_price"):
            try:
                amounts[name] = _PRICE.run_validation(item.get(name))
            except serializers.ValidationError as refused:
                errors[name] = [str(detail) for detail in refused.detail]
            else:
                if amounts[name] is not None and not fits(amounts[name], code):
                    errors[name] = [INVALID]
        if not errors and "price" not in item:
            errors["price"] = [BLANK]
        if errors:
            return {}, errors
        price, compare_at = amounts["price"], amounts["compare_at_price"]
        return {"currency": code, "fixed": None if price is None else fixed(price, compare_at, code)}, {}
