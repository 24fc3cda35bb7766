"""Serializer fields for the catalog: weights, SKUs, handles, limited HTML and lists of ids."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Unpack

from django.conf import settings
from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.handles import MAX_LENGTH, slugify_text
from apps.core.rest.resources.fields import ApiField, DecimalField, Render, TextField
from apps.core.rest.resources.fields.base import DecimalOptions, InvalidValue, TextOptions
from apps.core.sanitizing import find_html_error


class WeightField(DecimalField):
    """A weight, parsed exactly and rendered as a JSON number."""

    schema = {"type": "number"}

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        """Set the precision of the weight column."""
        options = {"max_digits": 15, "decimal_places": 6, "required": False, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        """Parse the weight and reject weights of one billion or more."""
        value = super().to_internal_value(data)
        if value >= 10**9:
            self.fail("invalid")
        return value

    def get_renderer(self) -> Render:
        """Return a function that renders the weight as a JSON number."""
        return lambda _context, value: float(value)


class SkuField(TextField):
    """A SKU, which is stored on the inventory item. An empty SKU is rendered as null."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Allow missing, null and empty values."""
        options = {"max_length": 255, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Validate the SKU. Null is treated as an empty string."""
        return super().run_validation("" if data is None else data)

    def get_renderer(self) -> Render:
        """Return a function that renders an empty SKU as null."""
        return lambda _context, value: value or None


class ManagementField(TextField):
    """A variant's inventory management: ``settings.BRAND`` if the inventory is tracked, otherwise null."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Allow missing, null and empty values."""
        options = {"max_length": 255, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Return True if the value is not empty, which means that the inventory is tracked."""
        if data is None:
            return False
        return bool(super().run_validation(data))

    def get_renderer(self) -> Render:
        """Return a function that renders ``settings.BRAND`` if the inventory is tracked, otherwise null."""
        return lambda _context, tracked: settings.BRAND if tracked else None


class HandleField(TextField):
    """A normalized handle. If the value is blank, the handle is derived from the title."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Allow missing, null and empty values."""
        options = {"max_length": MAX_LENGTH, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Validate the handle. Null is treated as an empty string."""
        return super().run_validation("" if data is None else data)

    def to_internal_value(self, data: object) -> str:
        """Convert the handle to lower case with hyphens."""
        return slugify_text(super().to_internal_value(data))


class HtmlField(TextField):
    """An HTML description, stored as sent. The size is limited so that sanitizing is fast."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Allow missing, null and empty values."""
        options = {"required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        """Return the HTML if it is small enough."""
        text = super().to_internal_value(data)
        if error := find_html_error(text):
            raise InvalidValue(error)
        return text


class IdsField(ApiField, serializers.JSONField):
    """A list of ids."""

    schema = {"type": "array", "items": {"type": "integer"}}

    MAX = 2048
    _DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)

    def to_internal_value(self, data: object) -> list[int]:
        """Parse a list of ids. Each id may be a number or a string of digits."""
        if not isinstance(data, list) or len(data) > self.MAX:
            self.fail("invalid")
        ids = [parse_id(item) for item in data]
        if None in ids:
            self.fail("invalid")
        return [pk for pk in ids if pk is not None]


def parse_id(value: object) -> int | None:
    """Parse a positive 64-bit id, sent as a number or a string of digits. Return None if the id is invalid."""
    if isinstance(value, str) and IdsField._DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        return None
    return value


def parse_texts(value: object, *, max_length: int = 255) -> Sequence[str] | None:
    """Parse a list of strings. Return None if the list or a string is invalid."""
    if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
        return None
    texts = [str(item) for item in value if not isinstance(item, bool)]
    return texts if len(texts) == len(value) and all(0 < len(text) <= max_length for text in texts) else None
