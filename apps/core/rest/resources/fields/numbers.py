"""Whole numbers, decimals and amounts."""

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import ClassVar, Unpack

from rest_framework import serializers

from apps.core.i18n.error_messages import at_least
from apps.core.money import format_decimal, has_valid_precision
from apps.core.numbers.exact import parse_whole_number, trim_decimals, write_digits
from apps.core.rest.resources.fields.base import ApiField, FieldOptions, InvalidValue, Render
from apps.core.tenancy.scope import get_current_shop


class DecimalOptions(FieldOptions, total=False):
    max_digits: int
    decimal_places: int
    min_value: object
    max_value: object


_DECIMAL = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,30})?", re.ASCII)


class IntegerField(ApiField, serializers.IntegerField):
    """A whole number of at most 64 bits, as a JSON number or as plain digits. ``3.0`` is accepted as 3."""

    def to_internal_value(self, data: object) -> int:
        number = parse_whole_number(data)
        if number is None or not -(2**63) <= number < 2**63:
            self.fail("invalid")
            raise AssertionError("fail raises")
        return number


class FloatField(ApiField, serializers.FloatField):
    """A decimal number, such as a weight or a latitude."""

    def to_internal_value(self, data: object) -> float:
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        if isinstance(data, Decimal) and abs(data.adjusted()) > 30:
            self.fail("invalid")
        text = format(data, "f") if isinstance(data, Decimal) else str(data)
        if not _DECIMAL.fullmatch(text):
            self.fail("invalid")
        return float(text)


class DecimalField(ApiField, serializers.DecimalField):
    """A decimal of at least 0, accepted as plain digits and rendered as a string with a fixed number of decimals.

    Signs, exponents, spaces and non-ASCII digits are rejected. Zeros after the last decimal are removed. A number with
    more decimals is rejected, because it would lose value, unless ``rounds`` is true.
    """

    rounds: ClassVar[bool] = False
    _PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,40})?", re.ASCII)

    def to_internal_value(self, data: object) -> Decimal:
        text = write_digits(data)
        if text is None or not self._PLAIN.fullmatch(text.removeprefix("-")):
            self.fail("invalid")
            raise AssertionError("fail raises")
        places = self.decimal_places or 0
        digits = trim_decimals(text, places)
        if digits is None and not self.rounds:
            self.fail("invalid")
        number = Decimal(digits or text)
        if number < 0:
            raise InvalidValue(at_least(0))
        if text.startswith("-"):
            self.fail("invalid")
        return number if digits else number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)

    def get_renderer(self) -> Render:
        quantum = Decimal(1).scaleb(-(self.decimal_places or 0))
        return lambda _context, value: None if value is None else str(value.quantize(quantum))


class PriceField(DecimalField):
    """An amount in the shop currency, with at most as many decimals as the currency has."""

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        options = {"max_digits": 15, "decimal_places": 3, "required": False, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        value = super().to_internal_value(data)
        if not has_valid_precision(value, get_current_shop().currency):
            self.fail("invalid")
        return value

    def get_renderer(self) -> Render:
        return lambda context, value: None if value is None else format_decimal(value, context.shop.currency)
