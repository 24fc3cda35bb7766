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

from tests.faults.test_restarts import copy_database
from tests.support import factories, services
from tests.support.databases.clusters import Cluster, run_cluster
from tests.support.servers.live import LiveServer, get_database_url
from tests.support.servers.timed_client import TAG
from tests.support.timing import wait_until
from tests.support.types import Json

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.own_sessions]

SCRAPER = "reads-figures"


class ReplicatedShop:
    def __init__(self, primary: Cluster, replica: Cluster, tokens: list[str]) -> None:
        self.primary, self.replica = primary, replica
        self.writer, self.reader = tokens

    def on_replica(self, sql: str) -> Any:
        with psycopg.connect(self.replica.url, autocommit=True) as other:
            return other.execute(sql).fetchone()


class ReplicaClient:
    def __init__(self, server: LiveServer) -> None:
        self._url = server.url

    def __call__(self, token: str, path: str, body: object = None) -> Json:
        headers = {"X-Shopify-Access-Token": token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self._url}/admin/api/2026-10/{path}", data, headers), timeout=60) as response:
            return json.load(response)

    def count(self, token: str) -> int:
        return int(self(token, "script_tags/count.json")["count"])

    def count_often(self, token: str) -> list[int]:
        return [self.count(token) for _ in range(8)]

    def figures(self) -> str:
        headers = {"Authorization": f"Bearer {SCRAPER}"}
        with urlopen(Request(f"{self._url}/metrics", headers=headers), timeout=60) as response:
            return str(response.read().decode())

    def ready(self) -> Json:
        with urlopen(f"{self._url}/readyz", timeout=60) as response:
            return json.load(response)


@pytest.fixture(scope="module")
def replicated_shop(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, transactional_db: None
) -> Iterator[ReplicatedShop]:
    services.require_service("pg_dump", shutil.which("pg_dump"))
    installation = factories.make_installation(factories.make_shop())
    tokens = [factories.make_token(installation) for _ in range(2)]
    with run_cluster() as primary:
        copy_database(get_database_url(), primary.url)
        with run_cluster(primary) as replica:
            yield ReplicatedShop(primary, replica, tokens)


Start = Callable[..., ReplicaClient]


@pytest.fixture(scope="module")
def start_server(replicated_shop: ReplicatedShop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    running: dict[int, LiveServer] = {}
    cache = services.require_service("Redis", services.get_redis_url())
    with redis.Redis.from_url(cache) as notes:
        for key in notes.scan_iter("*written:*"):
            notes.delete(key)

    def make(lag: int) -> ReplicaClient:
        if lag in running:
            return ReplicaClient(running[lag])
        server = LiveServer(
            replicated_shop.primary.url,
            tmp_path_factory.mktemp("web"),
            BACKOFFICE_REPLICA_URL=replicated_shop.replica.url,
            BACKOFFICE_REPLICA_LAG_SECONDS=str(lag),
            CACHE_URL=cache,
            BACKOFFICE_METRICS_TOKEN=SCRAPER,
            WEB_PROCESSES="2",
        )
        running[lag] = server
        server.wait()
        ask = ReplicaClient(server)
        # A process uses the replica only after the replica has replayed the primary's position at process start.
        wait_until(lambda: ask.ready()["parts"]["replica"], bool)
        return ask

    yield make
    for server in running.values():
        server.stop()


@pytest.fixture
def pause_replay(replicated_shop: ReplicatedShop) -> Iterator[Callable[[], None]]:
    yield lambda: replicated_shop.on_replica("SELECT pg_wal_replay_pause()")
    replicated_shop.on_replica("SELECT pg_wal_replay_resume()")


def test_writers_read_their_own_writes_and_others_read_the_replica(
    replicated_shop: ReplicatedShop, start_server: Start, pause_replay: Callable[[], None]
) -> None:
    ask = start_server(3600)
    before = ask.count(replicated_shop.writer)
    wait_until(lambda: set(ask.count_often(replicated_shop.reader)), {before}.__eq__)
    pause_replay()

    created = ask(replicated_shop.writer, "script_tags.json", TAG)["script_tag"]

    assert ask.count_often(replicated_shop.writer) == [before + 1] * 8
    # After failing to reach the replica, a process waits some seconds before the next attempt.
    wait_until(lambda: ask.count_often(replicated_shop.reader), lambda counts: before in counts, seconds=20)
    assert ask(replicated_shop.reader, f"script_tags/{created['id']}.json")["script_tag"] == created
    replicated_shop.on_replica("SELECT pg_wal_replay_resume()")
    wait_until(lambda: set(ask.count_often(replicated_shop.reader)), {before + 1}.__eq__)


def test_lagging_replicas_are_not_read(
    replicated_shop: ReplicatedShop, start_server: Start, pause_replay: Callable[[], None]
) -> None:
    ask = start_server(1)
    before = ask.count(replicated_shop.writer)
    pause_replay()
    ask(replicated_shop.writer, "script_tags.json", TAG)

    wait_until(lambda: set(ask.count_often(replicated_shop.reader)), {before + 1}.__eq__)

    assert wait_until(ask.ready, lambda metrics: not metrics["parts"]["replica"])["status"] == "degraded"
    wait_until(ask.figures, lambda metrics: "\nbackoffice_replica_up 0.0" in metrics)
    replicated_shop.on_replica("SELECT pg_wal_replay_resume()")
    wait_until(lambda: ask.ready()["parts"]["replica"], bool)
    wait_until(ask.figures, lambda metrics: "\nbackoffice_replica_up 1.0" in metrics)
    wait_until(ask.figures, lambda metrics: "\nbackoffice_replica_lag_seconds" in metrics)


def test_an_unreachable_replica_affects_no_request(replicated_shop: ReplicatedShop, start_server: Start) -> None:
    ask = start_server(3600)
    before = ask.count(replicated_shop.reader)
    replicated_shop.replica.stop("immediate")
    try:
        ask(replicated_shop.writer, "script_tags.json", TAG)
        counts = ask.count_often(replicated_shop.reader)
        readiness = wait_until(ask.ready, lambda report: not report["parts"]["replica"])
        with pytest.raises(HTTPError, match="404"):
            ask(replicated_shop.reader, "script_tags/1.json")
    finally:
        replicated_shop.replica.start()

    assert counts == [before + 1] * 8
    assert readiness["status"] == "degraded"
    wait_until(lambda: ask.ready()["parts"]["replica"], bool)


def test_the_server_that_accepts_writes_is_used(replicated_shop: ReplicatedShop, tmp_path: Path) -> None:
    """Use a URL with two servers, the read-only server first."""
    servers = [f"127.0.0.1:{cluster.port}" for cluster in (replicated_shop.replica, replicated_shop.primary)]
    server = LiveServer(f"postgres://postgres@{','.join(servers)}/restored", tmp_path)
    try:
        server.wait()
        ask = ReplicaClient(server)

        assert ask(replicated_shop.writer, "script_tags.json", TAG)["script_tag"]["id"]
    finally:
        server.stop()
