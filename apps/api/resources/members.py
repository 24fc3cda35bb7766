"""Objects that are no resource: the flat body of an action, and small objects that are kept as JSON."""

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from rest_framework import serializers
from rest_framework.fields import empty

from apps.api.errors import BadRequest, Unprocessable
from apps.api.resources.fields import ApiField, Render
from apps.api.resources.fields.options import FieldOptions
from apps.api.resources.serializers import flatten
from apps.api.shapes import Attrs, Data, Errors
from apps.ground.phrases import BAD_REQUEST, BLANK, INVALID


def check_members(fields: Mapping[str, ApiField], data: Data, *, partial: bool = False) -> tuple[Attrs, Errors]:
    """Check an object's members.

    Args:
        fields: By name, what a member must be.
        data: The object; members without a field are ignored.
        partial: Whether what is missing stays as it is.

    Returns:
        The values, and the messages by name.
    """
    values: Attrs = {}
    errors: Errors = {}
    for name, field in fields.items():
        if name in data:
            try:
                values[name] = field.run_validation(data[name])
            except serializers.ValidationError as error:
                errors.update(flatten(error.detail, name))
        elif not partial and field.required:
            errors[name] = [BLANK]
        elif not partial and field.default is not empty:
            values[name] = field.default
    return values, errors


def read_members(fields: Mapping[str, ApiField], data: object) -> Attrs:
    """Check the members of a body that has no wrapper; all failing ones are named at once.

    Raises:
        BadRequest: It is no object.
        Unprocessable: ``{member: [messages]}``.
    """
    if not isinstance(data, dict):
        raise BadRequest(BAD_REQUEST, detail="the body is no JSON object")
    values, errors = check_members(fields, data)
    if errors:
        raise Unprocessable(errors)
    return values


def check_objects(data: object, most: int, check: Callable[[Data], tuple[Attrs, Errors]]) -> list[Attrs]:
    """Check a list of objects, each by itself.

    Args:
        data: The JSON value.
        most: How many objects there may be.
        check: Gives the attributes of one object, and its messages by name.

    Raises:
        ValidationError: It is no such list, or ``{place: {name: [messages]}}`` for all objects that fail.
    """
    if not isinstance(data, list) or len(data) > most:
        raise serializers.ValidationError([INVALID])
    found: list[Attrs] = []
    errors: dict[str, Errors | list[str]] = {}
    for index, item in enumerate(data):
        attrs, wrong = check(item) if isinstance(item, dict) else ({}, [INVALID])
        found.append(attrs)
        if wrong:
            errors[str(index)] = wrong
    if errors:
        raise serializers.ValidationError(errors)
    return found


MAX_OBJECTS = 250


class ObjectsField(ApiField):
    """A list of small objects that are kept as JSON.

    Args:
        members: By name, what a member must be.
        render: ``(context, list, *columns)`` to what is shown; the list itself where omitted.
        needs: Further ORM paths for ``render``.
        most: How many may come.
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
        """It may be absent and null, which means empty."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.members = dict(members)
        self.render = render
        self.needs = needs
        self.most = most

    def columns(self) -> tuple[str, ...]:
        """The list, and what rendering needs."""
        return (str(self.source), *self.needs)

    def reader(self) -> Render | None:
        """The given function."""
        return self.render

    def to_internal_value(self, data: object) -> list[Attrs]:
        """The objects' members."""
        return check_objects(data, self.most, lambda item: check_members(self.members, item))


class ObjectField(ApiField):
    """An object whose known members are checked."""

    def __init__(self, members: Mapping[str, ApiField], **options: Unpack[FieldOptions]) -> None:
        """It may be absent and null."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.members = dict(members)

    def to_internal_value(self, data: object) -> Attrs | None:
        """The members that are given."""
        return self.read(data)

    def read(self, data: object) -> Attrs:
        """The members that an object gives."""
        if not isinstance(data, dict):
            self.fail("invalid")
        values, errors = check_members(self.members, data)
        if errors:
            raise serializers.ValidationError(errors)
        return values


class ValuesField(ApiField):
    """A list of plain values.

    Args:
        item: What each must be.
        most: How many may come.
    """

    def __init__(self, item: ApiField, *, most: int = MAX_OBJECTS, **options: Unpack[FieldOptions]) -> None:
        """It may be absent and null, unless said otherwise."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.item = item
        self.most = most

    def to_internal_value(self, data: object) -> list[object]:
        """The values."""
        if not isinstance(data, list) or len(data) > self.most:
            self.fail("invalid")
        found: list[object] = []
        errors: dict[str, Any] = {}
        for index, value in enumerate(data):
            try:
                found.append(self.item.run_validation(value))
            except serializers.ValidationError as error:
                errors[str(index)] = error.detail
        if errors:
            raise serializers.ValidationError(errors)
        return found
