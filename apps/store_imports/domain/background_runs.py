"""Run imports in background jobs: start, pause and continue them.

A job imports for a few minutes, and then enqueues the next one, so that a long import does not fail because of many
restarts of workers. A killed job is repeated and continues with the page that it was writing.
"""

import time
from collections.abc import Collection
from contextlib import closing
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import as_message, define_text
from apps.core.jobs import queue as jobs
from apps.core.jobs.metrics import find_active_job
from apps.core.jobs.models import Job
from apps.core.jobs.worker_shutdown import is_shutting_down
from apps.core.tenancy.scope import shop_scope
from apps.store_imports.domain.connections import TOKEN_LIFETIME, create_client, read_source_shop
from apps.store_imports.domain.errors import (
    ImportRunning,
    SelectionRefused,
    SourceUnreachable,
    StoreImportBusy,
    StoreImportEnded,
    TokenMissing,
)
from apps.store_imports.domain.runner import run_store_import
from apps.store_imports.domain.selection import select_streams
from apps.store_imports.models import StoreConnection, StoreImport, StreamState

RUN_TASK = "store_imports.run_import"
STARTED, PAUSED, ENDED = "store_imports/start", "store_imports/pause", "store_imports/end"
# A job imports for this long.
MAX_JOB_SECONDS = 600.0
# A running import without a job for this long is continued.
STALLED_AFTER = timedelta(minutes=2)
_State = StoreConnection.State
_NOTHING_SELECTED = define_text("store_imports.nothing_selected", "Select what to import.")
_CANCELED = define_text("store_imports.job_canceled", "The background job was canceled.")


@transaction.atomic
def start_run(connection: StoreConnection, *, streams: Collection[str], actor: str, at: datetime) -> None:
    """Start an import, or continue a paused or failed import, with the selected streams.

    Raises:
        SelectionRefused: Nothing or an unknown stream is selected.
        TokenMissing: The token was deleted.
        ImportRunning: An import of this shop is running.
        StoreImportEnded: A final pass has ended the import.
    """
    if not streams:
        raise SelectionRefused(_NOTHING_SELECTED)
    names = [stream.name for stream in select_streams(streams)]
    # Lock all connections of the shop, so that two imports cannot start at the same time.
    connections = {row.pk: row for row in StoreConnection.rows().select_for_update().order_by("pk")}
    row = connections[connection.pk]
    if any(other.state == _State.RUNNING for other in connections.values()):
        raise ImportRunning
    if not row.token:
        raise TokenMissing
    store_import = StoreImport.objects.get(pk=row.store_import_id)
    if store_import.ended_at is not None:
        raise StoreImportEnded(store_import.ended_at)
    row.state, row.streams, row.problem = _State.RUNNING, names, as_message("")
    row.run += 1
    row.token_expires_at = at + TOKEN_LIFETIME
    row.save(update_fields=["state", "streams", "problem", "run", "token_expires_at"])
    record_event(STARTED, store_import, actor=actor, at=at, changes={"streams": [None, names]})
    jobs.enqueue(RUN_TASK, actor=actor, import_id=row.store_import_id, run=row.run)


@transaction.atomic
def pause_run(connection: StoreConnection, *, deletes_token: bool = False, actor: str, at: datetime) -> bool:
    """Pause an import after the current page, or stop it for good by deleting the token as well.

    Return False if the import is in another state.
    """
    states = [_State.RUNNING, *((_State.READY, _State.PAUSED, _State.FAILED) if deletes_token else ())]
    row = StoreConnection.rows().select_for_update().filter(pk=connection.pk, state__in=states).first()
    if row is None:
        return False
    row.state = _State.PAUSED
    if deletes_token:
        row.token, row.token_expires_at = "", None
    row.save(update_fields=["state", "token", "token_expires_at"])
    record_event(PAUSED, row.store_import, actor=actor, at=at)
    return True


def execute_run(job: Job, *, import_id: int, run: int) -> None:
    """Import until the end, or for some minutes. Do nothing if the run was paused or replaced by another run.

    Raises:
        SourceUnreachable: The store does not answer. The job is retried.
        StoreImportBusy: Another process imports the store. The job is retried.
    """
    is_current = StoreConnection.objects.filter(store_import_id=import_id, run=run, state=_State.RUNNING)
    connection = is_current.select_related("store_import").first()
    if connection is None:
        return
    is_current.update(token_expires_at=timezone.now() + TOKEN_LIFETIME)
    end = time.monotonic() + MAX_JOB_SECONDS
    try:
        if not connection.token:
            raise TokenMissing
        client = create_client(connection)
        shop = read_source_shop(client)
        with closing(run_store_import(connection.store_import, client, shop, selected=connection.streams)) as pages:
            for _page in pages:
                _report_progress(job, connection)
                if not is_current.exists():
                    return
                if time.monotonic() > end or is_shutting_down():
                    jobs.enqueue(RUN_TASK, actor=job.actor, import_id=import_id, run=run)
                    return
    except (SourceUnreachable, StoreImportBusy):
        raise
    except DomainError as error:
        _end_run(connection, _State.FAILED, problem=error.sentence, actor=job.actor)
    else:
        _end_run(connection, _State.DONE, actor=job.actor)


def _report_progress(job: Job, connection: StoreConnection) -> None:
    states = list(StreamState.objects.filter(store_import=connection.store_import_id, name__in=connection.streams))
    completed = sum(state.done for state in states)
    total = sum(max(state.total or 0, state.done) for state in states)
    jobs.report_progress(job, completed=completed, total=total)


@transaction.atomic
def _end_run(connection: StoreConnection, state: str, *, problem: str = "", actor: str) -> None:
    """Save the end of a run. The token of an import that is done is deleted."""
    rows = StoreConnection.rows().select_for_update().filter(pk=connection.pk, run=connection.run)
    row = rows.filter(state=_State.RUNNING).first()
    if row is None:
        return
    row.state, row.problem = state, as_message(problem)
    if state == _State.DONE:
        row.token, row.token_expires_at = "", None
    row.save(update_fields=["state", "problem", "token", "token_expires_at"])
    record_event(ENDED, row.store_import, actor=actor, at=timezone.now(), changes={"state": [None, state]})


def mark_run_failed(job: Job) -> None:
    """Save that the job of a run has failed for good. Staff can continue the import."""
    connection = StoreConnection.rows().filter(store_import_id=job.arguments["import_id"]).first()
    if connection is not None and connection.run == job.arguments["run"]:
        _end_run(connection, _State.FAILED, problem=as_message(job.error), actor=job.actor)


def continue_stalled_runs(now: datetime) -> int:
    """Enqueue a job for each running import that has none. An import with a canceled job is paused.

    Call this function in the all-shops scope.
    """
    rows = StoreConnection.objects.filter(state=_State.RUNNING, updated_at__lt=now - STALLED_AFTER)
    continued = 0
    for connection in rows.select_related("shop"):
        with shop_scope(connection.shop), transaction.atomic():
            continued += _continue_stalled_run(connection.pk)
    return continued


def _continue_stalled_run(pk: int) -> bool:
    row = StoreConnection.rows().select_for_update().filter(pk=pk, state=_State.RUNNING).first()
    if row is None or find_active_job(RUN_TASK, import_id=row.store_import_id, run=row.run) is not None:
        return False
    last = Job.rows().filter(task=RUN_TASK, arguments__import_id=row.store_import_id).order_by("-pk").first()
    if last is not None and last.state == Job.State.CANCELLED:
        row.state, row.problem = _State.PAUSED, _CANCELED
        row.save(update_fields=["state", "problem"])
        return False
    jobs.enqueue(RUN_TASK, actor=last.actor if last else "system", import_id=row.store_import_id, run=row.run)
    return True
