"""Tests that the current code can use a database and a data folder from the last release.

``1.0.0/`` was created from the last release, see CONTRIBUTING. The tests also prove that the last release can write to
the new schema: no column was removed, every new column has a default, and a row of each table can be deleted and
inserted with the old columns. See check F14 in docs/reliability.md.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from psycopg.types.json import Jsonb

from tests.support.servers.concurrent_clients import ApiRequest, ClientThreads, PersistentClient, RequestStatistics
from tests.support.servers.ports import find_free_port
from tests.support.services import is_listening
from tests.support.timing import wait_until
from tests.upgrades.conftest import ReleasedInstallation
from tests.upgrades.paths import get_environment

# Each test runs all migrations since the last release, which takes minutes on a busy machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.django_db, pytest.mark.own_sessions]

# Tables that the migrate command fills.
MADE_BY_MIGRATIONS = {"django_migrations", "django_content_type", "auth_permission"}


def find_different_answers(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [path for path, response in before.items() if not is_contained(response, after[path])]


def is_contained(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            name in after and is_contained(before[name], after[name]) for name in before
        )
    if isinstance(before, list):
        return isinstance(after, list) and len(before) == len(after) and all(map(is_contained, before, after))
    return bool(before == after)


def delete_and_insert(plain: Any, table: str, row: dict[str, Any]) -> None:
    """Delete a row and insert it again with the given columns, then roll back."""
    mark = "?" if connection.vendor == "sqlite" else "%s"
    values = [Jsonb(value) if isinstance(value, dict | list) else value for value in row.values()]
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join(mark for _ in row)
    key = next(iter(row))
    plain.execute("BEGIN")
    try:
        if connection.vendor == "sqlite":
            guards = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
            for (guard,) in plain.execute(guards, [table]).fetchall():
                plain.execute(f'DROP TRIGGER "{guard}"')
        plain.execute(f'DELETE FROM "{table}" WHERE "{key}" = {mark}', [values[0]])
        plain.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', values)
    finally:
        plain.execute("ROLLBACK")


def test_data_of_the_last_release_is_complete_after_an_upgrade(released_installation: ReleasedInstallation) -> None:
    released = released_installation
    rows, files, columns, demanding = released.rows(), released.files(), released.columns(), released.demanding()

    released.do("migrate")

    now, schema = released.rows(), released.columns()
    for table in rows.keys() - MADE_BY_MIGRATIONS:
        old = [{name: row[name] for name in columns[table]} for row in now[table]]
        before, after = (sorted((sorted(row.items()) for row in rows_), key=repr) for rows_ in (rows[table], old))
        assert after == before, table
    assert {table: names - schema[table] for table, names in columns.items() if names - schema[table]} == {}
    assert {column for column in released.demanding() - demanding if column[0] in columns} == set()
    with closing(released.connect()) as plain:
        for table in rows.keys() - MADE_BY_MIGRATIONS:
            for row in rows[table][:1]:
                delete_and_insert(plain, table, row)
    assert files.items() <= released.files().items()
    released.do("check")
    assert find_different_answers(released.facts["answers"], released.ask(released.facts["answers"])) == []


def test_the_last_release_goes_on_on_the_new_schema(
    released_installation: ReleasedInstallation, released_code: Path
) -> None:
    facts = released_installation.facts
    released_installation.do("migrate")

    responses = released_installation.ask(facts["answers"], code=released_code)
    created = released_installation.do("write", facts["token"], code=released_code)

    assert responses == facts["answers"]
    assert find_different_answers(created, released_installation.ask(created)) == []
    released_installation.do("check")


# The number of clients, and the minimum number of rounds of each client before and after the migrations.
CLIENTS = 3
ROUNDS = 10
# A pause after each round, because SQLite would let the migrations wait minutes for clients that write without one.
PAUSE_SECONDS = 0.2
# SQLite does not queue writers, so a request may wait for many migrations. PostgreSQL only waits for one statement.
LOCK_SECONDS = {"sqlite": 600, "postgresql": 20}


class ReleasedTraffic(ClientThreads):
    """Clients that create, change and read objects with web processes of the last release."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(CLIENTS)
        self.statistics = RequestStatistics()
        self.rounds = [0] * CLIENTS
        self._port, self._token = port, token

    def wait_for_rounds(self) -> None:
        """Wait until each client has sent its minimum number of rounds since this call."""
        goals = [rounds + ROUNDS for rounds in self.rounds]
        wait_until(
            lambda: all(rounds >= goal for rounds, goal in zip(self.rounds, goals, strict=True)), bool, seconds=120
        )

    def send_requests(self, index: int) -> None:
        client = PersistentClient(self._port, self._token, self.statistics, timeout=LOCK_SECONDS["sqlite"] + 60)
        while not self.has_ended.wait(PAUSE_SECONDS):
            self.rounds[index] += 1
            name = f"{index}-{self.rounds[index]}"
            tag = {"event": "onload", "src": f"https://scripts.example/{name}.js"}
            hook = {"topic": "orders/create", "address": f"https://receiver.example/while/{name}", "format": "json"}
            for path, body in (
                ("customers.json", {"customer": {"email": f"while-{name}@example.com"}}),
                ("orders.json", {"order": {"line_items": [LINE], "note": name}}),
                ("script_tags.json", {"script_tag": tag}),
                ("webhooks.json", {"webhook": hook}),
            ):
                client.call(ApiRequest("POST", path, body))
            client.call(ApiRequest("GET", "orders.json?limit=5&status=any"))
        client.close()


KINDS = ("customers", "orders")
LINE = {"title": "Chair", "price": "10.00", "quantity": 1}


@contextmanager
def serve_released_code(installation: ReleasedInstallation, code: Path) -> Iterator[int]:
    """Run a web server with the code of the last release, and return its port."""
    port = find_free_port()
    environment = {
        **get_environment(installation.data, installation.database),
        "PORT": str(port),
        "WEB_PROCESSES": "2",
        "BACKOFFICE_LOCK_TIMEOUT_MS": str(LOCK_SECONDS[connection.vendor] * 1000),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "backoffice.entrypoints.serve"],
        cwd=code,
        env=environment,
    )
    try:
        wait_until(lambda: is_listening(port) or process.poll() is not None, bool, seconds=60)
        assert process.poll() is None, "the server of the last release ended at once"
        yield port
    finally:
        process.terminate()
        process.wait(60)


def test_migrate_fails_no_request_of_the_last_release(
    released_installation: ReleasedInstallation, released_code: Path
) -> None:
    """Send requests to processes of the last release before, during and after the migrations to the current schema."""
    token = released_installation.facts["token"]
    with serve_released_code(released_installation, released_code) as port, ReleasedTraffic(port, token) as traffic:
        traffic.wait_for_rounds()
        before = released_installation.count_migrations()
        released_installation.do("migrate")
        applied = released_installation.count_migrations() - before
        traffic.wait_for_rounds()

    assert applied > 0
    assert set(traffic.statistics.statuses) == {200, 201}
    assert traffic.statistics.statuses[201] == 4 * sum(traffic.rounds)
    count = released_installation.ask(["customers/count.json", "orders/count.json?status=any"])
    created = sum(traffic.rounds)
    stored = released_installation.facts["answers"]
    customers, orders = (sum(path.startswith(f"{name}/") and path.count("/") == 1 for path in stored) for name in KINDS)
    assert [answer["count"] for answer in count.values()] == [customers + created, orders + created]
    released_installation.do("check")
