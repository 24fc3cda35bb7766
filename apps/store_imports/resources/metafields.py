"""Import the metafields of imported objects. Global IDs in values are replaced with those of this shop."""

import itertools
import re
from collections import defaultdict
from collections.abc import Collection as Some
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Model, QuerySet

from apps.core.i18n.messages import Message, as_message, define_message, join_messages, pair_messages
from apps.core.tenancy.scope import get_current_shop
from apps.metafields.api.metafields import MetafieldSerializer
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.metafields.domain.write import MetafieldInput, delete_metafield, set_metafields, validate_metafield
from apps.metafields.models import Metafield
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.source_client import ObjectGone, SourceObject
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.resources.customers import find_erased
from apps.store_imports.resources.rest_objects import read_objects

# Each owner costs a request.
PAGE_SIZE = 20
_GLOBAL_ID = re.compile(r"gid://[a-z0-9-]{1,40}/(\w{1,40})/([1-9][0-9]{0,17})(?![0-9])", re.ASCII)
# The lists of the API that have all owners, by resource. Owners without a list are only read in complete passes.
_OWNER_LISTS: Mapping[str, Sequence[str]] = {
    "product": ("products",),
    "collection": ("custom_collections", "smart_collections"),
    "customer": ("customers",),
    "page": ("pages",),
    "blog": ("blogs",),
    "order": ("orders",),
    "draft_order": ("draft_orders",),
}
METAFIELD = "metafield"
_MEMBERS = ("namespace", "key", "type", "value", "description")
_UNKNOWN_OBJECT = define_message(
    "store_imports.unknown_object", "It refers to {global_id}, but this object was not imported."
)
_PROBLEM = define_message("store_imports.metafield", "The metafield {name} was not imported: {reason}")


class MetafieldStream(Stream):
    """The metafields of one type of owners. An object is an owner's id with the list of its metafields."""

    owner: ClassVar[OwnerType]
    comparison = Comparison(read=None)

    def count_objects(self, source: Source) -> int | None:
        return None if source.changed_since else source.ids.count_entries(self.owner.resource)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next owners with their metafields.

        Unless the metafields of all owners must be read, those of changed owners are read.
        """
        ids: Sequence[int]
        if source.only_ids:
            ids = [pk for pk in source.only_ids if pk > position][:PAGE_SIZE]
        elif source.reads_all_metafields:
            ids = [row.source_id for row in source.ids.get_next_entries(self.owner.resource, position, PAGE_SIZE)]
        else:
            ids = self._find_changed_owners(source, position)
        return [
            {"id": pk, "metafields": _read_metafields(source, f"{self.owner.path}/{pk}/metafields.json")} for pk in ids
        ]

    def _find_changed_owners(self, source: Source, position: int) -> Sequence[int]:
        """Return the ids of the next imported owners that have changed."""
        while True:
            rows: list[SourceObject] = []
            for name in _OWNER_LISTS.get(self.owner.resource, ()):
                query = {"status": "any"} if name == "orders" else {}
                rows += source.client.get_page(
                    f"{name}.json",
                    name,
                    since_id=position,
                    limit=PAGE_SIZE,
                    fields="id",
                    **query,
                    **source.change_filter,
                )
            ids = sorted(row["id"] for row in rows)[:PAGE_SIZE]
            if not ids:
                return ()
            if imported := sorted(source.ids.get_entries(self.owner.resource, ids)):
                return imported
            position = ids[-1]

    def get_targets(self, source: Source, objects: Sequence[SourceObject]) -> Mapping[int, int]:
        """Return the ids of the owners in this shop, by source id."""
        return source.ids.get_target_ids(self.owner.resource, [row["id"] for row in objects])

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        targets = self.get_targets(source, objects)
        owners = self.model._default_manager.in_bulk(list(targets.values()))
        global_ids = _map_global_ids(source, objects)
        known = source.ids.get_target_ids(self.resource, targets)
        own = Metafield.objects.filter(owner_resource=self.owner.resource, owner_id__in=owners)
        imported = source.ids.get_source_ids(METAFIELD, own.values_list("pk", flat=True))
        for row in objects:
            listed = {metafield["id"] for metafield in row["metafields"]}
            for metafield in own:
                if metafield.owner_id == targets[row["id"]] and imported.get(metafield.pk, 0) not in {0, *listed}:
                    source.ids.remove_targets(METAFIELD, [metafield.pk])
                    delete_metafield(metafield, actor=ACTOR, at=source.at)
        return [
            _write_metafields(
                source,
                self.owner.resource,
                row,
                owners.get(targets[row["id"]]),
                global_ids,
                is_new=row["id"] not in known,
            )
            for row in objects
        ]

    @property
    def matched_resource(self) -> str:
        return self.owner.resource

    def get_own_objects(self) -> QuerySet[Any]:
        """Return nothing, because owners without metafields are found by the stream of the owners."""
        return self.model._default_manager.none()

    def read_own(self, source: Source, target_ids: Some[int]) -> Mapping[int, SourceObject]:
        own: dict[int, SourceObject] = {pk: {"id": pk, "metafields": []} for pk in target_ids}
        ids = Metafield.objects.filter(owner_resource=self.owner.resource, owner_id__in=own).values_list(
            "pk", flat=True
        )
        for row in read_objects(MetafieldSerializer, list(ids), source.client.version).values():
            own[row["owner_id"]]["metafields"].append({name: row[name] for name in _MEMBERS})
        return own

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        """Sort the metafields by name, and replace the global IDs in the values of the store."""
        global_ids = _map_global_ids(source, [theirs])
        for row in theirs["metafields"]:
            if isinstance(row["value"], str):
                row["value"] = _replace_global_ids(row["value"], global_ids)
        for rows in (theirs["metafields"], ours["metafields"]):
            rows.sort(key=lambda row: (str(row["namespace"]), str(row["key"])))

    def find_exempt(self, target_ids: Some[int]) -> Mapping[int, str]:
        return find_erased(target_ids) if self.owner.resource == "customer" else {}


class OptionalMetafieldStream(MetafieldStream):
    """The metafields of owners that a store has so many of that reading them takes hours. They must be requested."""

    comparison = Comparison(
        read=None,
        not_compared={"metafields": "each owner takes a request, so they are not compared"},
    )

    def count_objects(self, source: Source) -> int | None:
        return super().count_objects(source) if source.with_variant_metafields else 0

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        return super().read_page(source, position) if source.with_variant_metafields else []


class ShopMetafieldStream(MetafieldStream):
    """The shop's own metafields, which the API lists without an owner."""

    def count_objects(self, source: Source) -> int | None:
        return None if source.changed_since else 1

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        number = int(source.shop["id"])
        if position >= number or not source.reads_all_metafields:
            return []
        return [{"id": number, "metafields": _read_metafields(source, "metafields.json")}]

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
    return [{name: row.get(name) for name in ("id", *_MEMBERS)} for row in rows]


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


def _replace_global_ids(text: str, global_ids: Mapping[str, str]) -> str:
    return _GLOBAL_ID.sub(lambda match: global_ids.get(match[0], match[0]), text)


def _find_unknown_reference(metafield: SourceObject, global_ids: Mapping[str, str]) -> str:
    """Return the first global ID in a reference that is not the ID of an imported object, or a blank string."""
    if not str(metafield["type"]).endswith("_reference"):
        return ""
    texts = (match[0] for match in _GLOBAL_ID.finditer(str(metafield["value"])))
    return next((text for text in texts if text not in global_ids), "")


def _write_metafields(
    source: Source,
    owner_resource: str,
    row: SourceObject,
    owner: Model | None,
    global_ids: Mapping[str, str],
    *,
    is_new: bool,
) -> ObjectResult:
    """Write the metafields of an owner, unless it was deleted or is an erased customer."""
    if owner is None or getattr(owner, "redacted_at", None) is not None or not row["metafields"]:
        return ObjectResult(Outcome.UNCHANGED)
    inputs: list[MetafieldInput] = []
    problems: list[Message] = []
    for metafield in row["metafields"]:
        data = {name: metafield[name] for name in _MEMBERS if metafield[name] is not None}
        if isinstance(data.get("value"), str):
            data["value"] = _replace_global_ids(data["value"], global_ids)
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
        own = Metafield.objects.filter(owner_resource=owner_resource, owner_id=owner.pk)
        pks = {(item.namespace, item.key): item.pk for item in own}
        names = {metafield["id"]: (metafield["namespace"], metafield["key"]) for metafield in row["metafields"]}
        parts = [NewId(METAFIELD, pk, pks[name]) for pk, name in names.items() if name in pks]
        return ObjectResult(outcome, owner.pk, problem, is_complete=not problems, parts=parts)

    return write_in_savepoint(write)
