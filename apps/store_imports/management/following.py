"""Print the passes of ``import_store --follow`` and ``--final``, until a signal stops them."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from apps.store_imports.domain.following import Following, PassResult
from apps.store_imports.domain.source_client import SourceClient
from apps.store_imports.models import StoreImport, StreamState

DEFAULT_INTERVAL = 30.0


def follow_and_print(
    output: OutputWrapper,
    store_import: StoreImport,
    client: SourceClient,
    options: Mapping[str, Any],
    *,
    on_progress: Callable[[StreamState], None],
) -> None:
    """Follow the store until SIGINT or SIGTERM, or make the final pass."""
    if options["interval"] < 0:
        raise CommandError("--interval must not be negative.")
    with _catch_signals() as is_stopped:
        following = Following(store_import=store_import, client=client, is_stopped=is_stopped, on_progress=on_progress)
        results = (
            following.finish(skips_metafields=options["skip_metafields"])
            if options["final"]
            else following.follow(interval=options["interval"])
        )
        last = PassResult()
        with closing(results):
            for last in results:
                output.write(_describe(last))
                output.flush()
    if not options["final"]:
        output.write("Stopped. Run the command again to go on.")
    elif not last.is_complete:
        raise CommandError("The final pass was stopped, and the import has not ended. Run the command again.")
    elif last.seconds_behind is None:
        output.write("The import has ended. The store's responses have no time, so the time behind is unknown.")
    else:
        output.write(f"The import has ended. The shop was {last.seconds_behind:.1f} seconds behind the store.")


def _describe(result: PassResult) -> str:
    if result.error is not None:
        return f"pass interrupted: {result.error}"
    counts = f"{result.changed} new or changed, {result.deleted} deleted"
    if not result.is_complete:
        return f"pass stopped: {counts}"
    behind = "" if result.seconds_behind is None else f", {result.seconds_behind:.1f} seconds behind the store"
    return f"pass: {counts}{behind}"


@contextmanager
def _catch_signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after SIGINT or SIGTERM. A second signal has its usual effect."""
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _frame: object) -> None:
        received.append(number)
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, handle)
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
