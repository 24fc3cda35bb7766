"""The primary of two servers is killed repeatedly under load: the other takes over, no acknowledged write is lost.

Rule: reliability, F16. ``SOAK_FAILOVERS`` and ``SOAK_WRITES`` (per second) override the rule's numbers. The product's
processes are started once, with a URL that names both servers.
"""

import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from apps.shops.models import Shop
from apps.webhooks.webhook_receiver import WebhookReceiver
from tests import factories
from tests.client.conftest import Server, database_url, end
from tests.faults.test_restarts import copy
from tests.machine import soaked, until
from tests.soak.pairs import Pair, own_pair
from tests.soak.test_kills import SOON, TOPIC, Writers
from tests.webhooks.worlds import subscribe

pytestmark = [
    pytest.mark.soak,
    pytest.mark.postgres,
    pytest.mark.timeout(0),
    pytest.mark.django_db(transaction=True),
]

WITHIN_SECONDS = 30.0
# Seconds of load between a recovered pair and the next kill.
BETWEEN_SECONDS = 5.0
_LEFT = """
    SELECT (SELECT count(*) FROM jobs_job WHERE state IN ('waiting', 'running'))
    + (SELECT count(*) FROM webhooks_pending) + (SELECT count(*) FROM webhooks_delivery WHERE state <> 'done')
"""


@pytest.fixture
def pair(transactional_db: None) -> Iterator[Pair]:
    with own_pair() as servers:
        yield servers


def asked(pair: Pair, sql: str) -> list[Any]:
    with psycopg.connect(pair.url, autocommit=True) as other:
        return [value for (value,) in other.execute(sql)]


def fail_over(pair: Pair, writers: Writers) -> float:
    """Kill the primary and return the seconds until the other server acknowledged a write."""
    name = pair.kill_primary()
    killed = time.monotonic()
    before = len(writers.acknowledged)
    # Responses sent before the primary died may still arrive: count writes after the promotion only.
    until(lambda: "wait_primary" in pair.states().values(), bool, seconds=120)
    until(lambda: len(writers.acknowledged), lambda count: count > before + 4, seconds=120)
    seconds = time.monotonic() - killed
    pair.start(name)
    pair.await_whole()
    return seconds


def test_a_killed_primary_is_replaced_and_loses_no_write(
    shop: Shop, pair: Pair, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    token = factories.make_token(factories.make_installation(shop, ("write_orders",)))
    listener = factories.make_installation(shop, ("read_orders",))
    with WebhookReceiver([listener.app.api_secret]) as catcher:
        subscribe(listener, catcher.url, topic=TOPIC)
        copy(database_url(), pair.url)
        server = Server(pair.url, tmp_path, BACKOFFICE_BRAND="platform", WEB_PROCESSES="2", WORKERS="1")
        processes = [server.start(f"backoffice.{name}") for name in ("worker", "webhooks", "scheduler")]
        server.wait()
        writers = Writers(server.port, token, float(os.environ.get("SOAK_WRITES", "10")))
        writers.start()
        seconds = []
        try:
            for _ in range(int(os.environ.get("SOAK_FAILOVERS") or soaked(10))):
                time.sleep(BETWEEN_SECONDS)
                seconds.append(fail_over(pair, writers))
        finally:
            writers.stop()
        until(lambda: asked(pair, _LEFT), [0].__eq__, seconds=SOON)
        ended = [process.poll() for process in (server.process, *processes)]
        for process in processes:
            end(process)
        server.stop()

    notes = Counter(asked(pair, "SELECT note FROM orders_order"))
    events = asked(pair, f"SELECT count(*) FROM events_event WHERE topic = '{TOPIC}'")
    delivered_notes = {json.loads(request.body)["note"] for request in catcher.requests}
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{len(seconds)} primaries killed: writes went on after {min(seconds):.1f} to {max(seconds):.1f} s, "
            f"{statistics.median(seconds):.1f} at the median; {len(writers.acknowledged)} orders acknowledged, "
            f"{len({*writers.acknowledged} - {*notes})} of them lost, statuses {dict(writers.statuses)} (0: broken), "
            f"{len(notes)} stored, {events[0]} events, {len(delivered_notes)} told"
        )
    assert ended == [None] * 4
    assert set(writers.statuses) <= {0, 201, 409, 503}
    assert set(writers.acknowledged) == set(notes) == delivered_notes
    assert set(notes.values()) == {1}
    assert events == [len(notes)]
    assert max(seconds) < WITHIN_SECONDS
