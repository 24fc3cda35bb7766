"""Delete the imported objects that were deleted in the store.

The ids of all objects are listed and compared with the map of ids. Nothing is deleted if the list is empty, has fewer
objects than the store counts, or lacks more than half of the imported objects. Each missing id is requested once more.
Objects that someone has changed in this shop are kept, and so are objects that can't be deleted.
"""

from collections.abc import Collection, Iterator, Sequence

from django.db import transaction
from django.db.models import Model

from apps.core.events.context import event_context
from apps.core.events.recording import record_for_audit_log_only
from apps.core.i18n.messages import Message, as_message
from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.domain.report import KEPT_CHANGED, KEPT_REFUSED
from apps.store_imports.domain.source_client import ObjectGone
from apps.store_imports.domain.streams import (
    IDS_PER_PAGE,
    ObjectResult,
    Outcome,
    Source,
    Stream,
    streams,
    write_in_savepoint,
)
from apps.store_imports.models import ImportProblem, MappedId, StoreImport

DELETED_AT_ONCE = 50
# A list without this part of the imported objects is not trusted, unless only a few are missing.
MAX_MISSING_SHARE, MAX_MISSING_FEW = 0.5, 10


def delete_missing_objects(store_import: StoreImport, source: Source, *, always: bool = False) -> Iterator[int]:
    """Delete the objects that the store has deleted. Must only be called after a pass that has ended.

    Yield the number of deleted objects after each transaction. Unless ``always``, the ids of a resource are only listed
    if the store counts another number of objects than were imported.
    """
    source = source.without_filter()
    by_resource: dict[str, list[Stream]] = {}
    for stream in streams.values():
        if stream.finds_deletions:
            by_resource.setdefault(stream.resource, []).append(stream)
    # Objects are deleted before the objects that they refer to.
    for members in reversed(by_resource.values()):
        try:
            missing = _find_missing_ids(store_import, source, members, always=always)
        except ObjectGone:
            # The store has no such list.
            continue
        for chunk in _split(missing, DELETED_AT_ONCE):
            yield _delete_objects(store_import, source, members[0], chunk)


def _find_missing_ids(
    store_import: StoreImport, source: Source, members: Sequence[Stream], *, always: bool
) -> Sequence[int]:
    """Return the source ids of imported objects that the store no longer has."""
    before = _count(source, members)
    if not always and before is not None and before == _count_expected(store_import, members):
        return ()
    listed = {source_id for stream in members for source_id in stream.list_ids(source)}
    after = _count(source, members)
    if not listed or any(count is not None and len(listed) < count for count in (before, after)):
        return ()
    entries = MappedId.objects.filter(store_import=store_import, resource=members[0].resource)
    imported = entries.exclude(digest=MappedId.KEPT).order_by("source_id").values_list("source_id", flat=True)
    total, missing = 0, []
    for source_id in imported.iterator():
        total += 1
        if source_id not in listed:
            missing.append(source_id)
    if len(missing) > max(MAX_MISSING_FEW, total * MAX_MISSING_SHARE):
        return ()
    return _confirm(source, members, missing) if missing else ()


def _count(source: Source, members: Sequence[Stream]) -> int | None:
    """Return the number of objects in the store, or None if the store does not count them."""
    total = 0
    for stream in members:
        count = stream.count_objects(source)
        if count is None:
            return None
        total += count
    return total


def _count_expected(store_import: StoreImport, members: Sequence[Stream]) -> int:
    """Return the number of objects that the store has if it has deleted none: those in the map, and the failed ones."""
    resource, names = members[0].resource, [stream.name for stream in members]
    entries = MappedId.objects.filter(store_import=store_import, resource=resource)
    unmapped = ImportProblem.objects.filter(store_import=store_import, stream__in=names).exclude(
        source_id__in=entries.values("source_id")
    )
    return entries.exclude(digest=MappedId.KEPT).count() + unmapped.count()


def _confirm(source: Source, members: Sequence[Stream], missing: Sequence[int]) -> Sequence[int]:
    """Return the ids that the store does not return if it is asked for them."""
    returned: set[int] = set()
    for stream in members:
        # A stream without a list of all ids has no filter for ids, so its lists are read once more.
        chunks = [missing] if stream.id_list is None else _split(missing, IDS_PER_PAGE)
        for chunk in chunks:
            source.keep_alive()
            returned.update(stream.list_ids(source, chunk))
    return [source_id for source_id in missing if source_id not in returned]


def _split(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


@transaction.atomic
def _delete_objects(store_import: StoreImport, source: Source, stream: Stream, source_ids: Collection[int]) -> int:
    """Delete the imported objects with these source ids, and remove them from the map. Return their number."""
    source.keep_alive()
    entries = source.ids.get_entries(stream.resource, source_ids)
    targets = stream.model._default_manager.in_bulk([row.target_id for row in entries.values()])
    changed_here = stream.find_changed_here(targets)
    deleted = 0
    with event_context(), record_for_audit_log_only():
        for entry in entries.values():
            target = targets.get(entry.target_id)
            problem: Message | None = None
            if target is not None and entry.target_id in changed_here:
                problem = as_message(KEPT_CHANGED)
            elif target is not None:
                parts = stream.get_part_ids(target)
                problem = _delete_target(source, stream, target)
                if problem is None:
                    deleted += 1
                    for resource, ids in parts.items():
                        source.ids.remove_targets(resource, ids)
            _save_deletion(store_import, stream, entry, problem)
    return deleted


def _delete_target(source: Source, stream: Stream, target: Model) -> Message | None:
    """Delete an object of this shop. Return the reason if it can't be deleted."""

    def delete() -> ObjectResult:
        stream.delete_target(target, at=source.at)
        return ObjectResult(Outcome.CHANGED)

    result = write_in_savepoint(delete)
    if result.problem is None:
        return None
    return KEPT_REFUSED(reason=as_message(result.problem))


def _save_deletion(store_import: StoreImport, stream: Stream, entry: MappedId, problem: Message | None) -> None:
    """Remove a deleted object from the map, or note why it was kept."""
    names = [other.name for other in streams.values() if other.resource == stream.resource]
    ImportProblem.objects.filter(store_import=store_import, stream__in=names, source_id=entry.source_id).delete()
    if problem is None:
        entry.delete()
        return
    entry.digest = MappedId.KEPT
    entry.save(update_fields=["digest"])
    ImportProblem.objects.create(
        shop=get_current_shop(),
        store_import=store_import,
        stream=stream.name,
        source_id=entry.source_id,
        is_failure=False,
        reason=problem,
    )
