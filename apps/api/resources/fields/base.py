"""What all fields have in common: versions, messages, and the two ways in and out."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Unpack

from django.core.exceptions import ValidationError as ModelValidationError
from django_stubs_ext import StrOrPromise
from rest_framework import serializers

from apps.api.resources.fields.options import TextOptions
from apps.api.shapes import Attrs, Schema
from apps.api.versions import ALWAYS, Gate
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, at_least, at_most, too_long

AnyField = serializers.Field[Any, Any, Any, Any]
Render = Callable[..., Any]
Check = Callable[[Any], Any]

MESSAGES: dict[str, StrOrPromise] = {
    "required": BLANK,
    "null": BLANK,
    "blank": BLANK,
    "invalid": INVALID,
    "invalid_choice": NOT_IN_LIST,
    "max_length": too_long("{max_length}"),
    "min_length": "is too short (minimum is {min_length} characters)",
    "max_value": at_most("{max_value}"),
    "min_value": at_least("{min_value}"),
    "max_string_length": INVALID,
    "max_digits": INVALID,
    "max_decimal_places": INVALID,
    "max_whole_digits": INVALID,
    "not_a_list": INVALID,
}


class ApiField(AnyField):
    """A field of a resource.

    Args:
        since: The first version that has it.
        until: The first version that has it no more.
        missing: What is said when a create lacks it, if more than that it is blank.

    Attributes:
        inline: Source text that renders it, with ``{0}`` for its first column: for conversions that are too small and
            too common to cost a call.
        omitted_when_null: Whether an object without a value lacks the key; for fields of a resource itself.
        schema: Its JSON schema, where that does not follow from the kind of field.
        shown: The versions that show it, where others only take it.
    """

    gate: Gate = ALWAYS
    shown: Gate = ALWAYS
    schema: Schema | None = None
    inline: ClassVar[str | None] = None
    omitted_when_null = False
    missing: tuple[str, ...] = (BLANK,)
    default_error_messages = MESSAGES

    def __init__(
        self,
        since: str | None = None,
        until: str | None = None,
        missing: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Declare the field."""
        own = kwargs.pop("error_messages", {})
        super().__init__(error_messages={**MESSAGES, **own}, **kwargs)
        if since or until:
            self.gate = Gate(since, until)
        if missing is not None:
            self.missing = tuple(missing)

    def columns(self) -> tuple[str, ...]:
        """The ORM paths of what it reads."""
        return (str(self.source).replace(".", "__"),)

    def reader(self) -> Render | None:
        """A function ``(context, *columns)`` that renders it; None where the column is shown as it is."""
        return None

    def checker(self, version: str) -> Check:
        """The function that checks one value in a version, and gives the attribute."""
        return self.run_validation

    def run_validators(self, value: object) -> None:
        """Check the value; a validator that does not speak the interface's language says ``is invalid``."""
        messages: list[str] = []
        for validator in self.validators:
            try:
                validator(value)  # type: ignore[call-arg]
            except (ModelValidationError, serializers.ValidationError) as error:
                texts = error.messages if isinstance(error, ModelValidationError) else [str(d) for d in error.detail]
                messages += [text if text[:1].islower() else INVALID for text in texts]
        if messages:
            raise serializers.ValidationError(list(dict.fromkeys(messages)))


class FromModel(ApiField):
    """Stands for the field that the model's column makes; takes the options that are to differ."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Note the options of the field to be made."""
        super().__init__()
        self.options: Attrs = {**options}
