"""Fields that hold one value: checked on the way in, shown with their column on the way out."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar, Unpack

from django.core.validators import EmailValidator, URLValidator
from rest_framework import serializers
from rest_framework.fields import empty

from apps.api.context import Context
from apps.api.resources.fields.base import ApiField, Render
from apps.api.resources.fields.options import FieldOptions, TextOptions
from apps.api.shapes import Schema
from apps.ground.dates import NotADate, parse_moment
from apps.ground.phrases import INVALID, at_least
from apps.ground.tags import canonical, fault_of
from apps.ground.tenancy import current_shop

_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,6})?", re.ASCII)


class TextField(ApiField, serializers.CharField):
    """Text, kept byte for byte; numbers are taken as their digits."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Like a character field that trims nothing."""
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Blank text is none where none is allowed; white space alone is blank where there must be a text."""
        if data == "" and not self.allow_blank and self.allow_null:
            return None
        if isinstance(data, str) and not (self.allow_blank or self.allow_null or data.strip()):
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: object) -> str:
        """A text, or a number as text."""
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        if isinstance(data, Decimal) and abs(data.adjusted()) > 30:
            self.fail("invalid")
        return str(data)


class EmailField(TextField):
    """An e-mail address."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Check the address's form."""
        super().__init__(**options)
        self.validators.append(EmailValidator(message=INVALID))


class UrlField(TextField):
    """An absolute URL."""

    def __init__(self, *, schemes: Sequence[str] = ("http", "https"), **options: Unpack[TextOptions]) -> None:
        """Check the URL's form."""
        super().__init__(**options)
        self.validators.append(URLValidator(schemes=list(schemes), message=INVALID))

    def to_internal_value(self, data: object) -> str:
        """The URL, its scheme in small letters, in which browsers read and the database compares it."""
        scheme, colon, rest = super().to_internal_value(data).partition(":")
        return f"{scheme.lower()}{colon}{rest}" if colon else scheme


class ChoiceField(ApiField, serializers.ChoiceField):
    """One word of a list."""

    def to_internal_value(self, data: object) -> str:
        """The word itself; anything but a text is no choice."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return str(super().to_internal_value(data))


class IntegerField(ApiField, serializers.IntegerField):
    """A whole number of at most 64 bits, as a JSON number or as plain digits."""

    def to_internal_value(self, data: object) -> int:
        """The number."""
        if isinstance(data, str) and _INTEGER.fullmatch(data):
            data = int(data)
        if isinstance(data, bool) or not isinstance(data, int) or not -(2**63) <= data < 2**63:
            self.fail("invalid")
        return int(data)


class FloatField(ApiField, serializers.FloatField):
    """A number with a point, such as a weight or a latitude."""

    def to_internal_value(self, data: object) -> float:
        """The number, from exact digits."""
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        if isinstance(data, Decimal) and abs(data.adjusted()) > 30:
            self.fail("invalid")
        text = format(data, "f") if isinstance(data, Decimal) else str(data)
        if not _DECIMAL.fullmatch(text) and not re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,30})?", text, re.ASCII):
            self.fail("invalid")
        return float(text)


class BooleanField(ApiField, serializers.BooleanField):
    """True or false; the words are taken as well, also as Python clients write them into a query."""

    WORDS: ClassVar[Mapping[str, bool]] = {
        "true": True,
        "True": True,
        "1": True,
        "false": False,
        "False": False,
        "0": False,
    }

    def to_internal_value(self, data: object) -> bool:
        """The truth value."""
        if isinstance(data, bool):
            return data
        if isinstance(data, str) and data in self.WORDS:
            return self.WORDS[data]
        self.fail("invalid")
        raise AssertionError("fail raises")


class PublishedField(BooleanField):
    """Whether something is published: shown by its moment, taken as a word that sets or takes the moment."""

    inline = "{0} is not None"

    def columns(self) -> tuple[str, ...]:
        """The moment."""
        return ("published_at",)


class DateTimeField(ApiField, serializers.DateTimeField):
    """A moment; shown in the shop's time zone, in whole seconds."""

    def to_internal_value(self, value: object) -> datetime:
        """The moment; one without an offset is in the shop's time zone."""
        if not isinstance(value, str):
            self.fail("invalid", format="ISO 8601")
        try:
            return parse_moment(value, current_shop().tzinfo)
        except NotADate:
            self.fail("invalid", format="ISO 8601")
        raise AssertionError("fail raises")

    def reader(self) -> Render:
        """In the shop's time zone."""
        return _render_moment


def _render_moment(context: Context, value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(context.tz).isoformat(timespec="seconds")


class DateField(ApiField, serializers.DateField):
    """A calendar date."""

    def to_internal_value(self, value: object) -> date:
        """The date, as ``YYYY-MM-DD``."""
        if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII):
            self.fail("invalid", format="YYYY-MM-DD")
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail("invalid", format="YYYY-MM-DD")
        raise AssertionError("fail raises")

    def reader(self) -> Render:
        """As ``YYYY-MM-DD``."""
        return lambda _context, value: None if value is None else value.isoformat()


class DecimalField(ApiField, serializers.DecimalField):
    """An exact number, shown as text with its decimals; taken as plain digits only.

    Negative numbers, exponents, signs, blanks and digits of other scripts are refused.
    """

    _PLAIN = re.compile(r"[0-9]{1,12}(?:\.([0-9]{1,6}))?", re.ASCII)

    def to_internal_value(self, data: object) -> Decimal:
        """The number."""
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        if isinstance(data, Decimal) and abs(data.adjusted()) > 20:
            self.fail("invalid")
        text = format(data, "f") if isinstance(data, Decimal) else str(data)
        match = self._PLAIN.fullmatch(text.removeprefix("-"))
        if match is None or len(match[1] or "") > (self.decimal_places or 0):
            self.fail("invalid")
        number = Decimal(text)
        if number < 0:
            raise serializers.ValidationError(at_least(0))
        if text.startswith("-"):
            self.fail("invalid")
        return number

    def reader(self) -> Render:
        """With the declared number of decimals."""
        quantum = Decimal(1).scaleb(-(self.decimal_places or 0))
        return lambda _context, value: None if value is None else str(value.quantize(quantum))


class JsonField(ApiField, serializers.JSONField):
    """A JSON value, stored and shown as it is; for columns that the domain checks or makes.

    Args:
        schema: Its JSON schema.
    """

    def __init__(self, *, schema: Schema | None = None, **options: Unpack[FieldOptions]) -> None:
        """Declare what it looks like."""
        super().__init__(**options)
        self.schema = schema


class TagsField(TextField):
    """Comma-separated tags: trimmed, once each ignoring case, sorted; at most 250 of at most 255 characters.

    A list of texts is taken as well. The value is the text as it is stored and shown.
    """

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Tags may be absent, and none."""
        options = {"required": False, "allow_blank": True, "allow_null": True, **options}
        options.pop("max_length", None)
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """No tags are an empty text."""
        return super().run_validation("" if data is None else data)

    def to_internal_value(self, data: object) -> str:
        """The canonical text."""
        if isinstance(data, list):
            if not all(isinstance(item, str) for item in data):
                self.fail("invalid")
            words = [word for item in data for word in item.split(",")]
        else:
            words = super().to_internal_value(data).split(",")
        tags = canonical(words)
        if fault := fault_of(tags):
            raise serializers.ValidationError(fault)
        return ", ".join(tags)
