"""Fields and validation for objects that are not resources: flat request bodies, and objects stored as JSON."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.i18n.error_messages import BAD_REQUEST, BLANK, INVALID, too_many
from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.resources.fields import ApiField, FieldOptions, InvalidValue, Render, check_value
from apps.core.rest.resources.serializers import flatten_errors
from apps.core.types import Attrs, Errors, RequestData


def check_members(fields: Mapping[str, ApiField], data: RequestData) -> tuple[Attrs, Errors]:
    """Validate an object. Return the values and the error messages, both keyed by member. Ignore unknown members."""
    values: Attrs = {}
    errors: Errors = {}
    for name, field in fields.items():
        try:
            value = check_value(field, field.run_validation, data[name]) if name in data else empty
        except serializers.ValidationError as error:
            errors.update(flatten_errors(error.detail, name))
            continue
        if value is not empty:
            values[name] = value
        elif field.required:
            errors[name] = [BLANK]
        elif field.default is not empty:
            values[name] = field.default
    return values, errors


def validate_members(fields: Mapping[str, ApiField], data: object) -> Attrs:
    """Validate the members of a body without a wrapper and report all invalid members at once."""
    if not isinstance(data, dict):
        raise BadRequest(BAD_REQUEST, detail="the body is not a JSON object")
    values, errors = check_members(fields, data)
    if errors:
        raise Unprocessable(errors)
    return values


def check_list(data: object, most: int) -> list[Any]:
    if not isinstance(data, list):
        raise InvalidValue([INVALID])
    if len(data) > most:
        raise InvalidValue([too_many("entries", most)])
    return data


def check_objects(data: object, most: int, check: Callable[[RequestData], tuple[Attrs, Errors]]) -> list[Attrs]:
    """Validate a list of at most ``most`` objects. ``check`` returns the attributes and errors of one object.

    The messages of a ``ValidationError`` are keyed by index, then by name: ``{index: {name: [messages]}}``.
    """
    objects: list[Attrs] = []
    errors: dict[str, Errors | list[str]] = {}
    for index, item in enumerate(check_list(data, most)):
        attrs, item_errors = check(item) if isinstance(item, dict) else ({}, None)
        objects.append(attrs)
        if item_errors is None or item_errors:
            errors[str(index)] = [INVALID] if item_errors is None else item_errors
    if errors:
        raise InvalidValue(errors)
    return objects


MAX_OBJECTS = 250


class ObjectListField(ApiField):
    """A list of at most ``most`` small objects that are stored as JSON. It may be absent or null by default.

    The list is rendered as stored, or by ``render`` from ``(context, list, *columns)`` with the ORM paths ``needs``.
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
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.members = dict(members)
        self.render = render
        self.extra_columns = needs
        self.max_items = most

    def get_columns(self) -> tuple[str, ...]:
        return (str(self.source), *self.extra_columns)

    def get_renderer(self) -> Render | None:
        return self.render

    def to_internal_value(self, data: object) -> list[Attrs]:
        return check_objects(data, self.max_items, lambda item: check_members(self.members, item))


class ObjectField(ApiField):
    """An object with declared members. It may be absent or null by default."""

    def __init__(self, members: Mapping[str, ApiField], **options: Unpack[FieldOptions]) -> None:
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.members = dict(members)

    def to_internal_value(self, data: object) -> Attrs | None:
        return self.validate_object(data)

    def validate_object(self, data: object) -> Attrs:
        if not isinstance(data, dict):
            self.fail("invalid")
        values, errors = check_members(self.members, data)
        if errors:
            raise InvalidValue(errors)
        return values


class ValueListField(ApiField):
    """A list of at most ``most`` plain values. It may be absent or null by default."""

    def __init__(self, item: ApiField, *, most: int = MAX_OBJECTS, **options: Unpack[FieldOptions]) -> None:
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.item = item
        self.max_items = most

    def to_internal_value(self, data: object) -> list[object]:
        values: list[object] = []
        errors: dict[str, Any] = {}
        for index, value in enumerate(check_list(data, self.max_items)):
            try:
                values.append(self.item.run_validation(value))
            except serializers.ValidationError as error:
                errors[str(index)] = error.detail
        if errors:
            raise InvalidValue(errors)
        return values
