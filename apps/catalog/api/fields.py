"""Serializer fields for the catalog: weights, SKUs, handles, limited HTML and lists of ids."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar, Unpack

from rest_framework import serializers
from rest_framework.fields import empty

from apps.catalog.domain.fulfillment_service_choices import get_inventory_management
from apps.catalog.domain.weights import to_grams
from apps.core.handles import MAX_LENGTH, normalize_handle
from apps.core.numbers.exact import parse_whole_number, write_digits
from apps.core.rest.resources.fields import (
    ApiField,
    DecimalField,
    DecimalOptions,
    IntegerField,
    InvalidValue,
    Render,
    TextField,
    TextOptions,
)
from apps.core.sanitizing import find_html_error
from apps.core.tenancy.models import Shop

_GRAMS = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,40})?", re.ASCII)


class WeightField(DecimalField):
    """A weight of less than one billion, rounded to six decimals and rendered as a JSON number."""

    schema = {"type": "number"}
    rounds = True

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        options = {"max_digits": 15, "decimal_places": 6, "required": False, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        value = super().to_internal_value(data)
        if value >= 10**9:
            self.fail("invalid")
        return value

    def get_renderer(self) -> Render:
        return lambda _context, value: float(value)


class GramsField(IntegerField):
    """A weight in grams, rounded half up to whole grams."""

    def to_internal_value(self, data: object) -> int:
        digits = write_digits(data)
        match = _GRAMS.fullmatch(digits) if digits else None
        return super().to_internal_value(to_grams(Decimal(match[0]), Shop.WeightUnit.GRAM) if match else data)


class _OptionalTextField(TextField):
    """A string that may be missing, null or empty."""

    longest: ClassVar[int | None] = 255

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options = {"max_length": self.longest, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)


class SkuField(_OptionalTextField):
    """A SKU, which is stored on the inventory item. An empty SKU is rendered as null."""

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation("" if data is None else data)

    def get_renderer(self) -> Render:
        return lambda _context, value: value or None


class ManagementField(_OptionalTextField):
    """A variant's inventory management: who tracks the inventory, or null if it is not tracked.

    The value is the handle of the variant's fulfillment service, or ``settings.BRAND``.
    """

    def get_columns(self) -> tuple[str, ...]:
        return (*super().get_columns(), "fulfillment_service")

    def run_validation(self, data: object = empty) -> object:
        return data is not None and bool(super().run_validation(data))

    def get_renderer(self) -> Render:
        return lambda _context, tracked, service: get_inventory_management(tracked=tracked, service=service)


class HandleField(_OptionalTextField):
    """A handle, kept if a URL can contain it. If the value is blank, the handle is derived from the title."""

    longest = MAX_LENGTH

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation("" if data is None else data)

    def to_internal_value(self, data: object) -> str:
        return normalize_handle(super().to_internal_value(data))


class HtmlField(_OptionalTextField):
    """An HTML description, stored as sent. The size is limited so that sanitizing is fast."""

    longest = None

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if error := find_html_error(text):
            raise InvalidValue(error)
        return text


class IdsField(ApiField, serializers.JSONField):
    schema = {"type": "array", "items": {"type": "integer"}}

    MAX = 2048

    def to_internal_value(self, data: object) -> list[int]:
        if not isinstance(data, list) or len(data) > self.MAX:
            self.fail("invalid")
        ids = [pk for pk in map(parse_id, data) if pk is not None]
        if len(ids) < len(data):
            self.fail("invalid")
        return ids


def parse_id(value: object) -> int | None:
    """Parse a positive 64-bit id, sent as a number or a string of digits. Return None if the id is invalid."""
    number = parse_whole_number(value)
    return number if number is not None and 0 < number < 2**63 else None


def parse_texts(value: object, *, max_length: int = 255) -> Sequence[str] | None:
    """Parse a list of strings or numbers. Return None if the list or an item is invalid."""
    if not isinstance(value, list) or any(isinstance(item, bool) or not isinstance(item, str | int) for item in value):
        return None
    texts = [str(item) for item in value]
    return texts if all(0 < len(text) <= max_length for text in texts) else None
