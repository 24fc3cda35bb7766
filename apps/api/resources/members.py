"""Checking objects that are no resource, such as the flat body of an action."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from apps.api.errors import BadRequest, Unprocessable
from apps.api.resources.fields import BLANK, ApiField
from apps.api.resources.serializers import Attrs, Errors, flatten


def check_members(
    fields: Mapping[str, ApiField], data: Mapping[str, Any], *, partial: bool = False
) -> tuple[Attrs, Errors]:
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


def read_members(fields: Mapping[str, ApiField], data: Any) -> Attrs:
    """Check the members of a body that has no wrapper; all failing ones are named at once.

    Raises:
        BadRequest: It is no object.
        Unprocessable: ``{member: [messages]}``.
    """
    if not isinstance(data, dict):
        raise BadRequest("Bad Request", detail="the body is no JSON object")
    values, errors = check_members(fields, data)
    if errors:
        raise Unprocessable(errors)
    return values
