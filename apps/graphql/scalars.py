"""Scalars as clients of the interface know them."""

from datetime import UTC, datetime
from typing import NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("must be a text")
    return value


URL = NewType("URL", str)
ARN = NewType("ARN", str)
UnsignedInt64 = NewType("UnsignedInt64", int)

SCALARS: dict[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime", description="A moment in UTC, as ISO 8601: `2026-07-01T12:00:00Z`.", serialize=_moment
    ),
    URL: strawberry.scalar(name="URL", description="The address of a resource.", serialize=str, parse_value=_text),
    ARN: strawberry.scalar(
        name="ARN", description="The name of a resource of Amazon's.", serialize=str, parse_value=_text
    ),
    UnsignedInt64: strawberry.scalar(
        name="UnsignedInt64", description="A whole number of at most 64 bits, written as a text.", serialize=str
    ),
}
