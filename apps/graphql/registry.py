"""What the schemas are made of: the apps' classes of root fields, their nodes, and the versions that have a field."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from apps.api.versions import ALWAYS, Gate

C = TypeVar("C", bound=type)
# Finds the object of a number that the caller may see; None where there is none.
Find = Callable[[Any, int], object | None]

queries: list[type] = []
mutations: list[type] = []
nodes: dict[str, Find] = {}
# Types that no field names but the ``Node`` interface.
types: list[type] = []

_GATE = "gate"
_DEPRECATED = "deprecated"


def query(cls: C) -> C:
    """Add a class of fields to the root of queries."""
    queries.append(cls)
    return cls


def mutation(cls: C) -> C:
    """Add a class of fields to the root of mutations."""
    mutations.append(cls)
    return cls


def node(kind: str, shown: type, find: Find) -> None:
    """Let ``node(id:)`` find a type; ``kind`` is its word in global ids."""
    nodes[kind] = find
    types.append(shown)


def gated(*, since: str | None = None, until: str | None = None) -> dict[str, Gate]:
    """The ``metadata`` of a field or an argument that not every version has."""
    return {_GATE: Gate(since, until)}


def is_in(metadata: Mapping[Any, Any] | None, version: str) -> bool:
    """Whether a version has what carries some metadata."""
    gate: Gate = (metadata or {}).get(_GATE, ALWAYS)
    return gate.admits(version)


def deprecated(since: str, reason: str) -> dict[str, tuple[Gate, str]]:
    """The ``metadata`` of a field or an argument that is deprecated from a version on."""
    return {_DEPRECATED: (Gate(since), reason)}


def deprecation_in(metadata: Mapping[Any, Any] | None, version: str) -> str | None:
    """Why a version has something as deprecated."""
    gate, reason = (metadata or {}).get(_DEPRECATED, (None, ""))
    return reason if gate is not None and gate.admits(version) else None
