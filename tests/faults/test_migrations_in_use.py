"""Tests with processes of the previous release. ``SOAK_ROWS`` sets the number of rows in the large test."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import StateApps

from apps.core.db.migration_operations import AddIndexWithoutBlocking
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.customers.models import Customer
from benchmarks.data import fill_customers
from tests.support import factories
from tests.support.databases.schema_changes import find_unsafe_operations
from tests.support.servers.concurrent_clients import ApiRequest, ClientThreads, PersistentClient, RequestStatistics
from tests.support.servers.live import LiveServer, get_database_url
from tests.support.timing import scale_for_soak

pytestmark = pytest.mark.slow

TABLE = "customers_customer"
SOAK_ROWS = int(os.environ.get("SOAK_ROWS") or scale_for_soak(100_000))
BATCH = 1_000
CALLERS = 3
HELD_SECONDS = 5
FILL = f"UPDATE {TABLE} SET points = id %% 7 WHERE id > %s AND id <= %s AND points IS NULL"

Operations = list[Any]


def fill_by_batches(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT max(id) FROM {TABLE}")
        (newest,) = cursor.fetchone()
        for after in range(0, newest, BATCH):
            with transaction.atomic():
                cursor.execute(FILL, [after, after + BATCH])


def fill_at_once(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Update all rows in the transaction of the schema change, which locks the table for a long time."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, [0, 2**62])
    time.sleep(HELD_SECONDS)


ADD = migrations.AddField("customer", "points", models.IntegerField(null=True))
INDEX = AddIndexWithoutBlocking("customer", models.Index(fields=["shop", "points"], name="tests_customer_points"))
AS_PRESCRIBED: list[tuple[Operations, bool]] = [
    ([ADD], True),
    ([migrations.RunPython(fill_by_batches, migrations.RunPython.noop)], False),
    ([INDEX], False),
]
ALL_AT_ONCE: list[tuple[Operations, bool]] = [
    ([ADD, migrations.RunPython(fill_at_once, migrations.RunPython.noop)], True)
]


@contextmanager
def next_release(steps: list[tuple[Operations, bool]]) -> Iterator[list[migrations.Migration]]:
    """Simulate the next release with additional migrations, and restore the current schema after the block."""
    newest = max(name for app, name in MigrationLoader(None).disk_migrations if app == "customers")
    migrations_made, before = [], newest
    with pytest.MonkeyPatch.context() as patch:
        for number, (operations, atomic) in enumerate(steps, start=9001):
            name = f"{number}_step"
            body = {"dependencies": [("customers", before)], "operations": operations, "atomic": atomic}
            kind = type("Migration", (migrations.Migration,), body)
            migrations_made.append(kind(name, "customers"))
            before = name
        build = MigrationLoader.load_disk

        def load(loader: MigrationLoader) -> None:
            build(loader)
            for migration in migrations_made:
                loader.disk_migrations["customers", migration.name] = migration

        patch.setattr(MigrationLoader, "load_disk", load)
        try:
            yield migrations_made
        finally:
            call_command("migrate", "customers", newest, verbosity=0, interactive=False)


class CustomerTraffic(ClientThreads):
    def __init__(self, server: LiveServer, token: str, ids: range) -> None:
        super().__init__(CALLERS)
        self.fates = RequestStatistics()
        self.notes: dict[int, str] = {}
        self._server, self._token, self._ids = server, token, ids

    def send_requests(self, index: int) -> None:
        """Change only this thread's customers, so that their final values are known."""
        caller, chance = PersistentClient(self._server.port, self._token, self.fates), random.Random(index)
        while not self.has_ended.is_set():
            pk = chance.choice(self._ids[index::CALLERS])
            note = f"{chance.getrandbits(60):x}"
            caller.call(ApiRequest("GET", f"customers.json?since_id={pk}&limit=20"))
            caller.call(ApiRequest("POST", "customers.json", {"customer": {"email": f"{note}@example.com"}}))
            if caller.call(ApiRequest("PUT", f"customers/{pk}.json", {"customer": {"note": note}})) == 200:
                self.notes[pk] = note
        caller.close()


@pytest.fixture
def server(db: None, tmp_path: Path) -> Iterator[LiveServer]:
    server = LiveServer(get_database_url(), tmp_path, BACKOFFICE_BRAND="platform")
    server.wait()
    yield server
    server.stop()


def make_customers(shop: Shop, rows: int) -> range:
    with all_shops_scope():
        first = (Customer.objects.order_by("pk").values_list("pk", flat=True).last() or 0) + 1
        fill_customers(shop.pk, first, first + rows - 1)
    return range(first, first + rows)


def get_points() -> dict[int, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, points FROM {TABLE}")
        return dict(cursor.fetchall())


@pytest.mark.django_db
def test_the_migrations_of_these_tests_are_as_they_say() -> None:
    def judged(steps: list[tuple[Operations, bool]]) -> list[str]:
        with next_release(steps) as release_migrations:
            loader = MigrationLoader(None)
            states = [loader.project_state((row.app_label, row.name), at_end=False) for row in release_migrations]
            pairs = zip(release_migrations, states, strict=True)
            return [reason for row, state in pairs for reason in find_unsafe_operations(row, state)]

    assert (judged(AS_PRESCRIBED), len(judged(ALL_AT_ONCE))) == ([], 1)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(3_000, id="small"),
        pytest.param(SOAK_ROWS, id="large", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_a_migration_fails_no_request(
    server: LiveServer, shop: Shop, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    token = factories.make_token(factories.make_installation(shop))
    ids = make_customers(shop, rows)
    with next_release(AS_PRESCRIBED), CustomerTraffic(server, token, ids) as traffic:
        time.sleep(0.5)
        before = sum(traffic.fates.statuses.values())
        began = time.monotonic()
        call_command("migrate", "customers", verbosity=0, interactive=False)
        took = time.monotonic() - began
        during = sum(traffic.fates.statuses.values()) - before
        time.sleep(0.5)
        statuses = get_points()

    with capsys.disabled():
        slowest = max(traffic.fates.seconds)
        print(f"\n{rows} rows in {took:.1f} s, {during} answers meanwhile, the slowest {slowest:.2f} s")  # noqa: T201
    assert during > 5
    assert set(traffic.fates.statuses) == {200, 201}
    assert {pk: statuses[pk] for pk in ids} == {pk: pk % 7 for pk in ids}
    with all_shops_scope():
        assert dict(Customer.objects.filter(pk__in=traffic.notes).values_list("pk", "note")) == traffic.notes
        created_count = Customer.objects.filter(shop=shop, pk__gte=ids.stop).count()
    assert created_count == traffic.fates.statuses[201]


@pytest.mark.postgres
def test_rows_that_are_filled_while_the_table_is_locked_fail_requests(server: LiveServer, shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(shop))
    with next_release(ALL_AT_ONCE), CustomerTraffic(server, token, make_customers(shop, 100)) as traffic:
        time.sleep(0.3)
        call_command("migrate", "customers", verbosity=0, interactive=False)

    assert traffic.fates.statuses[503] > 0
