"""Keep a shop equal to a store until the switch, and make the final pass.

Each pass reads what has changed since the start of the last complete pass, by the clock of the store, and then deletes
what the store has deleted.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from django.db.models import Sum
from django.utils import timezone

from apps.core.i18n.messages import Message
from apps.store_imports.domain.deletions import delete_missing_objects
from apps.store_imports.domain.errors import SourceUnreachable
from apps.store_imports.domain.id_map import IdMap
from apps.store_imports.domain.runner import MAX_SLEEP_SECONDS, ImportClaim, PassOptions, claim_import, run_pass
from apps.store_imports.domain.source_client import SourceClient, SourceObject
from apps.store_imports.domain.streams import Source
from apps.store_imports.models import StoreImport, StreamState

# Of so many passes, one also reads the objects again that failed, and lists the ids of all objects.
PASSES_PER_CHECK = 20
_STEP_SECONDS = 0.2


@dataclass(slots=True)
class PassResult:
    """The result of a pass.

    Attributes:
        is_complete: False if the pass was stopped.
        changed: The number of objects that were created or changed.
        seconds_behind: The time from the start of the pass to its end. A change in the store before its start is in the
            shop. None if the pass was stopped or the store's responses have no date.
        error: Why the pass ended early. The next pass continues.
    """

    is_complete: bool = False
    changed: int = 0
    deleted: int = 0
    seconds_behind: float | None = None
    error: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """The passes over a store. ``is_stopped`` is asked after each page, and ``on_progress`` gets the stream's state.

    Raises (all methods):
        SourceUnreadable: The store refuses requests.
        StoreImportEnded: The import was ended by a final pass.
        StoreImportBusy: Another process runs the import.
    """

    store_import: StoreImport
    client: SourceClient
    is_stopped: Callable[[], bool] = lambda: False
    on_progress: Callable[[StreamState], None] = lambda state: None

    def follow(self, *, interval: float) -> Generator[PassResult]:
        """Import the changes of the store again and again, until ``is_stopped``. Yield the result of each pass.

        The first pass imports the whole store, if this was not done before. If the store can't be reached, the next
        pass tries again.
        """
        with claim_import(self.store_import) as claim:
            client = replace(self.client, sleep=claim.sleep)
            number = 0
            while not self.is_stopped():
                is_check = number % PASSES_PER_CHECK == 0
                try:
                    result = self._run_pass(client, claim, PassOptions(only_changes=True, retries=is_check))
                    if result.is_complete:
                        self._delete_missing(result, client, claim, always=is_check)
                except SourceUnreachable as error:
                    result = PassResult(error=error.sentence)
                yield result
                number += result.is_complete
                self._wait(interval, claim)

    def finish(self, *, skips_metafields: bool = False) -> Generator[PassResult]:
        """Import the last changes and deletions, and then the changes since, and end the import.

        ``skips_metafields`` only reads the metafields of changed objects, because each object takes a request.
        Yield the results of both passes. The second is short, and its time is how long the shop was behind the store.
        """
        with claim_import(self.store_import) as claim:
            client = replace(self.client, sleep=claim.sleep)
            options = PassOptions(
                only_changes=True, retries=True, is_thorough=True, skips_metafields=skips_metafields, restarts=True
            )
            first = self._run_pass(client, claim, options)
            if first.is_complete:
                self._delete_missing(first, client, claim, always=True)
            yield first
            if not first.is_complete:
                return
            second = self._run_pass(client, claim, PassOptions(only_changes=True))
            if second.is_complete:
                rows = StoreImport.objects.filter(pk=self.store_import.pk, claim=claim.token)
                rows.update(ended_at=timezone.now())
            yield second

    def _run_pass(self, client: SourceClient, claim: ImportClaim, options: PassOptions) -> PassResult:
        """Run a pass. The store's clock is read at its start and at its end."""
        result = PassResult()
        states = run_pass(self.store_import, client, _read_shop(client), claim, options)
        for state in states:
            self.on_progress(state)
            if self.is_stopped():
                states.close()
                return result
        self.store_import.refresh_from_db()
        rows = StreamState.objects.filter(store_import=self.store_import)
        totals = rows.aggregate(new=Sum("new"), changed=Sum("changed"))
        result.changed = (totals["new"] or 0) + (totals["changed"] or 0)
        result.is_complete = True
        start, end = self.store_import.complete_since, client.clock.now()
        if start is not None and end is not None:
            result.seconds_behind = max((end - start).total_seconds(), 0.0)
        return result

    def _delete_missing(self, result: PassResult, client: SourceClient, claim: ImportClaim, *, always: bool) -> None:
        source = Source(client, {}, IdMap(self.store_import.pk), timezone.now(), claim.extend)
        for count in delete_missing_objects(self.store_import, source, always=always):
            result.deleted += count
            if self.is_stopped():
                result.is_complete = False
                return

    def _wait(self, seconds: float, claim: ImportClaim) -> None:
        """Wait until the next pass or until ``is_stopped``, and keep the lease."""
        now = extended_at = time.monotonic()
        end = now + seconds
        claim.extend()
        while now < end and not self.is_stopped():
            time.sleep(min(end - now, _STEP_SECONDS))
            now = time.monotonic()
            if now - extended_at > MAX_SLEEP_SECONDS:
                claim.extend()
                extended_at = now


def reopen_import(store_import: StoreImport) -> None:
    """Allow an import to run that was ended by a final pass."""
    StoreImport.objects.filter(pk=store_import.pk).update(ended_at=None)


def _read_shop(client: SourceClient) -> SourceObject:
    """Return the store's shop object. Its response also has the time of the store."""
    shop = client.get("shop.json").get("shop")
    return shop if isinstance(shop, dict) else {}
