"""Import the metafields of imported objects. Global IDs in values are replaced with those of this shop."""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Model

from apps.core.i18n.messages import Message, as_message, define_message, join_messages, pair_messages
from apps.core.tenancy.scope import get_current_shop
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.metafields.domain.write import MetafieldInput, set_metafields, validate_metafield
from apps.store_imports.domain.source_client import ObjectGone, SourceObject
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream, write_in_savepoint

# Each owner costs a request.
PAGE_SIZE = 20
_GLOBAL_ID = re.compile(r"gid://[a-z0-9-]{1,40}/(\w{1,40})/([1-9][0-9]{0,17})(?![0-9])", re.ASCII)
_MEMBERS = ("namespace", "key", "type", "value", "description")
_UNKNOWN_OBJECT = define_message(
    "store_imports.unknown_object", "It refers to {global_id}, but this object was not imported."
)
_PROBLEM = define_message("store_imports.metafield", "The metafield {name} was not imported: {reason}")


class MetafieldStream(Stream):
    """The metafields of one type of owners. An object is an owner's id with the list of its metafields."""

    owner: ClassVar[OwnerType]

    def count_objects(self, source: Source) -> int | None:
        return source.ids.count_entries(self.owner.resource)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next owners with their metafields. Each owner costs a request."""
        entries = source.ids.get_next_entries(self.owner.resource, position, PAGE_SIZE)
        return [
            {
                "id": entry.source_id,
                "metafields": _read_metafields(source, f"{self.owner.path}/{entry.source_id}/metafields.json"),
            }
            for entry in entries
        ]

    def get_targets(self, source: Source, objects: Sequence[SourceObject]) -> Mapping[int, int]:
        """Return the ids of the owners in this shop, by source id."""
        return source.ids.get_target_ids(self.owner.resource, [row["id"] for row in objects])

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        targets = self.get_targets(source, objects)
        owners = self.model._default_manager.in_bulk(list(targets.values()))
        global_ids = _map_global_ids(source, objects)
        known = source.ids.get_target_ids(self.resource, targets)
        return [
            _write_metafields(source, row, owners.get(targets[row["id"]]), global_ids, is_new=row["id"] not in known)
            for row in objects
        ]


class OptionalMetafieldStream(MetafieldStream):
    """The metafields of owners that a store has so many of that reading them takes hours. They must be requested."""

    def count_objects(self, source: Source) -> int | None:
        return super().count_objects(source) if source.with_variant_metafields else 0

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return super().read_page(source, position) if source.with_variant_metafields else []


class ShopMetafieldStream(MetafieldStream):
    """The shop's own metafields, which the API lists without an owner."""

    def count_objects(self, source: Source) -> int | None:
        return 1

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        number = int(source.shop["id"])
        return [] if position >= number else [{"id": number, "metafields": _read_metafields(source, "metafields.json")}]

    def get_targets(self, source: Source, objects: Sequence[SourceObject]) -> Mapping[int, int]:
        return {row["id"]: get_current_shop().pk for row in objects}


def create_metafield_stream(resource: str, stream_class: type[MetafieldStream] = MetafieldStream) -> MetafieldStream:
    """Create the stream of the metafields of an owner type. The owners are those in the map of IDs."""
    owner = owner_types[resource]
    attributes = {
        "__module__": __name__,
        "name": owner.topic_prefix,
        "resource": owner.topic_prefix,
        "model": owner.model,
        "owner": owner,
    }
    return type(f"{owner.gid}{stream_class.__name__}", (stream_class,), attributes)()


def _read_metafields(source: Source, path: str) -> list[SourceObject]:
    try:
        rows = list(source.client.iterate_pages(path, "metafields"))
    except ObjectGone:
        return []
    return [{name: row.get(name) for name in _MEMBERS} for row in rows]


def _map_global_ids(source: Source, objects: Sequence[SourceObject]) -> Mapping[str, str]:
    """Return the global IDs of this shop for those in the values of metafields."""
    resources = {owner.gid: owner.resource for owner in owner_types.values()}
    ids: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in objects:
        for metafield in row["metafields"]:
            for match in _GLOBAL_ID.finditer(str(metafield["value"])):
                if match[1] in resources:
                    ids[match[1]][int(match[2])].add(match[0])
    return {
        text: f"gid://{settings.BRAND}/{gid_type}/{target_id}"
        for gid_type, texts in ids.items()
        for source_id, target_id in source.ids.get_target_ids(resources[gid_type], texts).items()
        for text in texts[source_id]
    }


def _find_unknown_reference(metafield: SourceObject, global_ids: Mapping[str, str]) -> str:
    """Return the first global ID in a reference that is not the ID of an imported object, or a blank string."""
    if not str(metafield["type"]).endswith("_reference"):
        return ""
    texts = (match[0] for match in _GLOBAL_ID.finditer(str(metafield["value"])))
    return next((text for text in texts if text not in global_ids), "")


def _write_metafields(
    source: Source, row: SourceObject, owner: Model | None, global_ids: Mapping[str, str], *, is_new: bool
) -> ObjectResult:
    """Write the metafields of an owner, unless it was deleted or is an erased customer."""
    if owner is None or getattr(owner, "redacted_at", None) is not None or not row["metafields"]:
        return ObjectResult(Outcome.UNCHANGED)
    inputs: list[MetafieldInput] = []
    problems: list[Message] = []
    for metafield in row["metafields"]:
        data = {name: value for name, value in metafield.items() if value is not None}
        if isinstance(data.get("value"), str):
            data["value"] = _GLOBAL_ID.sub(lambda match: global_ids.get(match[0], match[0]), data["value"])
        values, errors = validate_metafield(data)
        unknown = _find_unknown_reference(metafield, global_ids)
        if unknown or errors:
            messages = [_UNKNOWN_OBJECT(global_id=unknown)] if unknown else itertools.chain(*errors.values())
            reason = pair_messages(messages)
            problems.append(_PROBLEM(name=f"{data.get('namespace')}.{data.get('key')}", reason=as_message(reason)))
        else:
            inputs.append(MetafieldInput(**values))

    def write() -> ObjectResult:
        changed = set_metafields(owner, inputs, actor=ACTOR, at=source.at)
        problem = join_messages(problems) if problems else None
        outcome = Outcome.UNCHANGED if not changed else Outcome.NEW if is_new else Outcome.CHANGED
        return ObjectResult(outcome, owner.pk, problem, is_complete=not problems)

    return write_in_savepoint(write)
