import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection

from apps.content.models import ScriptTag
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.faults.conftest import Sql, connect_from_outside
from tests.support.databases.pooler import run_pooler
from tests.support.servers.live import LiveServer
from tests.support.servers.timed_client import TAG, ServerClient, Start, TimedResponse

pytestmark = pytest.mark.slow

LOCKED_SECONDS = 12


def count_tags(shop: Shop) -> int:
    with shop_scope(shop):
        return ScriptTag.objects.count()


def hold_lock(statement: str, ready: threading.Event) -> None:
    with connect_from_outside() as other:
        other.execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
        other.execute(statement)
        ready.set()
        time.sleep(LOCKED_SECONDS)
        other.execute("ROLLBACK")


def test_a_locked_table_blocks_no_other_route(start_server: Start, shop: Shop) -> None:
    call = ServerClient(start_server(WEB_PROCESSES="2", BACKOFFICE_LOCK_TIMEOUT_MS="1000"), shop)
    bodies = {"script_tags.json": TAG if connection.vendor == "sqlite" else None, "products.json": None}
    assert [call(path).status for path in bodies for _ in range(4)] == [200] * 8
    ready, over = threading.Event(), threading.Event()
    statement = "SELECT 1" if connection.vendor == "sqlite" else "LOCK TABLE content_scripttag IN ACCESS EXCLUSIVE MODE"
    locker = threading.Thread(target=hold_lock, args=(statement, ready))

    def ask(path: str) -> list[TimedResponse]:
        responses = []
        while not over.is_set():
            responses.append(call(path, bodies[path]))
            time.sleep(0.05)
        return responses

    locker.start()
    ready.wait(30)
    with ThreadPoolExecutor(10) as pool:
        futures = [pool.submit(ask, path) for path in ["script_tags.json"] * 8 + ["products.json"] * 2]
        time.sleep(LOCKED_SECONDS - 1)
        over.set()
        locked = [response for future in futures[:8] for response in future.result()]
        served = [response for future in futures[8:] for response in future.result()]
    locker.join()

    refused = [response for response in locked if response.status == 503]
    assert {response.status for response in locked} <= {503, 200, 201}
    assert len(refused) >= 8
    assert all(response.headers["Retry-After"] for response in refused)
    assert max(response.seconds for response in refused) < LOCKED_SECONDS - 1
    assert {response.status for response in served} == {200}
    assert max(response.seconds for response in served) < LOCKED_SECONDS - 1
    assert call("script_tags.json").status == 200


@pytest.fixture
def slow_inserts(run_sql_outside: Sql) -> Iterator[None]:
    run_sql_outside(
        """
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$;
        CREATE TRIGGER slow AFTER INSERT ON content_scripttag FOR EACH ROW EXECUTE FUNCTION slow();
        """
    )
    yield
    run_sql_outside("DROP FUNCTION slow CASCADE")


def kill_processes(server: LiveServer) -> None:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    for pid in (server.process.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    server.process.wait(30)


@pytest.mark.postgres
@pytest.mark.usefixtures("slow_inserts")
def test_key_of_a_killed_request_works_at_once_and_has_one_effect(start_server: Start, shop: Shop) -> None:
    server = start_server()
    call = ServerClient(server, shop)
    headers = {"Idempotency-Key": "order-7"}
    results: list[object] = []

    def post() -> None:
        try:
            results.append(call("script_tags.json", TAG, **headers))
        except OSError as error:
            results.append(error)

    thread = threading.Thread(target=post)
    thread.start()
    time.sleep(1)
    kill_processes(server)
    thread.join()
    call.server = start_server()
    repeated = call("script_tags.json", TAG, **headers)
    replayed = call("script_tags.json", TAG, **headers)

    assert isinstance(results[0], OSError)
    assert (repeated.status, repeated.headers["Idempotent-Replayed"]) == (201, None)
    assert (replayed.status, replayed.headers["Idempotent-Replayed"]) == (201, "true")
    assert count_tags(shop) == 1


@pytest.fixture(params=["direct", "pooled"])
def pooled_url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "direct":
        yield ""
        return
    with run_pooler(sessions=2) as port:
        yield f"postgres://x@127.0.0.1:{port}/{connection.settings_dict['NAME']}"


@pytest.mark.postgres
def test_requests_survive_a_changed_column_with_and_without_a_pooler(
    start_server: Start, shop: Shop, change_column_type: Callable[[str], None], pooled_url: str
) -> None:
    call = ServerClient(start_server(pooled_url, BACKOFFICE_DATABASE_POOLER="on" if pooled_url else "off"), shop)

    def many() -> set[int]:
        works = [("script_tags.json", None), ("script_tags.json", TAG), ("script_tags/count.json", None)] * 8
        with ThreadPoolExecutor(6) as pool:
            return {response.status for response in pool.map(lambda work: call(*work), works)}

    before = many()
    change_column_type("text")
    after = many()
    change_column_type("varchar(255)")

    assert before == after == many() == {200, 201}
    assert count_tags(shop) == 24
