"""Root fields, nodes and field versions of the GraphQL schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.registry import Registry
from apps.core.rest.versions import ALL_VERSIONS, VersionRange


@dataclass(frozen=True, slots=True)
class Node:
    type: type
    # Returns the object with this number, or None if it does not exist or the caller cannot see it.
    find: Callable[[Any, int], object | None]


# Classes of root query fields and of root mutation fields.
queries = Registry[str, type]("GraphQL queries")
mutations = Registry[str, type]("GraphQL mutations")
# Types for ``node(id:)`` by their name in global ids. Some of them are only reachable through the ``Node`` interface.
nodes = Registry[str, Node]("GraphQL nodes")

_GATE = "gate"
_DEPRECATED = "deprecated"


def version_metadata(*, since: str | None = None, until: str | None = None) -> dict[str, VersionRange]:
    """Return the ``metadata`` for a field or argument that only some versions have."""
    return {_GATE: VersionRange(since, until)}


def is_in_version(metadata: Mapping[Any, Any] | None, version: str) -> bool:
    """Return True if a version has the field or argument with this metadata."""
    versions: VersionRange = (metadata or {}).get(_GATE, ALL_VERSIONS)
    return versions.includes(version)


def deprecation_metadata(since: str, reason: str) -> dict[str, tuple[VersionRange, str]]:
    """Return the ``metadata`` for a field or argument that is deprecated since the given version."""
    return {_DEPRECATED: (VersionRange(since), reason)}


def get_deprecation_reason(metadata: Mapping[Any, Any] | None, version: str) -> str | None:
    """Return the deprecation reason of a field or argument in a version, or None if it is not deprecated."""
    versions, reason = (metadata or {}).get(_DEPRECATED, (None, ""))
    return reason if versions is not None and versions.includes(version) else None
