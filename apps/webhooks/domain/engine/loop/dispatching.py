"""The dispatcher: one event loop that fans events out, sends what is due, and writes results in groups.

Several at once, on one machine or many, share the work by the leases of deliveries and need not know of each other.
What talks to the database does so in threads of its own, one for each purpose; the loop never waits for it while a
request is under way. The loop is told of new events by the database's channel where there is one, and looks by itself
otherwise; a call that is lost costs a second.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from django.conf import settings

from apps.ground.outages import is_outage
from apps.outgoing.asynchronous import AsyncClient, Progress
from apps.webhooks.domain.engine import lookout
from apps.webhooks.domain.engine.claims import LEASE_SECONDS, Claim
from apps.webhooks.domain.engine.fan_out import Told, fan_out
from apps.webhooks.domain.engine.loop.counts import Counts
from apps.webhooks.domain.engine.loop.doorbell import listen
from apps.webhooks.domain.engine.loop.feeding import Feeder
from apps.webhooks.domain.engine.loop.lanes import SLOTS, Lane, Turn
from apps.webhooks.domain.engine.loop.sending import Sender
from apps.webhooks.domain.engine.loop.threads import Threads
from apps.webhooks.domain.engine.loop.writing import GROUP_SECONDS, Writer
from apps.webhooks.domain.engine.queues import open_all
from apps.webhooks.domain.engine.results import Result

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 10.0
# Between two claims: what became free meanwhile is claimed together.
CLAIM_SECONDS = 0.005
SCAN_SECONDS = 1.0
REAP_SECONDS = 5.0
SWEEP_SECONDS = 1.0
# What is still held after so long has its lease made longer, again and again.
HEARTBEAT_SECONDS = LEASE_SECONDS / 3
# For so long after there was work it is looked for often: what rings while a bell is being answered is not rung again.
LIVELY_SECONDS = 0.3
LIVELY_PAUSE = 0.02
_AFTER_OUTAGE = 1.0


class Dispatcher:
    """Fans out and delivers until it is told to stop; call ``run`` in a loop of its own.

    Attributes:
        counts: What it did so far.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        """With so many calls under way at most."""
        self.slots = slots
        self.counts = Counts()
        self.stopping = False
        self._threads = Threads("claim", "tell", "write")
        self._feeder = Feeder(self._threads, slots)
        self._writer = Writer(self._threads, self.counts, self._settled)
        # What is ours, since when.
        self._held: dict[int, tuple[Claim, float]] = {}
        self._calls: set[asyncio.Task[None]] = set()
        self._last_work = 0.0
        # It may be told to stop before it runs.
        self._done, self._wake, self._bell = (asyncio.Event() for _ in range(3))

    async def run(self) -> None:
        """Work until ``stop``; then what is under way is finished, for at most ten seconds."""
        self.loop = asyncio.get_running_loop()
        queues = open_all()
        async with AsyncClient(connections=self.slots) as client:
            self._sender = Sender(client, queues, self.counts, self._note_breaker)
            loops = [self._feed, self._tell, self._look_after]
            tasks = [asyncio.create_task(self._kept_up(each)) for each in loops]
            listener = asyncio.create_task(listen(self._ring))
            writer = asyncio.create_task(self._kept_up(self._write))
            await self._done.wait()
            await self._drain(tasks, listener, writer)
        for queue in queues.values():
            await queue.close()
        await self._threads.end()

    def stop(self) -> None:
        """Begin nothing more."""
        self.stopping = True
        self._done.set()
        self._wake.set()
        self._bell.set()

    async def _drain(
        self, tasks: list["asyncio.Task[None]"], listener: "asyncio.Task[None]", writer: "asyncio.Task[None]"
    ) -> None:
        until = time.monotonic() + DRAIN_SECONDS
        listener.cancel()
        await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        if self._calls:
            await asyncio.wait(self._calls, timeout=max(0.0, until - time.monotonic()))
        self._writer.full.set()
        await asyncio.wait([writer], timeout=max(1.0, until - time.monotonic()))
        left = [*tasks, listener, writer, *self._calls]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _kept_up(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it over and over; what goes wrong is logged, and tried again a moment later."""
        while True:
            try:
                await work()
                return
            except Exception as error:
                if not is_outage(error):
                    logger.exception("The webhook dispatcher stumbled")
                else:
                    logger.warning("The webhook dispatcher waits for the database: %s", error)
                await asyncio.sleep(_AFTER_OUTAGE)
                if self.stopping and work != self._write:
                    return

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something run by itself; it is waited for at the end."""
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    def _ring(self) -> None:
        """Something happened: look for events and deliveries now."""
        self._last_work = time.monotonic()
        self._bell.set()

    # --- events into deliveries --------------------------------------------------------------------------------------

    async def _tell(self) -> None:
        while not self.stopping:
            self._bell.clear()
            told: Told = await self._threads.run("tell", fan_out)
            if told.events:
                self._last_work = time.monotonic()
                self.counts.events += told.events
                self.counts.made += told.deliveries
                await self._feeder.note_due(told.endpoints)
                self._wake.set()
                continue
            lively = time.monotonic() - self._last_work < LIVELY_SECONDS
            await _either(self._bell, LIVELY_PAUSE if lively else _sweep_seconds())

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _feed(self) -> None:
        """Claim what can start, and start it; then wait for a slot, for work, or for a moment to come."""
        scanned = 0.0
        while not self.stopping:
            self._wake.clear()
            if time.monotonic() - scanned >= SCAN_SECONDS:
                scanned = time.monotonic()
                await self._feeder.scan()
            begun = 0
            for turn in (Turn.DUE, Turn.RETRY):
                claimed = await self._feeder.claim(turn)
                begun += len(claimed)
                self.counts.claims += bool(claimed)
                now = time.monotonic()
                for each in claimed:
                    self._held[each.pk] = (each, now)
                    self._begin(self._deliver(each))
            await asyncio.sleep(CLAIM_SECONDS)
            if not begun:
                until = min(self._feeder.next_moment(), scanned + SCAN_SECONDS)
                await _either(self._wake, max(LIVELY_PAUSE, until - time.monotonic()))

    async def _deliver(self, claim: Claim) -> None:
        """Send one delivery, and hand its result to the writer."""
        lane = self._feeder.lanes.lanes[claim.endpoint]
        progress = Progress(time.monotonic())
        result, is_gone = Result(claim, "retry", delay=10.0, error="internal", outcome="internal"), False
        try:
            secrets = self._feeder.secrets_for(claim)
            result, is_gone = await self._sender.attempt(claim, lane, secrets, progress)
        except Exception:
            logger.exception("Delivery %s could not be attempted", claim.key)
        finally:
            result.ago = progress.now()
            self._feeder.lanes.ended(lane, claim.turn)
            self._writer.add(result, is_gone=is_gone)
            self._wake.set()

    # --- results -----------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        """Write results in groups."""
        while not (self.stopping and not self._calls and not self._writer.waiting):
            await _either(self._writer.full, GROUP_SECONDS)
            await self._writer.write()

    def _settled(self, result: Result) -> None:
        """What a written result means for what waits."""
        self._held.pop(result.claim.pk, None)
        lane = self._feeder.lanes.lanes.get(result.claim.endpoint)
        if lane is None:
            return
        now = time.monotonic()
        if result.state == "retry":
            lane.expect(Turn.RETRY, now + result.delay, noted=now)
        if result.claim.ordered:
            # Another of its resource may go now.
            lane.expect(Turn.DUE, now, noted=now)
            lane.expect(Turn.RETRY, now, noted=now)
            self._wake.set()

    # --- besides -----------------------------------------------------------------------------------------------------

    async def _look_after(self) -> None:
        """Keep what is ours, give back what others left behind, and learn which hosts others found silent."""
        reaped_at = 0.0
        while not self.stopping:
            now = time.monotonic()
            if old := [claim for claim, since in self._held.values() if now - since >= HEARTBEAT_SECONDS]:
                await self._threads.run("tell", lookout.hold_on, old)
                self._held.update((each.pk, (each, now)) for each in old if each.pk in self._held)
            if now - reaped_at >= REAP_SECONDS:
                reaped_at = now
                self.counts.reaped += await self._threads.run("tell", lookout.reap)
            for host, (trips, pause) in (await self._threads.run("tell", lookout.open_breakers)).items():
                if host in self._feeder.breakers:
                    self._feeder.breakers[host].learn(trips, pause, time.monotonic())
            await _either(self._done, SCAN_SECONDS)

    def _note_breaker(self, lane: Lane, error: str) -> None:
        pause = max(0.0, lane.breaker.opens_until - time.monotonic())
        note = functools.partial(lookout.note_breaker, lane.host, trips=lane.breaker.trips, pause=pause, error=error)
        self._begin(self._quietly(note))

    async def _quietly(self, work: Callable[[], object]) -> None:
        """Make a note that may be lost."""
        try:
            await self._threads.run("tell", work)
        except Exception:
            logger.warning("A note of the webhook dispatcher was lost", exc_info=True)


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or for so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _sweep_seconds() -> float:
    """How long it takes at most until an event is found that nobody rang for."""
    return SWEEP_SECONDS if settings.DATABASES["default"]["ENGINE"].endswith("postgresql") else SWEEP_SECONDS / 4
