"""Compare all objects of a store with those of the shop that imports the store, field by field.

Pages are read as in an import, so only one page of objects is in memory.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from django.utils import timezone

from apps.store_imports.domain.comparison import ALWAYS_DIFFERENT
from apps.store_imports.domain.id_map import IdMap
from apps.store_imports.domain.runner import claim_import
from apps.store_imports.domain.source_client import SourceClient, SourceObject
from apps.store_imports.domain.streams import Source, Stream, streams
from apps.store_imports.models import ImportProblem, MappedId, StoreImport

IDS_AT_ONCE = 500
_KEPT = "deleted in the store, and kept because it was changed or is needed in this shop"
_RESTORED, _STAYS_DELETED = "the next import creates it again", "the import does not create it again"
_NO_COMPARISON = "objects of this kind are not compared"


class FindingKind(StrEnum):
    """The kind of a finding. The values are in the report."""

    DIFFERS = "differs"
    MISSING = "missing here"
    DELETED = "deleted in this shop"
    MORE = "more here"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A line of the report. ``is_limit`` is True for a difference that is known and has a ``reason``."""

    stream: str
    kind: FindingKind
    source_id: int | None = None
    target_id: int | None = None
    field: str = ""
    theirs: object = None
    ours: object = None
    reason: str = ""
    is_limit: bool = False

    def as_row(self) -> dict[str, object]:
        return asdict(self)


@dataclass(slots=True)
class StreamSummary:
    """The numbers of objects of a stream by result. ``limits`` counts objects with a listed reason to differ."""

    name: str
    equal: int = 0
    differing: int = 0
    missing: int = 0
    deleted: int = 0
    more: int = 0
    limits: int = 0

    @property
    def differences(self) -> int:
        return self.differing + self.missing + self.deleted + self.more


Record = Callable[[Finding], None]


def verify_import(
    store_import: StoreImport, client: SourceClient, shop: SourceObject, record: Record
) -> Iterator[StreamSummary]:
    """Compare the streams one after another. Pass each finding to ``record``, and yield a summary of each stream.

    Raises:
        SourceUnreadable: The store can't be read.
        StoreImportBusy: Another process runs the import.
    """
    with claim_import(store_import) as claim:
        client = replace(client, sleep=claim.sleep)
        source = Source(client, shop, IdMap(store_import.pk), timezone.now(), claim.extend)
        for stream in streams.values():
            yield _StreamVerification(store_import, stream, source, record).run()


class _StreamVerification:
    def __init__(self, store_import: StoreImport, stream: Stream, source: Source, record: Record) -> None:
        self.store_import, self.stream, self.source, self._record = store_import, stream, source, record
        self.comparison = stream.get_comparison(source)
        self.summary = StreamSummary(stream.name)

    def record(self, kind: FindingKind, **values: object) -> None:
        self._record(Finding(stream=self.stream.name, kind=kind, **values))  # type: ignore[arg-type]

    def run(self) -> StreamSummary:
        if self.comparison is None:
            self.record(FindingKind.NOT_COMPARED, reason=_NO_COMPARISON, is_limit=True)
            return self.summary
        for path, reason in {**ALWAYS_DIFFERENT, **self.comparison.not_compared}.items():
            self.record(FindingKind.NOT_COMPARED, field=path, reason=reason, is_limit=True)
        position, listed = 0, set[int]()
        while page := self.stream.read_page(self.source, position):
            self.source.keep_alive()
            ids = [int(row["id"]) for row in page]
            self._compare_page(page)
            if self.stream.is_ascending:
                self._record_deleted(position, ids[-1], ids)
                position = ids[-1]
            else:
                listed.update(ids)
        self._record_deleted(position, None, listed)
        self._record_own()
        return self.summary

    def _compare_page(self, page: Sequence[SourceObject]) -> None:
        comparison = self.comparison
        assert comparison is not None
        by_id = {int(row["id"]): row for row in page}
        targets = self.source.ids.get_target_ids(self.stream.matched_resource, by_id)
        ours = self.stream.read_own(self.source, set(targets.values()))
        exempt = self.stream.find_exempt(set(targets.values()))
        found = comparison.collect_ids(page)
        target_ids = {resource: self.source.ids.get_target_ids(resource, ids) for resource, ids in found.items()}
        problems = self._get_problems(by_id)
        for source_id, row in by_id.items():
            target_id = targets.get(source_id)
            if target_id is None or target_id not in ours:
                self._record_missing(row, target_id, problems.get(source_id))
            elif target_id in exempt:
                self.summary.limits += 1
                self.record(
                    FindingKind.DIFFERS,
                    source_id=source_id,
                    target_id=target_id,
                    reason=exempt[target_id],
                    is_limit=True,
                )
            else:
                theirs, own = comparison.translate_ids(row, target_ids), ours[target_id]
                self.stream.normalize_pair(self.source, theirs, own)
                differences = list(comparison.find_differences(theirs, own))
                for difference in differences:
                    limit = comparison.get_limit(difference.path)
                    self.record(
                        FindingKind.DIFFERS,
                        source_id=source_id,
                        target_id=target_id,
                        field=difference.path,
                        theirs=difference.theirs,
                        ours=difference.ours,
                        reason=limit or (problems[source_id].reason if source_id in problems else ""),
                        is_limit=bool(limit),
                    )
                are_limits = all(comparison.get_limit(difference.path) for difference in differences)
                self.summary.equal += not differences
                self.summary.limits += bool(differences) and are_limits
                self.summary.differing += not are_limits

    def _get_problems(self, source_ids: Mapping[int, object]) -> Mapping[int, ImportProblem]:
        rows = ImportProblem.objects.filter(
            store_import=self.store_import, stream=self.stream.name, source_id__in=source_ids
        )
        return {row.source_id: row for row in rows}

    def _record_missing(self, row: SourceObject, target_id: int | None, problem: ImportProblem | None) -> None:
        """Record an object that this shop does not have. With a ``target_id``, it was imported and deleted here.

        It is a limit if the import noted why it was left out, or does not create it again.
        """
        is_deleted = target_id is not None
        left_out = self.stream.get_reason_left_out(row)
        stays_deleted = is_deleted and not self.stream.restores_deleted
        is_limit = bool(left_out) or stays_deleted or (problem is not None and not problem.is_failure)
        if is_deleted:
            kind, default = FindingKind.DELETED, _STAYS_DELETED if stays_deleted else _RESTORED
        else:
            kind, default = FindingKind.MISSING, "not imported yet"
        reason = left_out or (problem.reason if problem else default)
        self.record(kind, source_id=int(row["id"]), target_id=target_id, reason=reason, is_limit=is_limit)
        self.summary.limits += is_limit
        self.summary.deleted += is_deleted and not is_limit
        self.summary.missing += not is_deleted and not is_limit

    def _record_deleted(self, after: int, until: int | None, listed: Collection[int]) -> None:
        """Record imported objects that the store no longer lists between two of its IDs."""
        limit = min(len(listed) + 1, IDS_AT_ONCE) if listed else IDS_AT_ONCE
        while entries := self.source.ids.get_next_entries(self.stream.matched_resource, after, limit):
            within = [row for row in entries if until is None or row.source_id <= until]
            deleted = [row for row in within if row.source_id not in listed]
            own = self.stream.get_own_objects().filter(pk__in=[row.target_id for row in deleted])
            existing = set(own.values_list("pk", flat=True)) if deleted else set()
            for row in deleted:
                if row.target_id in existing:
                    reason = _KEPT if row.digest == MappedId.KEPT else "deleted in the store"
                    self._record_more(row.target_id, row.source_id, reason)
            if len(within) < len(entries):
                return
            after = entries[-1].source_id

    def _record_own(self) -> None:
        """Record objects of this shop that were not imported."""
        own = self.stream.get_own_objects().order_by("pk").values_list("pk", flat=True)
        after = 0
        while pks := list(own.filter(pk__gt=after)[:IDS_AT_ONCE]):
            after = pks[-1]
            self.source.keep_alive()
            imported = self.source.ids.get_source_ids(self.stream.matched_resource, pks)
            for pk in pks:
                if pk not in imported:
                    self._record_more(pk, None, "not from the store")

    def _record_more(self, target_id: int, source_id: int | None, reason: str) -> None:
        is_limit = reason == _KEPT
        self.record(FindingKind.MORE, source_id=source_id, target_id=target_id, reason=reason, is_limit=is_limit)
        self.summary.limits += is_limit
        self.summary.more += not is_limit
