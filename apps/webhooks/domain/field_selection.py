"""Field selection: the part of a payload that a subscription receives.

``include_fields`` contains dotted paths, which also apply to the elements of arrays. Fields that a payload lacks are
skipped. Without a selection, the subscription receives the whole payload.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

# Maps each selected member to the selection inside that member. None selects the whole member.
FieldTree = dict[str, "FieldTree | None"]


@lru_cache(maxsize=4096)
def _build_tree(paths: tuple[str, ...]) -> FieldTree:
    """Build a tree of the paths. A path that selects an object overrides paths to members of that object."""
    tree: FieldTree = {}
    for path in paths:
        names = path.split(".")
        level: FieldTree | None = tree
        for name in names[:-1]:
            inner = level.setdefault(name, {}) if level is not None else None
            level = inner
        if level is not None:
            level[names[-1]] = None
    return tree


def select_fields(payload: Mapping[str, Any], include_fields: Collection[str]) -> Mapping[str, Any]:
    """Return the selected fields of a payload, or the whole payload if no fields are selected."""
    return _select_members(payload, _build_tree(tuple(include_fields))) if include_fields else payload


def _select_members(value: Mapping[str, Any], tree: FieldTree) -> dict[str, Any]:
    return {name: _select(value[name], below) for name, below in tree.items() if name in value}


def _select(value: Any, tree: FieldTree | None) -> Any:
    if tree is None or value is None:
        return value
    if isinstance(value, list):
        return [_select(element, tree) for element in value]
    return _select_members(value, tree) if isinstance(value, Mapping) else value


def add_metafields(
    payload: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    namespaces: Iterable[str],
    identifiers: Iterable[Mapping[str, str]],
) -> Mapping[str, Any]:
    """Return the payload with the metafields that a subscription requests."""
    requested_namespaces, requested_keys = (
        set(namespaces),
        {(identifier["namespace"], identifier["key"]) for identifier in identifiers},
    )
    if not (requested_namespaces or requested_keys):
        return payload
    picked = [
        row
        for row in rows
        if row["namespace"] in requested_namespaces or (row["namespace"], row["key"]) in requested_keys
    ]
    return {**payload, "metafields": picked}
