"""Fields and validation for objects that are not resources: flat request bodies, and objects stored as JSON."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.i18n.error_messages import BAD_REQUEST, BLANK, INVALID
from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.resources.fields import ApiField, Render
from apps.core.rest.resources.fields.base import FieldOptions, InvalidValue
from apps.core.rest.resources.serializers import flatten_errors
from apps.core.types import Attrs, Errors, RequestData


def check_members(fields: Mapping[str, ApiField], data: RequestData, *, partial: bool = False) -> tuple[Attrs, Errors]:
    """Validate an object's members.

    Args:
        fields: The fields of the members, keyed by name.
        data: The object; members without a field are ignored.
        partial: If True, missing members are skipped: they are not required, and no defaults are set.

    Returns:
        The validated values and the error messages, both keyed by member name.
    """
    values: Attrs = {}
    errors: Errors = {}
    for name, field in fields.items():
        if name in data:
            try:
                values[name] = field.run_validation(data[name])
            except serializers.ValidationError as error:
                errors.update(flatten_errors(error.detail, name))
        elif not partial and field.required:
            errors[name] = [BLANK]
        elif not partial and field.default is not empty:
            values[name] = field.default
    return values, errors


def validate_members(fields: Mapping[str, ApiField], data: object) -> Attrs:
    """Validate the members of a body without a wrapper and report all invalid members at once.

    Raises:
        BadRequest: The body is not an object.
        Unprocessable: A member is invalid. The exception contains ``{member: [messages]}``.
    """
    if not isinstance(data, dict):
        raise BadRequest(BAD_REQUEST, detail="the body is not a JSON object")
    values, errors = check_members(fields, data)
    if errors:
        raise Unprocessable(errors)
    return values


def check_objects(data: object, most: int, check: Callable[[RequestData], tuple[Attrs, Errors]]) -> list[Attrs]:
    """Validate a list of objects.

    Args:
        data: The JSON value.
        most: The maximum number of objects.
        check: Returns the attributes and the error messages of one object.

    Raises:
        ValidationError: The value is not a list of at most ``most`` objects, or an object is invalid. In the second
            case, the exception contains ``{index: {name: [messages]}}``.
    """
    if not isinstance(data, list) or len(data) > most:
        raise InvalidValue([INVALID])
    objects: list[Attrs] = []
    errors: dict[str, Errors | list[str]] = {}
    for index, item in enumerate(data):
        attrs, item_errors = check(item) if isinstance(item, dict) else ({}, None)
        objects.append(attrs)
        if item_errors is None or item_errors:
            errors[str(index)] = [INVALID] if item_errors is None else item_errors
    if errors:
        raise InvalidValue(errors)
    return objects


MAX_OBJECTS = 250


class ObjectListField(ApiField):
    """A list of small objects that are stored as JSON.

    Args:
        members: The fields of the members, keyed by name.
        render: Renders the list from ``(context, list, *columns)``. By default the list is rendered as stored.
        needs: Additional ORM paths for ``render``.
        most: The maximum number of objects.
    """

    def __init__(
        self,
        members: Mapping[str, ApiField],
        *,
        render: Render | None = None,
        needs: tuple[str, ...] = (),
        most: int = MAX_OBJECTS,
        **options: Unpack[FieldOptions],
    ) -> None:
        """Create the field. By default the list may be absent or null."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.members = dict(members)
        self.render = render
        self.extra_columns = needs
        self.max_items = most

    def get_columns(self) -> tuple[str, ...]:
        """Return the list's column and the additional columns for ``render``."""
        return (str(self.source), *self.extra_columns)

    def get_renderer(self) -> Render | None:
        return self.render

    def to_internal_value(self, data: object) -> list[Attrs]:
        """Validate the list and its objects."""
        return check_objects(data, self.max_items, lambda item: check_members(self.members, item))


class ObjectField(ApiField):
    """An object with declared members."""

    def __init__(self, members: Mapping[str, ApiField], **options: Unpack[FieldOptions]) -> None:
        """Create the field; by default it may be absent or null."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.members = dict(members)

    def to_internal_value(self, data: object) -> Attrs | None:
        return self.validate_object(data)

    def validate_object(self, data: object) -> Attrs:
        """Validate the object's members."""
        if not isinstance(data, dict):
            self.fail("invalid")
        values, errors = check_members(self.members, data)
        if errors:
            raise InvalidValue(errors)
        return values


class ValueListField(ApiField):
    """A list of plain values.

    Args:
        item: The field of an item.
        most: The maximum number of items.
    """

    def __init__(self, item: ApiField, *, most: int = MAX_OBJECTS, **options: Unpack[FieldOptions]) -> None:
        """Create the field; by default it may be absent or null."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.item = item
        self.max_items = most

    def to_internal_value(self, data: object) -> list[object]:
        """Validate the items."""
        if not isinstance(data, list) or len(data) > self.max_items:
            self.fail("invalid")
        values: list[object] = []
        errors: dict[str, Any] = {}
        for index, value in enumerate(data):
            try:
                values.append(self.item.run_validation(value))
            except serializers.ValidationError as error:
                errors[str(index)] = error.detail
        if errors:
            raise InvalidValue(errors)
        return values
