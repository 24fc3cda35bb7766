"""Import the metafields of imported objects. Global IDs in values are replaced with those of this shop."""

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Model

from apps.catalog.models import Collection, Product
from apps.content.models import Page
from apps.core.i18n.messages import Message, as_message, define_message, join_messages, pair_messages
from apps.customers.models import Customer
from apps.draft_orders.models import DraftOrder
from apps.metafields.domain.write import MetafieldInput, set_metafields, validate_metafield
from apps.store_imports.domain.source_client import ObjectGone, SourceObject
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream, write_in_savepoint

# Each owner costs a request.
PAGE_SIZE = 20
_GLOBAL_ID = re.compile(r"gid://[a-z0-9-]{1,40}/(\w{1,40})/([1-9][0-9]{0,17})(?![0-9])", re.ASCII)
# The resources in the map of IDs, by the types in global IDs.
_RESOURCES = {
    "Product": "product",
    "ProductVariant": "variant",
    "Collection": "collection",
    "Customer": "customer",
    "Page": "page",
}
_MEMBERS = ("namespace", "key", "type", "value", "description")
_UNKNOWN_OBJECT = define_message(
    "store_imports.unknown_object", "It refers to {global_id}, but this object was not imported."
)
_PROBLEM = define_message("store_imports.metafield", "The metafield {name} was not imported: {reason}")


class MetafieldStream(Stream):
    """The metafields of one type of owners. An object is an owner's id with the list of its metafields."""

    owner_resource: ClassVar[str]
    path: ClassVar[str]

    def count_objects(self, source: Source) -> int | None:
        return source.ids.count_entries(self.owner_resource)

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        entries = source.ids.get_next_entries(self.owner_resource, position, PAGE_SIZE)
        return [
            {"id": entry.source_id, "metafields": self._read_metafields(source, entry.source_id)} for entry in entries
        ]

    def _read_metafields(self, source: Source, owner_id: int) -> list[SourceObject]:
        try:
            rows = list(source.client.iterate_pages(f"{self.path}/{owner_id}/metafields.json", "metafields"))
        except ObjectGone:
            return []
        return [{name: row.get(name) for name in _MEMBERS} for row in rows]

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        targets = source.ids.get_target_ids(self.owner_resource, [row["id"] for row in objects])
        owners = self.model._default_manager.in_bulk(list(targets.values()))
        global_ids = _map_global_ids(source, objects)
        known = source.ids.get_target_ids(self.resource, targets)
        return [
            _write_metafields(source, row, owners.get(targets[row["id"]]), global_ids, is_new=row["id"] not in known)
            for row in objects
        ]


class ProductMetafieldStream(MetafieldStream):
    name = resource = "product_metafields"
    model: ClassVar[type[Model]] = Product
    owner_resource = "product"
    path = "products"


class CollectionMetafieldStream(MetafieldStream):
    name = resource = "collection_metafields"
    model: ClassVar[type[Model]] = Collection
    owner_resource = "collection"
    path = "collections"


class CustomerMetafieldStream(MetafieldStream):
    name = resource = "customer_metafields"
    model: ClassVar[type[Model]] = Customer
    owner_resource = "customer"
    path = "customers"


class DraftOrderMetafieldStream(MetafieldStream):
    name = resource = "draft_order_metafields"
    model: ClassVar[type[Model]] = DraftOrder
    owner_resource = "draft_order"
    path = "draft_orders"


class PageMetafieldStream(MetafieldStream):
    name = resource = "page_metafields"
    model: ClassVar[type[Model]] = Page
    owner_resource = "page"
    path = "pages"


def _map_global_ids(source: Source, objects: Sequence[SourceObject]) -> Mapping[str, str]:
    """Return the global IDs of this shop for those in the values of metafields."""
    ids: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in objects:
        for metafield in row["metafields"]:
            for match in _GLOBAL_ID.finditer(str(metafield["value"])):
                if match[1] in _RESOURCES:
                    ids[match[1]][int(match[2])].add(match[0])
    return {
        text: f"gid://{settings.BRAND}/{gid_type}/{target_id}"
        for gid_type, texts in ids.items()
        for source_id, target_id in source.ids.get_target_ids(_RESOURCES[gid_type], texts).items()
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
