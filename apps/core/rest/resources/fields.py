"""Fields of resources, with strict validation and compiled rendering.

For input, a field validates one JSON value and raises the API's error messages. For output, a field names the
database columns and, unless the stored value is rendered unchanged, a function that renders the value.
``apps.core.rest.reading.query_plans`` compiles the fields into one function per resource and version, so reading a row
does not call field methods.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar, TypedDict, Unpack

from django.core.exceptions import ValidationError as ModelValidationError
from django.core.validators import EmailValidator, URLValidator
from django_stubs_ext import StrOrPromise
from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, at_least, at_most, too_long, too_short
from apps.core.i18n.messages import Message
from apps.core.money import format_decimal, has_valid_precision
from apps.core.numbers.exact import parse_whole_number, trim_decimals, write_digits
from apps.core.rest.render_context import RenderContext
from apps.core.rest.versions import ALL_VERSIONS, VersionRange
from apps.core.tags import find_tag_error, normalize_tags
from apps.core.tenancy.scope import get_current_shop
from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import Attrs, Schema


class VersionOptions(TypedDict, total=False):
    """The first version with a field, and the first version without it."""

    since: str | None
    until: str | None


class FieldOptions(VersionOptions, total=False):
    source: str
    required: bool | None
    read_only: bool
    write_only: bool
    allow_null: bool
    default: object
    error_messages: dict[str, str]
    validators: Sequence[Callable[[Any], object]]
    missing: Iterable[str]


class TextOptions(FieldOptions, total=False):
    allow_blank: bool
    trim_whitespace: bool
    max_length: int | None
    min_length: int | None


class DecimalOptions(FieldOptions, total=False):
    max_digits: int
    decimal_places: int
    min_value: object
    max_value: object


AnyField = serializers.Field[Any, Any, Any, Any]
Render = Callable[..., Any]
Check = Callable[[Any], Any]

MESSAGES: dict[str, StrOrPromise] = {
    "required": BLANK,
    "null": BLANK,
    "blank": BLANK,
    "invalid": INVALID,
    "invalid_choice": NOT_IN_LIST,
    "max_string_length": INVALID,
    "max_digits": INVALID,
    "max_decimal_places": INVALID,
    "max_whole_digits": INVALID,
    "not_a_list": INVALID,
}
_DECIMAL = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,6})?", re.ASCII)
# The messages of validators with a limit, keyed by the code of the error.
_LIMIT_MESSAGES: dict[str | None, Callable[[Any], Message]] = {
    "max_length": too_long,
    "min_length": too_short,
    "max_value": at_most,
    "min_value": at_least,
}


class InvalidValue(serializers.ValidationError):
    """Raised when a value is invalid. Unlike DRF's class, this class keeps messages with their codes."""

    def __init__(self, detail: Any) -> None:
        self.detail = detail if isinstance(detail, list | dict) else [detail]


class ApiField(AnyField):
    """A field of a resource.

    Args:
        since: The first version with the field.
        until: The first version without the field.
        missing: The error messages if a create request omits the field. The default is ``can't be blank``.

    Attributes:
        inline: Python source that renders the value, with ``{0}`` for the first column. It avoids a function call per
            row.
        omitted_when_null: If True, rendered objects omit the field when the value is null. Only for top-level fields.
        schema: The JSON schema of the value, if the schema does not follow from the field class.
        rendered_versions: The versions that render the field. Other versions only accept the field in bodies.
    """

    version_range: VersionRange = ALL_VERSIONS
    rendered_versions: VersionRange = ALL_VERSIONS
    schema: Schema | None = None
    inline: ClassVar[str | None] = None
    omitted_when_null = False
    missing_messages: tuple[str, ...] = (BLANK,)
    default_error_messages = MESSAGES

    def __init__(
        self,
        since: str | None = None,
        until: str | None = None,
        missing: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if since or until:
            self.version_range = VersionRange(since, until)
        if missing is not None:
            self.missing_messages = tuple(missing)

    def get_columns(self) -> tuple[str, ...]:
        """Return the ORM paths that the field reads."""
        return (str(self.source).replace(".", "__"),)

    def get_renderer(self) -> Render | None:
        """Return a function ``(context, *columns)`` that renders the value, or None to render the stored value."""
        return None

    def get_validator(self, version: str) -> Check:
        """Return the function that validates a JSON value in a version and converts it to the attribute's value."""
        return self.run_validation

    def run_validators(self, value: object) -> None:
        """Run the validators; replace messages that are not in the API's style with ``is invalid``."""
        messages: list[str] = []
        for validator in self.validators:
            try:
                validator(value)  # type: ignore[call-arg]
            except ModelValidationError as error:
                messages += map(_convert_error, error.error_list)
            except serializers.ValidationError as error:
                messages += [_get_api_message(str(detail)) for detail in error.detail]
        if messages:
            raise InvalidValue(list(dict.fromkeys(messages)))


def check_value(field: ApiField, check: Check, value: object, *, updating: bool = False) -> object:
    """Return the validated value of a field, or ``empty`` if the field counts as absent.

    Clients in typed languages send ``null`` or "" for every field that they do not use. In an optional field that
    accepts neither, both mean the default on create. On update, both empty the field, or leave it unchanged if it
    cannot be empty.
    """
    if field.required or not (value is None or value == ""):
        return check(value)
    blanks = (value, "" if value is None else None) if updating else (value,)
    for blank in blanks:
        try:
            return check(blank)
        except serializers.ValidationError:
            continue
    return empty


def _convert_error(error: ModelValidationError) -> str:
    if error.code in _LIMIT_MESSAGES and error.params:
        return _LIMIT_MESSAGES[error.code](error.params["limit_value"])
    return _get_api_message(error.messages[0])


def _get_api_message(text: str) -> str:
    """Return a message, or ``is invalid`` if the message is not in the API's style."""
    return text if text[:1].islower() else INVALID


class ModelDerivedField(ApiField):
    """A placeholder for a field that DRF builds from the model column. The options override DRF's defaults."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        super().__init__()
        self.options: Attrs = {**options}


class ReadOnlyColumn(ApiField):
    """A read-only column that is rendered as stored."""

    def __init__(self, source: str | None = None, **versions: Unpack[VersionOptions]) -> None:
        super().__init__(read_only=True, source=source, **versions)

    def get_columns(self) -> tuple[str, ...]:
        """Return the ORM path, which may cross relations."""
        return (str(self.source),)


class ComputedField(ApiField):
    """A read-only value that ``render`` computes from ``(context, *columns)``. The columns are ORM paths."""

    def __init__(
        self,
        render: Render,
        *columns: str,
        schema: Schema | None = None,
        **versions: Unpack[VersionOptions],
    ) -> None:
        super().__init__(read_only=True, **versions)
        self._args = ()
        self._kwargs: Attrs = {}
        self.render = render
        self.source_columns = columns
        self.schema = {"type": "string"} if schema is None else schema

    def __deepcopy__(self, memo: dict[int, object]) -> "ComputedField":
        """Create a copy with all arguments, because DRF's own copy would lose them."""
        return type(self)(
            self.render,
            *self.source_columns,
            schema=self.schema,
            since=self.version_range.since,
            until=self.version_range.until,
        )

    def get_columns(self) -> tuple[str, ...]:
        return self.source_columns

    def get_renderer(self) -> Render:
        return self.render


class OptionalComputedField(ComputedField):
    """A computed value that rendered objects omit if it is null."""

    omitted_when_null = True


class ConstantField(ComputedField):
    """A field that Backoffice has no data for. Every row renders the same neutral value."""

    def __init__(self, value: object, **versions: Unpack[VersionOptions]) -> None:
        self.value = value
        schemas: dict[type, Schema] = {
            type(None): {"type": "null"},
            bool: {"type": "boolean"},
            str: {"type": "string"},
            int: {"type": "integer"},
            list: {"type": "array", "items": {}},
            dict: {"type": "object"},
        }
        super().__init__(lambda _context: value, schema=schemas[type(value)], **versions)

    def __deepcopy__(self, memo: dict[int, object]) -> "ConstantField":
        return ConstantField(self.value, since=self.version_range.since, until=self.version_range.until)


def global_id_field(type_name: str, column: str = "pk") -> ComputedField:
    """Create a field that renders a row's ``gid://<brand>/<Type>/<id>``."""

    def render(context: RenderContext, pk: int) -> str:
        return f"gid://{context.brand}/{type_name}/{pk}"

    return ComputedField(render, column)


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
        if not _DECIMAL.fullmatch(text) and not re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,30})?", text, re.ASCII):
            self.fail("invalid")
        return float(text)


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
