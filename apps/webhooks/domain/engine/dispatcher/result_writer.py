"""Collect the results of deliveries in memory, and write them to the database in batches."""

import asyncio
import time
from collections.abc import Callable, Collection

from apps.webhooks.domain.engine import results, subscription_health
from apps.webhooks.domain.engine.dispatcher.db_threads import DatabaseThreads
from apps.webhooks.domain.engine.results import DeliveryResult
from apps.webhooks.domain.engine.subscription_health import Tally

# A batch is written when it has this many results or after this many seconds.
BATCH_SIZE = 200
BATCH_SECONDS = 0.02
HEALTH_SECONDS = 5.0


class ResultWriter:
    """Writes results in batches. Results remain in memory until the database accepts them."""

    def __init__(self, threads: DatabaseThreads, on_written: Callable[[DeliveryResult], None]) -> None:
        # The results to write, each with a flag that is True if the endpoint no longer exists.
        self.waiting: list[tuple[DeliveryResult, bool]] = []
        # Set when a batch is complete, or when there will be no more results.
        self.batch_ready = asyncio.Event()
        self._threads, self._on_written = threads, on_written
        self._health_updates: dict[int, tuple[bool, float]] = {}

    def add(self, result: DeliveryResult, *, endpoint_removed: bool) -> None:
        self.waiting.append((result, endpoint_removed))
        if len(self.waiting) >= BATCH_SIZE:
            self.batch_ready.set()

    async def write(self) -> None:
        self.batch_ready.clear()
        while group := self.waiting[: BATCH_SIZE * 2]:
            fenced = await self._threads.run("write", results.write_results, [result for result, _ in group])
            del self.waiting[: len(group)]
            for result, _ in group:
                self._on_written(result)
            if tallies := self._tally_for_health(group, fenced):
                await self._threads.run("write", subscription_health.update_health, tallies)

    def _tally_for_health(self, group: Collection[tuple[DeliveryResult, bool]], fenced: set[int]) -> dict[int, Tally]:
        """Count results by subscription, to update subscription health.

        Dead letters are always included. Results that confirm the known health are only included every few seconds.
        """
        tallies = subscription_health.tally_results(
            (result.claim.subscription, result.claim.shop, result.state, result.message or result.error, is_gone)
            for result, is_gone in group
            if result.claim.subscription is not None and result.counts_as_attempt and result.claim.pk not in fenced
        )
        now = time.monotonic()
        for pk, tally in list(tallies.items()):
            is_well = tally.successes > 0
            was_well, noted_at = self._health_updates.get(pk, (not is_well, 0.0))
            if is_well == was_well and now - noted_at < HEALTH_SECONDS and not (tally.dead or tally.is_gone):
                del tallies[pk]
            else:
                self._health_updates[pk] = (is_well, now)
        return tallies
