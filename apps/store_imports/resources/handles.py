"""Refuse objects with the handle of another imported object, so that no object overwrites another."""

from collections.abc import Mapping, Sequence

from django.db.models import Model

from apps.core.i18n.messages import Message, define_message
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import Source

HANDLE_TAKEN = define_message(
    "store_imports.handle_taken",
    "The object of this shop with the handle {handle} was imported from the store's object {number}. "
    "Delete it, or change its handle.",
)


def find_taken_handles(
    source: Source, stream: str, resource: str, model: type[Model], objects: Sequence[SourceObject]
) -> Mapping[int, Message]:
    """Return the reasons to refuse new objects of the source, by source id.

    An object that was imported before keeps its handle, so its own handle does not matter.
    """
    known = source.ids.get_target_ids(resource, [row["id"] for row in objects])
    existing = set(model._default_manager.filter(pk__in=known.values()).order_by().values_list("pk", flat=True))
    handles = {}
    for row in objects:
        if known.get(row["id"]) not in existing:
            with refuse_malformed(stream, row):
                handles[row["id"]] = row["handle"].strip()
    rows = model._default_manager.filter(handle__in=handles.values()).order_by().values_list("handle", "pk")
    targets = dict(rows)
    owners = source.ids.get_source_ids(resource, list(targets.values()))
    return {
        source_id: HANDLE_TAKEN(handle=handle, number=str(owner))
        for source_id, handle in handles.items()
        if (owner := owners.get(targets.get(handle, 0), source_id)) != source_id
    }
