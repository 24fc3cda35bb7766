"""The base class for all fields: versions, error messages, validation and rendering."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Unpack

from django.core.exceptions import ValidationError as ModelValidationError
from django_stubs_ext import StrOrPromise
from rest_framework import serializers

from apps.api.resources.fields.options import TextOptions
from apps.api.types import Attrs, Schema
from apps.api.versions import ALL_VERSIONS, VersionRange
from apps.ground.error_messages import BLANK, INVALID, NOT_IN_LIST, at_least, at_most, too_long

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
        own = kwargs.pop("error_messages", {})
        super().__init__(error_messages={**MESSAGES, **own}, **kwargs)
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
            except (ModelValidationError, serializers.ValidationError) as error:
                texts = error.messages if isinstance(error, ModelValidationError) else [str(d) for d in error.detail]
                messages += [message if message[:1].islower() else INVALID for message in texts]
        if messages:
            raise serializers.ValidationError(list(dict.fromkeys(messages)))


class ModelDerivedField(ApiField):
    """A placeholder for a field that DRF builds from the model column. The options override DRF's defaults."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        super().__init__()
        self.options: Attrs = {**options}
