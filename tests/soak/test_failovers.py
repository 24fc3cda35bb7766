"""Kill the primary of two database servers repeatedly under load: no acknowledged write is lost.

See check F16 in docs/reliability.md. ``SOAK_FAILOVERS`` and ``SOAK_WRITES`` (per second) override the numbers of this
check. The product's processes are started once, with a URL that names both servers.
"""

import json
import os
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pytest_django import Settings

from apps.core.tenancy.models import Shop
from apps.demo.webhook_receiver import WebhookReceiver
from tests.faults.test_restarts import copy_database
from tests.soak.test_kills import COMPLETION_SECONDS, TOPIC, OrderWriters
from tests.support import factories
from tests.support.databases.postgres_pair import PostgresPair, run_pair
from tests.support.servers.live import LiveServer, get_database_url, stop_process
from tests.support.timing import SOAK_MARKS, scale_for_soak, wait_until
from tests.support.webhooks import make_subscription

pytestmark = SOAK_MARKS

WITHIN_SECONDS = 30.0
# Seconds of load between the recovery of both servers and the next kill.
BETWEEN_SECONDS = 5.0
_LEFT = """
    SELECT (SELECT count(*) FROM jobs_job WHERE state IN ('waiting', 'running'))
    + (SELECT count(*) FROM webhooks_pending) + (SELECT count(*) FROM webhooks_delivery WHERE state <> 'done')
"""


def run_query(pair: PostgresPair, sql: str) -> list[Any]:
    with psycopg.connect(pair.url, autocommit=True) as other:
        return [value for (value,) in other.execute(sql)]


def fail_over(pair: PostgresPair, writers: OrderWriters) -> float:
    """Kill the primary and return the seconds until the promoted server has acknowledged writes."""
    name = pair.kill_primary()
    killed = time.monotonic()
    before = len(writers.acknowledged)
    # Only count writes after the promotion, because responses from before the kill may still arrive.
    wait_until(lambda: "wait_primary" in pair.states().values(), bool, seconds=120)
    wait_until(lambda: len(writers.acknowledged), lambda count: count > before + 4, seconds=120)
    seconds = time.monotonic() - killed
    pair.start(name)
    pair.await_whole()
    return seconds


def test_a_killed_primary_is_replaced_and_loses_no_write(
    transactional_db: None, shop: Shop, tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    token = factories.make_token(factories.make_installation(shop, ("write_orders",)))
    listener = factories.make_installation(shop, ("read_orders",))
    with run_pair() as pair, WebhookReceiver([listener.app.api_secret]) as catcher:
        make_subscription(listener, catcher.url, topic=TOPIC)
        copy_database(get_database_url(), pair.url)
        server = LiveServer(pair.url, tmp_path, BACKOFFICE_BRAND="platform", WEB_PROCESSES="2", WORKERS="1")
        processes = [server.start(f"backoffice.entrypoints.{name}") for name in ("worker", "scheduler")]
        server.wait()
        seconds = []
        with OrderWriters(server.port, token, float(os.environ.get("SOAK_WRITES", "10"))) as writers:
            for _ in range(int(os.environ.get("SOAK_FAILOVERS") or scale_for_soak(10))):
                time.sleep(BETWEEN_SECONDS)
                seconds.append(fail_over(pair, writers))
        wait_until(lambda: run_query(pair, _LEFT), [0].__eq__, seconds=COMPLETION_SECONDS)
        ended = [process.poll() for process in (server.process, *processes)]
        for process in processes:
            stop_process(process)
        server.stop()
        notes = Counter(run_query(pair, "SELECT note FROM orders_order"))
        events = run_query(pair, f"SELECT count(*) FROM events_event WHERE topic = '{TOPIC}'")

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
