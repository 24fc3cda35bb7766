"""Reads from a streaming replica: clients see their own writes, and a lagging or missing replica is not used."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg
import pytest
import redis
from pytest_django import DjangoDbBlocker

from tests import factories, parts
from tests.client.conftest import Server, database_url
from tests.faults.clusters import Cluster, own_cluster
from tests.faults.test_restarts import copy
from tests.machine import until

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.own_sessions]

SCRAPER = "reads-figures"
TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}


class World:
    """A primary and a replica with a shop and two tokens, and the web processes that use them."""

    def __init__(self, primary: Cluster, replica: Cluster, tokens: list[str]) -> None:
        self.primary, self.replica = primary, replica
        self.writer, self.reader = tokens

    def on_replica(self, sql: str) -> Any:
        with psycopg.connect(self.replica.url, autocommit=True) as other:
            return other.execute(sql).fetchone()


class Asker:
    """A client of a server."""

    def __init__(self, server: Server) -> None:
        self._url = server.url

    def __call__(self, token: str, path: str, body: object = None) -> Any:
        headers = {"X-Shopify-Access-Token": token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self._url}/admin/api/2026-07/{path}", data, headers), timeout=60) as response:
            return json.load(response)

    def count(self, token: str) -> int:
        return int(self(token, "script_tags/count.json")["count"])

    def figures(self) -> str:
        headers = {"Authorization": f"Bearer {SCRAPER}"}
        with urlopen(Request(f"{self._url}/metrics", headers=headers), timeout=60) as response:
            return str(response.read().decode())

    def ready(self) -> Any:
        with urlopen(f"{self._url}/readyz", timeout=60) as response:
            return json.load(response)


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker, transactional_db: None) -> Iterator[World]:
    parts.need("pg_dump", shutil.which("pg_dump"))
    installation = factories.make_installation(factories.make_shop())
    tokens = [factories.make_token(installation) for _ in range(2)]
    with own_cluster() as primary:
        copy(database_url(), primary.url)
        with own_cluster(primary) as replica:
            yield World(primary, replica, tokens)


Start = Callable[..., Asker]


@pytest.fixture(scope="module")
def start(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Return a function that starts two web processes with the replica and a maximum lag in seconds."""
    running: dict[int, Server] = {}
    cache = parts.need("Redis", parts.redis_url())
    with redis.Redis.from_url(cache) as notes:
        for key in notes.scan_iter("*written:*"):
            notes.delete(key)

    def make(lag: int) -> Asker:
        if lag in running:
            return Asker(running[lag])
        server = Server(
            world.primary.url,
            tmp_path_factory.mktemp("web"),
            BACKOFFICE_REPLICA_URL=world.replica.url,
            BACKOFFICE_REPLICA_LAG_SECONDS=str(lag),
            CACHE_URL=cache,
            BACKOFFICE_METRICS_TOKEN=SCRAPER,
            WEB_PROCESSES="2",
        )
        running[lag] = server
        server.wait()
        ask = Asker(server)
        # A process reads from the replica once the replica has replayed the position at the start.
        until(lambda: ask.ready()["parts"]["replica"], bool)
        return ask

    yield make
    for server in running.values():
        server.stop()


@pytest.fixture
def paused(world: World) -> Iterator[Callable[[], None]]:
    """Return a function that pauses the replica's replay."""
    yield lambda: world.on_replica("SELECT pg_wal_replay_pause()")
    world.on_replica("SELECT pg_wal_replay_resume()")


def test_who_has_written_reads_it_and_others_read_the_replica(
    world: World, start: Start, paused: Callable[[], None]
) -> None:
    ask = start(3600)
    before = ask.count(world.writer)
    until(lambda: {ask.count(world.reader) for _ in range(8)}, lambda counts: counts == {before})
    paused()

    created = ask(world.writer, "script_tags.json", TAG)["script_tag"]

    assert [ask.count(world.writer) for _ in range(8)] == [before + 1] * 8
    # A process that found the replica unreachable does not try again for some seconds.
    until(lambda: [ask.count(world.reader) for _ in range(8)], lambda counts: before in counts, seconds=20)
    assert ask(world.reader, f"script_tags/{created['id']}.json")["script_tag"] == created
    world.on_replica("SELECT pg_wal_replay_resume()")
    until(lambda: {ask.count(world.reader) for _ in range(8)}, lambda counts: counts == {before + 1})


def test_a_replica_that_lags_too_long_is_not_read(world: World, start: Start, paused: Callable[[], None]) -> None:
    ask = start(1)
    before = ask.count(world.writer)
    paused()
    ask(world.writer, "script_tags.json", TAG)

    until(lambda: {ask.count(world.reader) for _ in range(8)}, lambda counts: counts == {before + 1})

    assert until(ask.ready, lambda metrics: not metrics["parts"]["replica"])["status"] == "degraded"
    until(ask.figures, lambda metrics: "\nbackoffice_replica_up 0.0" in metrics)
    world.on_replica("SELECT pg_wal_replay_resume()")
    until(lambda: ask.ready()["parts"]["replica"], bool)
    until(
        ask.figures,
        lambda metrics: "\nbackoffice_replica_up 1.0" in metrics and "\nbackoffice_replica_lag_seconds" in metrics,
    )


def test_a_replica_that_is_away_is_missed_by_nobody(world: World, start: Start) -> None:
    ask = start(3600)
    before = ask.count(world.reader)
    world.replica.stop("immediate")
    try:
        ask(world.writer, "script_tags.json", TAG)
        counts = {ask.count(world.reader) for _ in range(8)}
        readiness = until(ask.ready, lambda report: not report["parts"]["replica"])
        with pytest.raises(HTTPError, match="404"):
            ask(world.reader, "script_tags/1.json")
    finally:
        world.replica.start()

    assert counts == {before + 1}
    assert readiness["status"] == "degraded"
    until(lambda: ask.ready()["parts"]["replica"], bool)


def test_of_several_servers_the_one_that_takes_writes_is_used(world: World, tmp_path: Path) -> None:
    """Name two servers in the URL, a read-only one first."""
    server = Server(
        f"postgres://postgres@127.0.0.1:{world.replica.port},127.0.0.1:{world.primary.port}/restored", tmp_path
    )
    try:
        server.wait()
        ask = Asker(server)

        assert ask(world.writer, "script_tags.json", TAG)["script_tag"]["id"]
    finally:
        server.stop()
