"""Compare the REST representation of an object in the store with that of the imported object in this shop."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from apps.core.timestamps import truncate_to_second
from apps.store_imports.domain.source_client import SourceObject

# Members that are never compared, at any depth, unless ``Comparison.ids`` names them.
ALWAYS_DIFFERENT: Mapping[str, str] = {
    "id": "imported objects have new IDs; the map of IDs has the pairs",
    "admin_graphql_api_id": "contains the ID",
    "updated_at": "the time of the last change in this shop",
}
# Reasons that several streams have not to compare a member.
CREATED_NOW = "imported objects get the time of the import"
KEEPS_HANDLE = "an object that was imported keeps its handle when the store changes it"
KEEPS_TIME = "an object that this shop had before the import keeps its time of creation"
OWN_ADDRESS = "each shop serves its images at its own address"
ANY_DEPTH = "*."
# Returns the REST representations of objects of this shop by ID, in a version of the API.
ObjectReader: TypeAlias = Callable[[Collection[int], str], Mapping[int, SourceObject]]
_INDEX = re.compile(r"\[[0-9]+\]", re.ASCII)


class Difference(NamedTuple):
    """A member with different values, such as ``variants[0].price``."""

    path: str
    theirs: object
    ours: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How the objects of a stream are compared. All members are compared that both representations have.

    The path of a nested member is ``variants.price``, for the objects of a list as well. Null and a blank text are
    equal, and so are two spellings of a time.

    Attributes:
        read: Reads the REST representations of objects of this shop, or None if the stream implements ``read_own``.
        ids: The names of resources in the map of IDs, by the paths of members that are IDs or lists of IDs.
        not_compared: The reasons not to compare members, by path. ``*.name`` is a name at any depth.
        limits: The reasons why members can differ, by path. Such differences are reported as limits.
        unordered: The paths of lists that have no order.
    """

    read: ObjectReader | None
    ids: Mapping[str, str] = field(default_factory=dict)
    not_compared: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    unordered: Collection[str] = ()

    def is_compared(self, path: str) -> bool:
        name = path.rpartition(".")[2]
        if path in self.not_compared or f"{ANY_DEPTH}{name}" in self.not_compared:
            return False
        return name not in ALWAYS_DIFFERENT or path in self.ids

    def get_limit(self, shown_path: str) -> str:
        """Return the reason why a member can differ, or a blank text."""
        return self.limits.get(_INDEX.sub("", shown_path), "")

    def collect_ids(self, objects: Sequence[SourceObject]) -> Mapping[str, set[int]]:
        """Return the IDs in objects of the store, by resource."""
        found: defaultdict[str, set[int]] = defaultdict(set)

        def collect(resource: str, value: int) -> int:
            found[resource].add(value)
            return value

        for row in objects:
            self._replace_ids(row, "", collect)
        return found

    def translate_ids(self, row: SourceObject, targets: Mapping[str, Mapping[int, int]]) -> SourceObject:
        """Return an object of the store with the IDs of this shop. IDs that are not in the map become texts."""

        def translate(resource: str, value: int) -> object:
            target = targets.get(resource, {}).get(value)
            return f"not imported: {value}" if target is None else target

        translated: SourceObject = self._replace_ids(row, "", translate)
        return translated

    def _replace_ids(self, value: Any, path: str, replace_id: Callable[[str, int], object]) -> Any:
        if isinstance(value, Mapping):
            return {
                name: self._replace_ids(item, f"{path}.{name}" if path else name, replace_id)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self._replace_ids(item, path, replace_id) for item in value]
        if path in self.ids and isinstance(value, int) and not isinstance(value, bool):
            return replace_id(self.ids[path], value)
        return value

    def find_differences(self, theirs: SourceObject, ours: SourceObject) -> Iterator[Difference]:
        return self._compare("", "", theirs, ours)

    def _compare(self, path: str, shown: str, theirs: Any, ours: Any) -> Iterator[Difference]:
        if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
            for name in theirs:
                inner = f"{path}.{name}" if path else name
                if name in ours and self.is_compared(inner):
                    yield from self._compare(inner, f"{shown}.{name}" if shown else name, theirs[name], ours[name])
        elif isinstance(theirs, list) and isinstance(ours, list):
            if len(theirs) != len(ours):
                yield Difference(shown, theirs, ours)
                return
            if path in self.unordered:
                theirs, ours = self._sort(path, theirs, ours), self._sort(path, ours, theirs)
            for index, (their_item, our_item) in enumerate(zip(theirs, ours, strict=True)):
                yield from self._compare(path, f"{shown}[{index}]", their_item, our_item)
        elif normalize_value(theirs) != normalize_value(ours):
            yield Difference(shown, theirs, ours)

    def _sort(self, path: str, rows: list[Any], others: list[Any]) -> list[Any]:
        """Sort a list by the compared members that the objects of the other list have as well."""
        names = {name for row in others if isinstance(row, Mapping) for name in row}

        def get_key(row: object) -> str:
            if isinstance(row, Mapping):
                row = {
                    name: normalize_value(value)
                    for name, value in row.items()
                    if name in names and self.is_compared(f"{path}.{name}")
                }
            return json.dumps(row, sort_keys=True, default=str)

        return sorted(rows, key=get_key)


def normalize_value(value: object) -> object:
    """Return a value that is the same for equal times, and for null and a blank text."""
    if not isinstance(value, str):
        return "" if value is None else value
    if len(value) < 19 or value[4:5] != "-" or value[10:11] != "T":
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return truncate_to_second(moment.astimezone(UTC)).isoformat() if moment.tzinfo else value
