import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from apps.content.models import Blog
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.faults.conftest import Sql
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.servers.live import LiveServer, get_database_url
from tests.support.servers.timed_client import TAG, ServerClient

BLOG = {"blog": {"title": "News", "metafields": [{"namespace": "n", "key": "k", "type": "json", "value": "{}"}]}}
LARGE = {"product": {"title": "x", "body_html": "x" * 400_000}}


@pytest.fixture
def fill_disk(db: None, run_sql_outside: Sql) -> Iterator[Callable[[], None]]:
    """Return a function that simulates a full database disk and returns another function to free the disk.

    SQLite cannot grow beyond its current pages. On PostgreSQL, the first event raises the error that a full disk
    causes, because a real full disk would affect all users of the server.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            # Remove the free space that deleted rows have left in the file.
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA page_count")
            cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")

        def free() -> None:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA max_page_count = 1073741823")
    else:
        run_sql_outside(
            """
            CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
            CREATE TRIGGER no_room BEFORE INSERT ON events_event FOR EACH ROW EXECUTE FUNCTION no_room();
            """
        )

        def free() -> None:
            run_sql_outside("DROP FUNCTION IF EXISTS no_room CASCADE")

    yield free
    free()


def count_rows(shop: Shop) -> tuple[int, ...]:
    with connection.cursor() as cursor:
        tables = ("catalog_product", "content_blog", "metafields_metafield", "events_event", "api_idempotencykey")
        return tuple(cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)


def test_a_full_database_refuses_writes_and_serves_reads(shop: Shop, request: pytest.FixtureRequest) -> None:
    installation = factories.make_installation(shop)
    api = ApiClient(factories.make_token(installation), installation)
    assert api.get("shop.json").status_code == 200
    before = count_rows(shop)
    free = request.getfixturevalue("fill_disk")

    responses = [api.post("products.json", LARGE, idempotency_key="k") for _ in range(2)]
    if connection.vendor == "postgresql":
        responses.append(api.post("blogs.json", BLOG))

    for response in responses:
        assert (response.status_code, response.json()) == (503, {"errors": "Service Unavailable"})
        assert float(response["Retry-After"]) > 0
    assert count_rows(shop) == before
    assert api.get("products.json").status_code == 200
    free()
    repeated = api.post("products.json", LARGE, idempotency_key="k")
    assert (repeated.status_code, "Idempotent-Replayed" in repeated) == (201, False)
    assert api.post("blogs.json", BLOG).status_code == 201
    with shop_scope(shop):
        assert Blog.objects.count() == 1
        assert Event.objects.filter(topic="products/create").count() == 1


class ServerWithFullLogDisk(LiveServer):
    def spawn(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with Path("/dev/full").open("w") as full:
            command, env = [sys.executable, "-m", module, *arguments], {**self.env, "BACKOFFICE_LOG_LEVEL": "DEBUG"}
            return subprocess.Popen(command, cwd=settings.BASE_DIR, env=env, stdout=full, stderr=full)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_log_that_cannot_be_written_takes_no_request_down(shop: Shop, tmp_path: Path) -> None:
    server = ServerWithFullLogDisk(get_database_url(), tmp_path)
    try:
        server.wait()
        call = ServerClient(server, shop)
        requests = [("script_tags.json", None), ("script_tags.json", TAG), ("script_tags/1x.json", None)] * 2
        assert [call(path, body).status for path, body in requests] == [200, 201, 404] * 2
    finally:
        server.stop()
