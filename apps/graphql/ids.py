"""Global ids: ``gid://<brand>/<Type>/<number>``, and the interfaces of what has one."""

import re
from typing import Annotated

import strawberry
from django.conf import settings

from apps.graphql.scalars import UnsignedInt64

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


def global_id(kind: str, number: int) -> strawberry.ID:
    """The global id of a row."""
    return strawberry.ID(f"gid://{settings.BRAND}/{kind}/{number}")


def read_id(text: str) -> tuple[str, int] | None:
    """The type and the number in a global id; None where it is none of ours."""
    kind, slash, number = text.removeprefix(f"gid://{settings.BRAND}/").partition("/")
    if not text.startswith("gid://") or not slash or not _NUMBER.fullmatch(number) or int(number) >= 2**63:
        return None
    return kind, int(number)


def number_of(text: str, kind: str) -> int | None:
    """The number in a global id of one type; None where it is of another, or none at all."""
    found = read_id(text)
    return found[1] if found is not None and found[0] == kind else None


@strawberry.interface(description="What has a global id.")
class Node:
    """What ``node(id:)`` can find."""

    id: Annotated[strawberry.ID, strawberry.field(description="The global id.")]


@strawberry.interface(description="What has a number in the REST interface.")
class LegacyInteroperability:
    """What REST knows by a number."""

    legacy_resource_id: UnsignedInt64
