"""Texts, choices, flags, times and JSON values."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar, Unpack

from django.core.validators import EmailValidator, URLValidator
from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.i18n.error_messages import INVALID
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields.base import ApiField, FieldOptions, InvalidValue, Render, TextOptions
from apps.core.tags import find_tag_error, normalize_tags
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import Schema


class TextField(ApiField, serializers.CharField):
    """A string that is stored unchanged. JSON numbers are accepted and stored as digits."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Convert an empty string to null if only null is allowed. Reject whitespace if a value is required."""
        if data == "" and not self.allow_blank and self.allow_null:
            return None
        if isinstance(data, str) and not (self.allow_blank or self.allow_null or data.strip()):
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: object) -> str:
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        if isinstance(data, Decimal) and abs(data.adjusted()) > 30:
            self.fail("invalid")
        return str(data)


class EmailField(TextField):
    """An email address."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        super().__init__(**options)
        self.validators.append(EmailValidator(message=INVALID))


class UrlField(TextField):
    """An absolute URL."""

    def __init__(self, *, schemes: Sequence[str] = ("http", "https"), **options: Unpack[TextOptions]) -> None:
        super().__init__(**options)
        self.validators.append(URLValidator(schemes=list(schemes), message=INVALID))

    def to_internal_value(self, data: object) -> str:
        """Convert the scheme to lowercase, as the database constraint requires."""
        scheme, colon, rest = super().to_internal_value(data).partition(":")
        return f"{scheme.lower()}{colon}{rest}" if colon else scheme


class ChoiceField(ApiField, serializers.ChoiceField):
    """A value from a fixed list."""

    def to_internal_value(self, data: object) -> str:
        """Accept only strings, because DRF also accepts numbers."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return str(super().to_internal_value(data))


class BooleanField(ApiField, serializers.BooleanField):
    """A boolean. Strings are also accepted, including ``True`` and ``False``, which Python clients send in queries."""

    WORDS: ClassVar[Mapping[str, bool]] = {
        "true": True,
        "True": True,
        "1": True,
        "false": False,
        "False": False,
        "0": False,
    }

    def to_internal_value(self, data: object) -> bool:
        if isinstance(data, bool):
            return data
        if isinstance(data, str) and data in self.WORDS:
            return self.WORDS[data]
        self.fail("invalid")
        raise AssertionError("fail raises")


class PublishedField(BooleanField):
    """A publication flag: true if ``published_at`` is set. Writing the flag sets or clears ``published_at``."""

    inline = "{0} is not None"

    def get_columns(self) -> tuple[str, ...]:
        return ("published_at",)


class DateTimeField(ApiField, serializers.DateTimeField):
    """A time, rendered in the shop's time zone without fractions of a second."""

    def to_internal_value(self, value: object) -> datetime:
        """Parse the time. A time without a UTC offset is in the shop's time zone."""
        if not isinstance(value, str):
            self.fail("invalid", format="ISO 8601")
        try:
            return parse_timestamp(value, get_current_shop().tzinfo)
        except InvalidDate:
            self.fail("invalid", format="ISO 8601")
        raise AssertionError("fail raises")

    def get_renderer(self) -> Render:
        return _render_moment


def _render_moment(context: RenderContext, value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(context.tz).isoformat(timespec="seconds")


class DateField(ApiField, serializers.DateField):
    """A calendar date."""

    def to_internal_value(self, value: object) -> date:
        if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII):
            self.fail("invalid", format="YYYY-MM-DD")
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail("invalid", format="YYYY-MM-DD")
        raise AssertionError("fail raises")

    def get_renderer(self) -> Render:
        return lambda _context, value: None if value is None else value.isoformat()


class JsonField(ApiField, serializers.JSONField):
    """A JSON value that is stored and rendered unchanged, for columns that domain code validates or computes."""

    def __init__(self, *, schema: Schema | None = None, **options: Unpack[FieldOptions]) -> None:
        super().__init__(**options)
        self.schema = schema


class TagsField(TextField):
    """Comma-separated tags, stored trimmed, sorted and without duplicates (ignoring case).

    At most 250 tags of at most 255 characters are allowed. Request bodies may also contain a list of strings.
    """

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options = {"required": False, "allow_blank": True, "allow_null": True, **options}
        options.pop("max_length", None)
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation("" if data is None else data)

    def to_internal_value(self, data: object) -> str:
        if isinstance(data, list):
            if not all(isinstance(item, str) for item in data):
                self.fail("invalid")
            words = [word for item in data for word in item.split(",")]
        else:
            words = super().to_internal_value(data).split(",")
        tags = normalize_tags(words)
        if fault := find_tag_error(tags):
            raise InvalidValue(fault)
        return ", ".join(tags)
