"""Results on their way to the database, written in groups."""

import asyncio
import time
from collections.abc import Callable, Collection

from apps.webhooks.domain.engine import outcomes, results
from apps.webhooks.domain.engine.loop.counts import Counts
from apps.webhooks.domain.engine.loop.threads import Threads
from apps.webhooks.domain.engine.outcomes import Tally
from apps.webhooks.domain.engine.results import Result

# Results are written together: so many, or what came within so long.
GROUP = 200
GROUP_SECONDS = 0.02
HEALTH_SECONDS = 5.0


class Writer:
    """Gathers results and writes them; they stay here until they are written, whatever becomes of the database.

    Attributes:
        waiting: What is to be written, with whether the receiver is gone for good.
        full: Set once a group is complete, or when nothing more will come.
    """

    def __init__(self, threads: Threads, counts: Counts, settled: Callable[[Result], None]) -> None:
        """``settled`` is told of each that was written."""
        self.waiting: list[tuple[Result, bool]] = []
        self.full = asyncio.Event()
        self._threads, self._counts, self._settled = threads, counts, settled
        self._noted: dict[int, tuple[bool, float]] = {}

    def add(self, result: Result, *, is_gone: bool) -> None:
        """Take a result."""
        self.waiting.append((result, is_gone))
        if len(self.waiting) >= GROUP:
            self.full.set()

    async def write(self) -> None:
        """Write all that waits."""
        self.full.clear()
        while group := self.waiting[: GROUP * 2]:
            fenced: set[int] = await self._threads.run("write", results.write, [each for each, _ in group])
            del self.waiting[: len(group)]
            self._counts.fenced += len(fenced)
            for each, _ in group:
                self._settled(each)
            if tallies := self._tallies(group, fenced):
                await self._threads.run("write", outcomes.note, tallies)

    def _tallies(self, group: Collection[tuple[Result, bool]], fenced: set[int]) -> dict[int, Tally]:
        """What the health of subscriptions must learn: the end of a delivery always, all else now and then."""
        rows = [
            (each.claim.subscription, each.claim.shop, each.state, each.message or each.error, is_gone)
            for each, is_gone in group
            if each.claim.subscription is not None and each.counts and each.claim.pk not in fenced
        ]
        now = time.monotonic()
        found = outcomes.tally_of(rows)
        for pk, tally in list(found.items()):
            is_well = tally.successes > 0
            was_well, at = self._noted.get(pk, (not is_well, 0.0))
            if is_well == was_well and now - at < HEALTH_SECONDS and not (tally.dead or tally.is_gone):
                del found[pk]
            else:
                self._noted[pk] = (is_well, now)
        return found
