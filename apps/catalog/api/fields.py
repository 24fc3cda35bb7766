"""Fields that only the catalog has: exact weights, handles, limited HTML."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Unpack

from django.conf import settings
from rest_framework import serializers
from rest_framework.fields import empty

from apps.api.resources.fields import ApiField, DecimalField, Render, TextField
from apps.api.resources.fields.options import DecimalOptions, TextOptions
from apps.ground.handles import MAX_LENGTH, as_handle
from apps.ground.markup import refusal_of


class WeightField(DecimalField):
    """A weight, read exactly and shown as a number."""

    schema = {"type": "number"}

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        """As wide as the column of weights."""
        options = {"max_digits": 15, "decimal_places": 6, "required": False, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        """The weight, below a million tons in any unit."""
        value = super().to_internal_value(data)
        if value >= 10**9:
            self.fail("invalid")
        return value

    def reader(self) -> Render:
        """As a JSON number."""
        return lambda _context, value: float(value)


class SkuField(TextField):
    """The article number, kept with the inventory item; null where there is none."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """It may be absent and empty."""
        options = {"max_length": 255, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """None is empty."""
        return super().run_validation("" if data is None else data)

    def reader(self) -> Render:
        """Null for none."""
        return lambda _context, value: value or None


class ManagementField(TextField):
    """Who counts the stock: this product, under the name of its brand, or nobody (null)."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """It may be absent and empty."""
        options = {"max_length": 255, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Whether the stock is counted."""
        if data is None:
            return False
        return bool(super().run_validation(data))

    def reader(self) -> Render:
        """The brand, or null."""
        return lambda _context, tracked: settings.BRAND if tracked else None


class HandleField(TextField):
    """A handle as sent, brought into the form that handles have; blank means that the title makes one."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """It may be absent and empty."""
        options = {"max_length": MAX_LENGTH, "required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """None is empty."""
        return super().run_validation("" if data is None else data)

    def to_internal_value(self, data: object) -> str:
        """In lower case, with hyphens."""
        return as_handle(super().to_internal_value(data))


class HtmlField(TextField):
    """A description with HTML, kept as sent; as large as can be cleaned in time wherever it is shown."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """It may be absent, empty and null."""
        options = {"required": False, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        """The text, if it is small enough."""
        text = super().to_internal_value(data)
        if refusal := refusal_of(text):
            raise serializers.ValidationError(refusal)
        return text


class IdsField(ApiField, serializers.JSONField):
    """A list of ids in a body."""

    schema = {"type": "array", "items": {"type": "integer"}}

    MAX = 2048
    _DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)

    def to_internal_value(self, data: object) -> list[int]:
        """The ids, as numbers or as plain digits."""
        if not isinstance(data, list) or len(data) > self.MAX:
            self.fail("invalid")
        ids = [read_id(item) for item in data]
        if None in ids:
            self.fail("invalid")
        return [pk for pk in ids if pk is not None]


def read_id(value: object) -> int | None:
    """An id in a body: a positive 64-bit number, or its plain digits; None where it is neither."""
    if isinstance(value, str) and IdsField._DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63:
        return None
    return value


def texts_in(value: object, *, max_length: int = 255) -> Sequence[str] | None:
    """A list of texts in a body; None where it is no such list."""
    if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
        return None
    texts = [str(item) for item in value if not isinstance(item, bool)]
    return texts if len(texts) == len(value) and all(0 < len(text) <= max_length for text in texts) else None
