"""Lists of objects inside a body: related rows that come with their parent, and small objects that are kept as JSON."""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework import serializers

from apps.api.resources.fields import INVALID, Rows
from apps.api.resources.serializers import Attrs, Errors, check_body
from apps.api.versions import newest


def check_objects(data: Any, most: int, check: Callable[[Mapping[str, Any]], tuple[Attrs, Errors]]) -> list[Attrs]:
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
    errors: dict[str, Any] = {}
    for index, item in enumerate(data):
        attrs, wrong = check(item) if isinstance(item, dict) else ({}, [INVALID])
        found.append(attrs)
        if wrong:
            errors[str(index)] = wrong
    if errors:
        raise serializers.ValidationError(errors)
    return found


class TakenRows(Rows):
    """Related rows that are shown always, and taken when their parent is made; absent and null mean none.

    Args:
        most: How many may come.
    """

    def __init__(self, *args: Any, most: int, **kwargs: Any) -> None:
        """As ``Rows``."""
        super().__init__(*args, **kwargs)
        self.most = most
        self.read_only = False
        self.required = False
        self.allow_null = True

    def to_internal_value(self, data: Any) -> list[Attrs]:
        """The rows' attributes."""
        serializer = self.serializer
        assert serializer is not None
        return check_objects(data, self.most, lambda item: check_body(serializer, newest(), item))
