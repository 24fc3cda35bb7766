"""Which part of a payload a subscription gets.

``include_fields`` are dotted paths; arrays are mapped. What is not there is left out. Without any, it is whole.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

# By name, what is taken of it; None for all.
Tree = dict[str, "Tree | None"]


@lru_cache(maxsize=4096)
def _tree(paths: tuple[str, ...]) -> Tree:
    """The paths as a tree; a name that is taken whole takes what is below it along."""
    tree: Tree = {}
    for path in paths:
        names = path.split(".")
        level: Tree | None = tree
        for name in names[:-1]:
            inner = level.setdefault(name, {}) if level is not None else None
            level = inner
        if level is not None:
            level[names[-1]] = None
    return tree


def project(payload: Mapping[str, Any], include_fields: Collection[str]) -> Mapping[str, Any]:
    """The named fields of a payload; all of it where none are named."""
    return _picked(payload, _tree(tuple(include_fields))) if include_fields else payload


def _picked(value: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    return {name: _inner(value[name], below) for name, below in tree.items() if name in value}


def _inner(value: Any, tree: Tree | None) -> Any:
    if tree is None or value is None:
        return value
    if isinstance(value, list):
        return [_inner(each, tree) for each in value]
    return _picked(value, tree) if isinstance(value, Mapping) else value


def with_metafields(
    payload: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    namespaces: Iterable[str],
    identifiers: Iterable[Mapping[str, str]],
) -> Mapping[str, Any]:
    """A payload with those of its resource's metafields that a subscription wants."""
    wanted, named = set(namespaces), {(each["namespace"], each["key"]) for each in identifiers}
    if not (wanted or named):
        return payload
    picked = [row for row in rows if row["namespace"] in wanted or (row["namespace"], row["key"]) in named]
    return {**payload, "metafields": picked}
