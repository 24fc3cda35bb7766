import json
import subprocess
import time
from collections.abc import Iterator

import psycopg
import pytest

from apps.core.tenancy.models import Shop
from apps.demo.webhook_receiver import WebhookReceiver
from tests.support import factories
from tests.support.databases.clusters import Cluster, run_cluster
from tests.support.servers.concurrent_clients import ClientThreads
from tests.support.servers.live import get_database_url, stop_process
from tests.support.servers.timed_client import ServerClient, Start, TimedResponse
from tests.support.timing import wait_until
from tests.support.webhooks import make_subscription

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.own_sessions]

RECOVERED_SECONDS = 10
# The number of script tags written before each restart and after the last one.
WRITTEN = 20


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with run_cluster() as cluster:
        yield cluster


@pytest.fixture
def receiver(allow_loopback: None) -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as catcher:
        yield catcher


def copy_database(source: str, target: str) -> None:
    dump = subprocess.run(["pg_dump", "--no-owner", source], check=True, stdout=subprocess.PIPE)
    subprocess.run(
        ["psql", "-q", "-v", "ON_ERROR_STOP=1", target], input=dump.stdout, check=True, stdout=subprocess.DEVNULL
    )


class TagWriters(ClientThreads):
    def __init__(self, call: ServerClient, count: int) -> None:
        super().__init__(count)
        self.answers: list[tuple[str, TimedResponse]] = []
        self._call = call

    def send_requests(self, index: int) -> None:
        count = 0
        while not self.has_ended.is_set():
            count += 1
            src = f"https://a.example/{index}-{count}.js"
            tag = {"script_tag": {"src": src, "event": "onload"}}
            self.answers.append((src, self._call("script_tags.json", tag)))
            time.sleep(0.02)

    def statuses(self, since: int = 0) -> list[int]:
        return [response.status for _, response in self.answers[since:]]


def wait_for_writes(writers: TagWriters) -> None:
    since = len(writers.answers)
    wait_until(lambda: 201 in writers.statuses(since), bool, seconds=RECOVERED_SECONDS)
    wait_until(lambda: writers.statuses(since).count(201), WRITTEN.__le__, seconds=60)


def test_a_restart_loses_nothing(start_server: Start, shop: Shop, cluster: Cluster, receiver: WebhookReceiver) -> None:
    installation = factories.make_installation(shop)
    token = factories.make_token(installation)
    make_subscription(installation, receiver.url, topic="script_tags/create")
    copy_database(get_database_url(), cluster.url)
    server = start_server(cluster.url, WEB_THREADS="4")
    call = ServerClient(server, shop)
    call.token = token
    worker = server.start("backoffice.entrypoints.worker", "-B")
    with TagWriters(call, 4) as writers:
        wait_for_writes(writers)
        for how in ("fast", "immediate"):
            cluster.stop(how)
            refused = len(writers.answers)
            time.sleep(1)
            cluster.start()
            wait_for_writes(writers)
            assert 503 in writers.statuses(refused)

    failed = [response for _, response in writers.answers if response.status != 201]
    assert {response.status for response in failed} == {503}
    assert all(response.headers["Retry-After"] for response in failed)
    with psycopg.connect(cluster.url) as other:
        stored_urls = {src for (src,) in other.execute("SELECT src FROM content_scripttag")}
        events = other.execute("SELECT count(*) FROM events_event WHERE topic = 'script_tags/create'").fetchone()
    acknowledged = {src for src, response in writers.answers if response.status == 201}
    assert len(acknowledged) >= 3 * WRITTEN
    assert acknowledged <= stored_urls
    # A write is stored with its event even if the client got no response.
    assert events == (len(stored_urls),)
    wait_until(
        lambda: {json.loads(request.body)["src"] for request in list(receiver.requests)}, stored_urls.__eq__, seconds=40
    )
    stop_process(worker)
