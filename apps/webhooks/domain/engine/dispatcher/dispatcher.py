"""The dispatcher: an event loop that creates deliveries from events, sends them and writes results in batches.

Several dispatchers can share the work, on one or several machines, because each delivery is leased. Database work runs
in threads, one per purpose, so the database never blocks the event loop. A dispatcher looks for new events at short
intervals and ends soon after it has found the last one (see ``notify``).
"""

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from apps.core.db.transient_errors import is_transient_db_error
from apps.core.http.async_client import AsyncClient, Progress
from apps.webhooks.domain.engine import maintenance
from apps.webhooks.domain.engine.claims import LEASE_SECONDS, Claim
from apps.webhooks.domain.engine.dispatcher.claimer import Claimer
from apps.webhooks.domain.engine.dispatcher.db_threads import DatabaseThreads
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import SLOTS, AttemptKind, EndpointSlots
from apps.webhooks.domain.engine.dispatcher.notify import LINGER_SECONDS
from apps.webhooks.domain.engine.dispatcher.result_writer import BATCH_SECONDS, ResultWriter
from apps.webhooks.domain.engine.dispatcher.run_leases import RENEW_SECONDS, RunLease, renew_run_lease
from apps.webhooks.domain.engine.dispatcher.sender import Sender
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.domain.engine.results import DeliveryResult
from apps.webhooks.domain.engine.transports import open_transports

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 10.0
# The pause between two claims, so that one claim fills all slots that became free during the pause.
CLAIM_SECONDS = 0.005
SCAN_SECONDS = 1.0
REAP_SECONDS = 5.0
# The pause between two looks for new events, and between two looks at the clock.
POLL_SECONDS = 0.05
# A dispatcher waits for a delivery that may start within this many seconds.
WAIT_SECONDS = 2.0
# The interval at which leases of deliveries in progress are extended.
HEARTBEAT_SECONDS = LEASE_SECONDS / 3
_OUTAGE_PAUSE = 1.0


class Dispatcher:
    """Creates and sends deliveries until there is no more work. Call ``run`` once, in a separate event loop.

    ``was_cut_short`` is True after a run that ended for another reason, so there may be work left.
    """

    def __init__(
        self,
        threads: DatabaseThreads,
        lease: RunLease,
        *,
        slots: int = SLOTS,
        ends_at: float = float("inf"),
        must_stop: Callable[[], bool],
    ) -> None:
        self.slots = slots
        self.was_cut_short = False
        self._stopping = False
        # True when all calls have ended or the time for them is over.
        self._has_all_results = False
        self._lease, self._ends_at, self._must_stop = lease, ends_at, must_stop
        self._threads = threads
        self._feeder = Claimer(self._threads, slots)
        self._writer = ResultWriter(self._threads, self._on_result_written)
        # Deliveries that this process has leased, each with the time of its claim or last extension.
        self._leased: dict[int, tuple[Claim, float]] = {}
        self._calls: set[asyncio.Task[None]] = set()
        # The monotonic times at which the dispatcher found work, began to look for events and found none, and began to
        # look for deliveries.
        self._last_work = self._polled_at = self._scanned_at = float("-inf")

    async def run(self) -> None:
        """Run until there is no more work. If the run is cut short, wait at most ten seconds for calls in progress."""
        self._done, self._wake = asyncio.Event(), asyncio.Event()
        queues = open_transports()
        async with AsyncClient(connections=self.slots) as client:
            self._sender = Sender(client, queues, self._note_breaker)
            loops = [self._claim_and_send, self._fan_out, self._maintain, self._watch]
            tasks = [asyncio.create_task(self._keep_running(loop_function)) for loop_function in loops]
            writer = asyncio.create_task(self._keep_running(self._write))
            await self._done.wait()
            await self._drain(tasks, writer)
        for queue in queues.values():
            await queue.close()

    def get_seconds_until_due(self) -> float | None:
        """Return the seconds until the next known delivery may start, or None if no delivery is known."""
        moment = self._feeder.get_next_due_time()
        return None if moment == float("inf") else max(0.0, moment - time.monotonic())

    def _stop(self) -> None:
        self._stopping = True
        self._done.set()
        self._wake.set()

    async def _watch(self) -> None:
        """Stop if the time is over or the worker shuts down."""
        while not self._stopping:
            if time.monotonic() >= self._ends_at or self._must_stop():
                self.was_cut_short = True
                self._stop()
            await _wait_for(self._done, POLL_SECONDS)

    async def _drain(self, tasks: list["asyncio.Task[None]"], writer: "asyncio.Task[None]") -> None:
        until = time.monotonic() + DRAIN_SECONDS
        await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        if self._calls:
            await asyncio.wait(self._calls, timeout=max(0.0, until - time.monotonic()))
        self._has_all_results = True
        self._writer.batch_ready.set()
        await asyncio.wait([writer], timeout=max(1.0, until - time.monotonic()))
        remaining = [*tasks, writer, *self._calls]
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)

    async def _keep_running(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a function in a loop. If the function fails, log the error and continue after a pause."""
        while True:
            try:
                await work()
                return
            except Exception as error:
                if is_transient_db_error(error):
                    logger.warning("The webhook dispatcher is waiting for the database: %s", error)
                else:
                    logger.exception("Error in the webhook dispatcher")
                await asyncio.sleep(_OUTAGE_PAUSE)
                if self._stopping and work != self._write:
                    return

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a background task that ``_drain`` waits for."""
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    # --- fan-out -----------------------------------------------------------------------------------------------------

    async def _fan_out(self) -> None:
        while not self._stopping:
            started_at = time.monotonic()
            fan_out_result = await self._threads.run("tell", create_deliveries)
            if fan_out_result.events:
                self._last_work = time.monotonic()
                await self._feeder.mark_due(fan_out_result.endpoints)
                self._wake.set()
            else:
                self._polled_at = started_at
                await _wait_for(self._done, POLL_SECONDS)

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _claim_and_send(self) -> None:
        """Claim and start deliveries until there is no more work."""
        while not self._stopping:
            self._wake.clear()
            now, quiet_at = time.monotonic(), self._last_work + LINGER_SECONDS
            if now - self._scanned_at >= SCAN_SECONDS or self._scanned_at <= quiet_at <= now:
                await self._feeder.scan()
                self._scanned_at = now
            started_count = 0
            for kind in (AttemptKind.DUE, AttemptKind.RETRY):
                claimed = await self._feeder.claim(kind)
                started_count += len(claimed)
                now = time.monotonic()
                for claim in claimed:
                    self._leased[claim.pk] = (claim, now)
                    self._start_task(self._deliver(claim))
            if started_count:
                self._last_work = time.monotonic()
            elif self._has_no_work():
                self._stop()
            await asyncio.sleep(CLAIM_SECONDS)
            if not started_count:
                await _wait_for(self._wake, POLL_SECONDS)

    def _has_no_work(self) -> bool:
        """Return True if the dispatcher has found no events and no deliveries since it lingered after its last work."""
        quiet_at = self._last_work + LINGER_SECONDS
        return (
            min(self._scanned_at, self._polled_at) > quiet_at
            and not (self._calls or self._leased or self._writer.waiting)
            and self._feeder.get_next_due_time() - time.monotonic() > WAIT_SECONDS
        )

    async def _deliver(self, claim: Claim) -> None:
        slots = self._feeder.allocator.by_endpoint[claim.endpoint]
        progress = Progress(time.monotonic())
        result = DeliveryResult(claim, "retry", delay=10.0, error="internal", outcome="internal")
        endpoint_removed = False
        try:
            secrets = self._feeder.get_secrets(claim)
            result, endpoint_removed = await self._sender.attempt(claim, slots, secrets, progress)
        except Exception:
            logger.exception("Internal error while sending delivery %s", claim.key)
        finally:
            result.seconds_ago = progress.now()
            self._feeder.allocator.release(slots, claim.kind, 1)
            self._writer.add(result, endpoint_removed=endpoint_removed)
            self._wake.set()

    # --- results -----------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        """Write results in batches until the dispatcher stops and all results are written."""
        while not self._has_all_results or self._writer.waiting:
            await _wait_for(self._writer.batch_ready, BATCH_SECONDS)
            await self._writer.write()

    def _on_result_written(self, result: DeliveryResult) -> None:
        """Record when the endpoint's next delivery is due, after a result was written."""
        self._leased.pop(result.claim.pk, None)
        slots = self._feeder.allocator.by_endpoint.get(result.claim.endpoint)
        if slots is None:
            return
        now = time.monotonic()
        if result.state == "retry":
            slots.expect(AttemptKind.RETRY, now + result.delay, noted_at=now)
        if result.claim.ordered:
            # The next delivery of the same resource may start now, because it was waiting for this delivery.
            slots.expect(AttemptKind.DUE, now, noted_at=now)
            slots.expect(AttemptKind.RETRY, now, noted_at=now)
            self._wake.set()

    # --- maintenance --------------------------------------------------------------------------------------------------

    async def _maintain(self) -> None:
        """Extend leases, release deliveries with expired leases, and adopt other processes' open circuit breakers."""
        reaped_at = 0.0
        renewed_at = time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            if now - renewed_at >= RENEW_SECONDS:
                renewed_at = now
                if not await self._threads.run("tell", renew_run_lease, self._lease):
                    # This process was paused, and another run has replaced this run.
                    self.was_cut_short = True
                    self._stop()
            if old := [claim for claim, since in self._leased.values() if now - since >= HEARTBEAT_SECONDS]:
                await self._threads.run("tell", maintenance.extend_leases, old)
                self._leased |= {claim.pk: (claim, now) for claim in old if claim.pk in self._leased}
            if now - reaped_at >= REAP_SECONDS:
                reaped_at = now
                await self._threads.run("tell", maintenance.expire_leases)
            for host, (trips, pause) in (await self._threads.run("tell", maintenance.get_open_breakers)).items():
                if host in self._feeder.breakers:
                    self._feeder.breakers[host].adopt_state(trips, pause, time.monotonic())
            await _wait_for(self._done, SCAN_SECONDS)

    def _note_breaker(self, slots: EndpointSlots, error: str) -> None:
        pause = max(0.0, slots.breaker.open_until - time.monotonic())
        note = functools.partial(
            maintenance.share_breaker_state, slots.host, trips=slots.breaker.trips, pause=pause, error=error
        )
        self._start_task(self._run_quietly(note))

    async def _run_quietly(self, work: Callable[[], object]) -> None:
        """Run a database write that is not essential, and only log its errors."""
        try:
            await self._threads.run("tell", work)
        except Exception:
            logger.warning("Could not save the webhook dispatcher's state", exc_info=True)


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
