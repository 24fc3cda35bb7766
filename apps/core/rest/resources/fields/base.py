"""The base class of fields, its options, and the conversion of error messages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypedDict

from django.core.exceptions import ValidationError as ModelValidationError
from django_stubs_ext import StrOrPromise
from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, at_least, at_most, too_long, too_short
from apps.core.i18n.messages import Message
from apps.core.rest.versions import ALL_VERSIONS, VersionRange
from apps.core.types import Schema


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
