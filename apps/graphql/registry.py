"""Registry for root fields, nodes and field versions."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from apps.api.versions import ALL_VERSIONS, VersionRange

C = TypeVar("C", bound=type)
# A function that returns the object with this number, or None if it does not exist or the caller cannot see it.
FindFunction = Callable[[Any, int], object | None]

queries: list[type] = []
mutations: list[type] = []
nodes: dict[str, FindFunction] = {}
# Types that clients can only reach through the ``Node`` interface.
types: list[type] = []

_GATE = "gate"
_DEPRECATED = "deprecated"


def register_queries(cls: C) -> C:
    """Register a class of root query fields."""
    queries.append(cls)
    return cls


def register_mutations(cls: C) -> C:
    """Register a class of root mutation fields."""
    mutations.append(cls)
    return cls


def register_node(kind: str, type_: type, find: FindFunction) -> None:
    """Register a type for ``node(id:)``. ``kind`` is the type's name in global ids."""
    nodes[kind] = find
    types.append(type_)


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
