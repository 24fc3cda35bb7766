"""Import the streams of a store page by page.

Each page is read outside of any transaction. Its objects, the map of their ids, the counts and the position are saved
in one transaction, so an import that is killed continues with the same page. A lease ensures that only one process
runs an import at a time.
"""

import time
import uuid
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, DateTimeField, F, Model, Q, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from apps.core.db import planner_statistics
from apps.core.events.context import event_context
from apps.core.events.recording import record_for_audit_log_only
from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.domain.errors import CurrencyDiffers, StoreImportBusy, StoreImportEnded
from apps.store_imports.domain.id_map import IdMap, NewId
from apps.store_imports.domain.path_redirects import redirect_source_paths
from apps.store_imports.domain.progress import add_seconds, create_states
from apps.store_imports.domain.selection import select_streams
from apps.store_imports.domain.source_client import SourceClient, SourceObject, read_creation_time
from apps.store_imports.domain.streams import ObjectResult, Outcome, Source, Stream, get_digest, streams
from apps.store_imports.models import ImportProblem, MappedId, StoreImport, StreamState

# A killed process blocks other processes for this long.
LEASE = timedelta(seconds=60)
# Long pauses are divided, so that the lease is extended in time.
MAX_SLEEP_SECONDS = 10.0
# A pass over the changes also reads the changes of this time before the last complete pass, so that transactions of the
# store that were open at its start are not missed.
OVERLAP = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class PassOptions:
    """How a pass reads the streams.

    Attributes:
        only_changes: Read what has changed since the last complete pass. The first pass always reads everything.
        retries: Read the objects again that were not imported, or not completely.
        is_thorough, skips_metafields, with_variant_metafields: See ``Source``.
        restarts: Start an interrupted pass over the changes from the beginning.
        selected: The names of the streams to read, by default all.
    """

    only_changes: bool = False
    retries: bool = False
    is_thorough: bool = False
    skips_metafields: bool = False
    restarts: bool = False
    selected: Collection[str] = ()
    with_variant_metafields: bool = False


@dataclass(frozen=True, slots=True)
class ImportClaim:
    """The lease that a process holds on an import."""

    import_id: int
    token: uuid.UUID

    def extend(self) -> None:
        """Extend the lease. Within a transaction, the row of the import stays locked until it ends.

        Raises:
            StoreImportBusy: Another process has taken over.
        """
        rows = StoreImport.objects.filter(pk=self.import_id, claim=self.token)
        if not rows.update(claimed_until=Now() + LEASE):
            raise StoreImportBusy

    def sleep(self, seconds: float) -> None:
        """Wait, and extend the lease before each part of the pause."""
        end = time.monotonic() + seconds
        self.extend()
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, MAX_SLEEP_SECONDS))
            self.extend()


@contextmanager
def claim_import(store_import: StoreImport) -> Iterator[ImportClaim]:
    claim = ImportClaim(store_import.pk, uuid.uuid4())
    is_available = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    rows = StoreImport.objects.filter(is_available, pk=store_import.pk)
    if not rows.update(claim=claim.token, claimed_until=Now() + LEASE):
        raise StoreImportBusy
    try:
        yield claim
    finally:
        StoreImport.objects.filter(pk=store_import.pk, claim=claim.token).update(claim=None, claimed_until=None)


def get_or_create_import(source_url: str) -> StoreImport:
    return StoreImport.objects.get_or_create(shop=get_current_shop(), source_url=source_url)[0]


def run_store_import(
    store_import: StoreImport,
    client: SourceClient,
    shop: SourceObject,
    *,
    selected: Collection[str] = (),
    with_variant_metafields: bool = False,
) -> Generator[StreamState]:
    """Import a store, or continue an interrupted import. Yield the state of the current stream after each page.

    ``shop`` is the store's shop object. ``selected`` are the names of the streams to import, by default all. See
    ``Source`` for the other option.

    Raises:
        SelectionRefused: There is no stream with one of the names.
        SourceUnreadable: The store can't be read. What was imported is kept, and the next call continues.
        StoreImportBusy: Another process runs the import.
        CurrencyDiffers: The store has another currency than the shop.
    """
    with claim_import(store_import) as claim:
        options = PassOptions(selected=selected, with_variant_metafields=with_variant_metafields)
        yield from run_pass(store_import, replace(client, sleep=claim.sleep), shop, claim, options)


def run_pass(
    store_import: StoreImport,
    client: SourceClient,
    shop: SourceObject,
    claim: ImportClaim,
    options: PassOptions = PassOptions(),
) -> Generator[StreamState]:
    """Read the streams once, or continue an interrupted pass. Yield the state of the stream after each page."""
    selected = select_streams(options.selected)
    check_currency(shop)
    _start_pass(store_import, claim, client, options)
    since = store_import.changed_since
    source = Source(
        client,
        shop,
        IdMap(store_import.pk),
        timezone.now(),
        claim.extend,
        changed_since=since,
        is_thorough=options.is_thorough,
        skips_metafields=options.skips_metafields,
        with_variant_metafields=options.with_variant_metafields,
    )
    create_states(store_import, selected, source)
    written = 0
    for stream in selected:
        for state, count in _run_stream(store_import, stream, source, claim, retries=options.retries):
            planner_statistics.refresh_statistics_while_writing(written, written + count)
            written += count
            yield state
    rows = StoreImport.objects.filter(pk=store_import.pk, claim=claim.token)
    rows.update(state=StoreImport.State.DONE, finished_at=timezone.now())
    if len(selected) == len(streams):
        rows.update(complete_since=F("pass_started_at"))


def check_currency(shop: SourceObject) -> None:
    theirs, ours = str(shop.get("currency")), get_current_shop().currency
    if theirs != ours:
        raise CurrencyDiffers(theirs=theirs, ours=ours)


@transaction.atomic
def _start_pass(store_import: StoreImport, claim: ImportClaim, client: SourceClient, options: PassOptions) -> None:
    """Start from the beginning if the last pass has ended. Otherwise, the streams continue at their positions.

    The states are those of the streams of this pass. The problems of streams that are not selected are kept.
    An interrupted pass over the changes starts from the beginning if a complete pass or a restart is requested.

    Raises:
        StoreImportEnded: A final pass has ended the import.
    """
    claim.extend()
    store_import.refresh_from_db()
    if store_import.ended_at is not None:
        raise StoreImportEnded(store_import.ended_at)
    states = StreamState.objects.filter(store_import=store_import)
    is_interrupted = store_import.state == StoreImport.State.RUNNING and states.exists()
    is_over_changes = is_interrupted and store_import.changed_since is not None
    begins = not is_interrupted or (is_over_changes and not options.only_changes)
    if begins:
        since = store_import.complete_since if options.only_changes else None
        store_import.changed_since = since - OVERLAP if since else None
        store_import.state, store_import.finished_at = StoreImport.State.RUNNING, None
    if begins or (is_over_changes and options.restarts):
        store_import.pass_started_at = client.clock.now()
        store_import.save(update_fields=["state", "finished_at", "pass_started_at", "changed_since"])
        states.delete()
        if store_import.changed_since is None:
            names = [stream.name for stream in select_streams(options.selected)]
            ImportProblem.objects.filter(store_import=store_import, stream__in=names).delete()


def _run_stream(
    store_import: StoreImport, stream: Stream, source: Source, claim: ImportClaim, *, retries: bool
) -> Iterator[tuple[StreamState, int]]:
    """Import a stream from its position. Yield its state and the number of written objects after each page."""
    state, _ = StreamState.objects.get_or_create(shop=get_current_shop(), store_import=store_import, name=stream.name)
    if state.finished_at is not None:
        return
    started = time.monotonic()
    while page := stream.read_page(source, state.position):
        count = _import_page(store_import, stream, source, claim, state, page)
        add_seconds(state, started)
        yield state, count
        started = time.monotonic()
    if source.changed_since is not None:
        ids = set(stream.find_indirect_changes(source))
        if retries:
            ids |= _find_incomplete(store_import, stream)
        for page in stream.read_again(source, ids):
            yield state, _import_page(store_import, stream, source, claim, state, page)
    claim.extend()
    state.finished_at = timezone.now()
    state.save(update_fields=["finished_at"])
    yield state, 0


def _import_page(  # noqa: PLR0917 - the parts of a run
    store_import: StoreImport,
    stream: Stream,
    source: Source,
    claim: ImportClaim,
    state: StreamState,
    page: Sequence[SourceObject],
) -> int:
    """Import the objects of a page that differ from the last run. Return their number."""
    digests = {int(row["id"]): get_digest(row) for row in page}
    unchanged = _find_unchanged(stream, source, digests)
    pending = [row for row in page if int(row["id"]) not in unchanged]
    ids = [int(row["id"]) for row in pending]
    with event_context(), stream.fetch_files(source, pending) as files, transaction.atomic():
        claim.extend()
        # An object may have been created in the store after the start of the run.
        source = replace(source, at=timezone.now())
        with record_for_audit_log_only():
            results = stream.write_objects(source, pending, files) if pending else []
            if stream.sets_creation_time:
                _set_creation_times(stream.model, pending, results, at=source.at)
            results = redirect_source_paths(source, stream, pending, results)
        _save_results(store_import, stream, source, dict(zip(ids, results, strict=True)), digests)
        counts = Counter(result.outcome for result in results)
        counts[Outcome.UNCHANGED] += len(unchanged)
        _advance(state, max(state.position, stream.get_position(page)), counts)
    return len(pending)


def _set_creation_times(
    model: type[Model], objects: Sequence[SourceObject], results: Sequence[ObjectResult], *, at: datetime
) -> None:
    """Set the times of creation of new objects to those in the store. ``at`` is the time of the import."""
    times = {
        result.target_id: Value(created_at, DateTimeField())
        for row, result in zip(objects, results, strict=True)
        if result.outcome == Outcome.NEW and (created_at := read_creation_time(row, at).get("created_at"))
    }
    if times:
        rows = model._default_manager.filter(pk__in=times)
        rows.update(created_at=Case(*(When(pk=pk, then=created_at) for pk, created_at in times.items())))


def _find_incomplete(store_import: StoreImport, stream: Stream) -> set[int]:
    """Return the source ids of objects that were not imported, or not completely."""
    failed = ImportProblem.objects.filter(store_import=store_import, stream=stream.name, is_failure=True)
    incomplete = MappedId.objects.filter(store_import=store_import, resource=stream.resource, digest="")
    return {*failed.values_list("source_id", flat=True), *incomplete.values_list("source_id", flat=True)}


def _find_unchanged(stream: Stream, source: Source, digests: dict[int, str]) -> set[int]:
    """Return the source ids of objects that are the same as in the last run and still exist in this shop."""
    entries = source.ids.get_entries(stream.resource, digests)
    same = {source_id: row.target_id for source_id, row in entries.items() if row.digest == digests[source_id]}
    existing = set(stream.model._default_manager.filter(pk__in=same.values()).order_by().values_list("pk", flat=True))
    return {source_id for source_id, target_id in same.items() if target_id in existing}


def _save_results(
    store_import: StoreImport,
    stream: Stream,
    source: Source,
    results: dict[int, ObjectResult],
    digests: dict[int, str],
) -> None:
    entries: list[NewId] = []
    for source_id, result in results.items():
        if result.target_id is not None:
            digest = digests[source_id] if result.is_complete and result.outcome != Outcome.FAILED else ""
            entries += [NewId(stream.resource, source_id, result.target_id, digest), *result.parts]
    source.ids.save_entries(entries)
    ImportProblem.objects.filter(store_import=store_import, stream=stream.name, source_id__in=results).delete()
    ImportProblem.objects.bulk_create(
        ImportProblem(
            shop=get_current_shop(),
            store_import=store_import,
            stream=stream.name,
            source_id=source_id,
            is_failure=result.outcome == Outcome.FAILED,
            reason=result.problem,
        )
        for source_id, result in results.items()
        if result.problem is not None
    )


def _advance(state: StreamState, position: int, counts: "Counter[Outcome]") -> None:
    """Save the position and the counts of a stream, and load the new counts."""
    increments = {outcome.value: F(outcome.value) + count for outcome, count in counts.items()}
    StreamState.objects.filter(pk=state.pk).update(position=position, **increments)
    state.refresh_from_db()
