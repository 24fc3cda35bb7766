"""Global ids (``gid://<brand>/<Type>/<number>``) and the GraphQL interfaces for types with ids."""

import re
from typing import Annotated

import strawberry
from django.conf import settings

from apps.graphql.scalars import UnsignedInt64

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


def build_global_id(kind: str, number: int) -> strawberry.ID:
    """Build the global id of a row."""
    return strawberry.ID(f"gid://{settings.BRAND}/{kind}/{number}")


def parse_global_id(text: str) -> tuple[str, int] | None:
    """Split a global id into type and number; return None if the id is invalid."""
    kind, slash, number = text.removeprefix(f"gid://{settings.BRAND}/").partition("/")
    if not text.startswith("gid://") or not slash or not _NUMBER.fullmatch(number) or int(number) >= 2**63:
        return None
    return kind, int(number)


def parse_number_of_type(text: str, kind: str) -> int | None:
    """Return the number in a global id, or None if the id is invalid or has another type."""
    parsed = parse_global_id(text)
    return parsed[1] if parsed is not None and parsed[0] == kind else None


@strawberry.interface(description="An object with a global id.")
class Node:
    """An object that ``node(id:)`` can find."""

    id: Annotated[strawberry.ID, strawberry.field(description="The global id.")]


@strawberry.interface(description="An object that has a numeric id in the REST API.")
class LegacyInteroperability:
    """An object that has a numeric id in the REST API."""

    legacy_resource_id: UnsignedInt64
