"""The custom scalars of the GraphQL schema."""

from datetime import UTC, datetime
from typing import NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition


def _format_datetime(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("must be a string")
    return value


URL = NewType("URL", str)
ARN = NewType("ARN", str)
UnsignedInt64 = NewType("UnsignedInt64", int)

SCALARS: dict[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime",
        description="A date and time in UTC, in ISO 8601: `2026-07-01T12:00:00Z`.",
        serialize=_format_datetime,
    ),
    URL: strawberry.scalar(name="URL", description="A URL.", serialize=str, parse_value=_require_text),
    ARN: strawberry.scalar(
        name="ARN", description="An Amazon Resource Name (ARN).", serialize=str, parse_value=_require_text
    ),
    UnsignedInt64: strawberry.scalar(
        name="UnsignedInt64", description="A whole number of at most 64 bits, as a string.", serialize=str
    ),
}
