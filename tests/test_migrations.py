"""Tests for migrations on a database in use: compatibility with the previous release, and limited waits for locks.

See check F14 in docs/reliability.md.
"""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.sql import emit_pre_migrate_signal
from django.db import connection, migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState, StateApps
from django.test.utils import CaptureQueriesContext

from apps.core.db.migration_operations import AddIndexWithoutBlocking, AddPostgresIndex, DropShopIndexes
from apps.core.management.commands import migrate
from apps.core.tenancy.shop_owned import ShopOwned
from tests.faults.conftest import connect_from_outside
from tests.support.databases.schema_changes import find_unsafe_operations, find_unsafe_statements
from tests.support.databases.templates import get_template
from tests.support.servers.live import get_database_url
from tests.support.services import is_postgres
from tests.upgrades.paths import scratch_database


def iterate_own_migrations() -> Iterator[tuple[migrations.Migration, ProjectState]]:
    loader = MigrationLoader(None)
    for _, migration in sorted(loader.disk_migrations.items()):
        ours = type(migration).__module__.startswith("apps.")
        if ours and not migration.initial:
            yield migration, loader.project_state((migration.app_label, migration.name), at_end=False)


def test_initial_migrations_create_their_tables_in_one_operation() -> None:
    """Check this, because Django takes 0.1 s for each further operation on the models of an app."""
    slow = (migrations.CreateModel, migrations.AddIndex, migrations.AddConstraint)

    further_operations = {
        f"{migration}": [operation.describe() for operation in migration.operations if isinstance(operation, slow)]
        for migration in MigrationLoader(None).disk_migrations.values()
        if type(migration).__module__.startswith("apps.") and migration.initial and migration.name == "0001_initial"
    }

    assert {name: found for name, found in further_operations.items() if len(found) > 1} == {}


@pytest.mark.both_databases
@pytest.mark.django_db
def test_migrations_leave_the_release_before_running_or_the_changelog_announces_them() -> None:
    """Check that CHANGELOG.md names each breaking migration, so that operators stop all processes first."""
    announced = (settings.BASE_DIR / "CHANGELOG.md").read_text()
    checks = [find_unsafe_operations, *([find_unsafe_statements] if connection.vendor == "postgresql" else [])]

    breaking = {
        f"{migration}": reasons
        for migration, state in iterate_own_migrations()
        if f"`{migration}`" not in announced
        and (reasons := [reason for check in checks for reason in check(migration, state)])
    }

    assert breaking == {}


def make_migration(*operations: object, atomic: bool = True) -> tuple[migrations.Migration, ProjectState]:
    """Return a migration of a model that exists, and the state before the migration."""
    state = ProjectState()
    fields: dict[str, models.Field[Any, Any]] = {
        "id": models.BigAutoField(primary_key=True),
        "name": models.CharField(max_length=20),
        "note": models.CharField(max_length=20, null=True),
    }
    migrations.CreateModel("Thing", list(fields.items())).state_forwards("things", state)
    kind = type("Migration", (migrations.Migration,), {"operations": list(operations), "atomic": atomic})
    return kind("0002_more", "things"), state


def find_problems(*operations: object, atomic: bool = True) -> list[str]:
    return find_unsafe_operations(*make_migration(*operations, atomic=atomic))


ONE = models.IntegerField


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("thing", "size", ONE(null=True, unique=True)),
        migrations.AddField("thing", "size", ONE(default=1)),
        migrations.RemoveField("thing", "name"),
        migrations.RenameField("thing", "name", "title"),
        migrations.DeleteModel("Thing"),
        migrations.RenameModel("Thing", "Matter"),
        migrations.AlterModelTable("thing", "matters"),
        migrations.AlterField("thing", "note", models.CharField(max_length=20)),
        migrations.AlterField("thing", "name", models.CharField(max_length=10)),
        migrations.AlterField("thing", "name", models.IntegerField()),
        migrations.AddConstraint("thing", models.CheckConstraint(condition=models.Q(name="x"), name="only_x")),
        migrations.RunSQL("SELECT 1"),
        migrations.SeparateDatabaseAndState(database_operations=[migrations.RunSQL("SELECT 1")]),
    ],
    ids=lambda operation: operation.describe(),
)
def test_migrations_that_break_or_block_running_processes_are_found(operation: Any) -> None:
    assert len(find_problems(operation)) == 1


@pytest.mark.postgres
@pytest.mark.django_db
@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("thing", "size", ONE(default=1)),
        migrations.AddField("thing", "size", ONE(null=True, db_index=True)),
        migrations.RemoveField("thing", "name"),
        migrations.RenameModel("Thing", "Matter"),
        migrations.AlterField("thing", "note", models.CharField(max_length=20)),
        migrations.AlterField("thing", "name", models.CharField(max_length=20, unique=True)),
        migrations.AddIndex("thing", models.Index(fields=["name"], name="by_name")),
        migrations.SeparateDatabaseAndState(database_operations=[migrations.DeleteModel("Thing")]),
    ],
    ids=lambda operation: operation.describe(),
)
def test_linter_finds_statements_that_break_or_block_running_processes(operation: Any) -> None:
    assert find_unsafe_statements(*make_migration(operation)) != []


def _create_plain_index(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    schema_editor.execute("CREATE INDEX by_name ON thing (name)")


def test_indexes_are_built_without_blocking_writers() -> None:
    index = models.Index(fields=["name"], name="by_name")
    without_blocking = AddIndexWithoutBlocking("thing", index), AddPostgresIndex("thing", "parts", "(name)")

    assert all(find_problems(operation) for operation in (migrations.RunPython(_create_plain_index), *without_blocking))
    assert find_problems(*without_blocking, atomic=False) == []


def test_rows_are_not_worked_on_in_the_transaction_that_changes_their_table() -> None:
    fill = migrations.RunPython(migrations.RunPython.noop)

    assert find_problems(fill) == []
    assert len(find_problems(migrations.AddField("thing", "size", ONE(null=True)), fill)) == 1


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("thing", "size", ONE(null=True)),
        migrations.AddField("thing", "size", ONE(db_default=1)),
        migrations.AlterField("thing", "name", models.CharField(max_length=40, help_text="Longer", null=True)),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("thing", "note")]),
        AddIndexWithoutBlocking("thing", models.Index(fields=["name"], name="by_name")),
    ],
    ids=lambda operation: operation.describe(),
)
@pytest.mark.django_db
def test_migrations_that_running_processes_do_not_notice_pass(operation: Any) -> None:
    assert find_problems(operation, atomic=False) == []
    if connection.vendor == "postgresql":
        assert find_unsafe_statements(*make_migration(operation, atomic=False)) == []


def test_a_table_that_the_migration_makes_is_its_own() -> None:
    create_new_model = migrations.CreateModel("New", [("id", models.BigAutoField(primary_key=True))])

    assert find_problems(create_new_model, migrations.AddIndex("new", models.Index(fields=["id"], name="by_id"))) == []


# --- schema changes of a SQLite database in use ---


def prepare_insert_after_schema_change() -> None:
    """Prepare the first INSERT of a connection, after another connection changed the schema that it has loaded."""
    with connect_from_outside() as other, connection.cursor() as cursor:
        other.execute("SELECT count(*) FROM customers_customer").fetchall()
        cursor.execute("CREATE TABLE tests_added (id integer)")
        try:
            other.execute("EXPLAIN INSERT INTO customers_customer (id) VALUES (1)").fetchall()
        finally:
            cursor.execute("DROP TABLE tests_added")


@pytest.mark.skipif(is_postgres(), reason="only SQLite loads the schema into each connection")
def test_customers_can_be_created_after_schema_changes(transactional_db: None) -> None:
    """Create customers with the triggers in the order of this release, and of 1.0.0 when ``migrate`` begins."""
    prepare_insert_after_schema_change()

    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'customers_search_%'")
        for name, statement in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")
            cursor.execute(statement)
    emit_pre_migrate_signal(verbosity=0, interactive=False, db="default")

    prepare_insert_after_schema_change()


# --- waiting for locks ---


@pytest.fixture
def pending_migration(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Mark the newest content migration as not applied, and replace its operations with a table lock."""
    monkeypatch.setattr(migrate, "PAUSE_SECONDS", 0.2)

    def lock(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute("LOCK TABLE content_scripttag IN ACCESS EXCLUSIVE MODE")

    _, name = max(key for key in MigrationLoader(None).disk_migrations if key[0] == "content")
    with connect_from_outside() as other:
        other.execute("DELETE FROM django_migrations WHERE app = 'content' AND name = %s", [name])
    loaded = MigrationLoader(None).disk_migrations["content", name]
    monkeypatch.setattr(type(loaded), "operations", [migrations.RunPython(lock)])
    monkeypatch.setattr(type(loaded), "atomic", True)
    yield
    call_command("migrate", "content", verbosity=0, interactive=False)


@pytest.mark.postgres
@pytest.mark.usefixtures("pending_migration")
def test_migrate_gives_a_lock_up_soon_and_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()
    with connect_from_outside() as other:

        def let_go(seconds: float) -> None:
            given_up.set()
            other.execute("ROLLBACK")

        monkeypatch.setattr(f"{migrate.__name__}.time.sleep", let_go)
        other.execute("BEGIN; SELECT * FROM content_scripttag")
        call_command("migrate", "content", verbosity=0, interactive=False)

    assert given_up.is_set()
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("5s",)


@pytest.mark.postgres
@pytest.mark.usefixtures("pending_migration")
def test_migrate_says_what_to_do_where_a_table_stays_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "MAX_TRIES", 2)
    with connect_from_outside() as other:
        other.execute("BEGIN; SELECT * FROM content_scripttag")
        with pytest.raises(CommandError, match="Run migrate when there is less traffic"):
            call_command("migrate", "content", verbosity=0, interactive=False)


@pytest.mark.django_db(transaction=True)
def test_concurrent_index_replaces_an_invalid_one() -> None:
    operation = AddIndexWithoutBlocking("scripttag", models.Index(fields=["event"], name="tests_by_event"))
    before = MigrationLoader(None).project_state()
    after = before.clone()
    operation.state_forwards("content", after)

    def indexes() -> set[str]:
        with connection.cursor() as cursor:
            return set(connection.introspection.get_constraints(cursor, "content_scripttag"))

    for _ in range(2 if connection.vendor == "postgresql" else 1):
        with connection.schema_editor(atomic=False) as editor:
            operation.database_forwards("content", editor, before, after)
    index_names = indexes()
    with connection.schema_editor(atomic=False) as editor:
        operation.database_backwards("content", editor, after, before)

    assert "tests_by_event" in index_names
    assert "tests_by_event" not in indexes()


# --- indexes on the shop ---


@pytest.mark.both_databases
@pytest.mark.django_db
def test_tables_have_one_kind_of_index_on_the_shop() -> None:
    redundant, missing = [], []
    for model in (model for model in apps.get_models() if issubclass(model, ShopOwned) and not model._meta.proxy):
        declared = [*model._meta.indexes, *model._meta.constraints]
        partial = {item.name for item in declared if getattr(item, "condition", None) is not None}
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
        full = {item.name for item in declared} - partial
        own = (
            {name for name, item in found.items() if item["columns"] == ["shop_id"] and item["index"]} - partial - full
        )
        others = {name for name in full & found.keys() if found[name]["columns"][:1] == ["shop_id"]}
        redundant += [name for name in own if others]
        missing += [] if own or others else [model._meta.label]

    assert (redundant, missing) == ([], [])


@pytest.mark.django_db(transaction=True)
def test_index_of_the_shop_is_dropped_and_created_without_copying_the_table() -> None:
    operation = DropShopIndexes("scripttag")
    state = MigrationLoader(None).project_state()

    def run(change: Any) -> tuple[list[str], list[str]]:
        """Return the commands that changed the schema, and the names of the indexes on the shop alone."""
        with CaptureQueriesContext(connection) as queries, connection.schema_editor(atomic=False) as editor:
            change("content", editor, state, state)
        commands = [query["sql"].split()[0] for query in queries if "scripttag" in query["sql"]]
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, "content_scripttag")
        own = [name for name, item in found.items() if item["columns"] == ["shop_id"] and item["index"]]
        return [name for name in commands if name in {"ALTER", "CREATE", "DROP", "INSERT"}], own

    created, added_indexes = run(operation.database_backwards)
    dropped, remaining_indexes = run(operation.database_forwards)

    assert (created, len(added_indexes)) == (["DROP", "CREATE"], 1)
    assert (dropped, remaining_indexes) == (["DROP"], [])


# --- reversing ---


@contextmanager
def copy_migrated_database(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the URL of a copy of the migrated database, and a connection to the copy."""
    if connection.vendor == "postgresql":
        scratch = scratch_database(get_database_url(), template=get_template())
        with scratch as url, psycopg.connect(url, autocommit=True) as plain:
            yield url, plain
    else:
        file, migrated = folder / "copy.sqlite3", connection.settings_dict["NAME"]
        with closing(sqlite3.connect(file)) as plain:
            with closing(sqlite3.connect(migrated)) as source:
                source.backup(plain)
            yield f"sqlite:///{file}", plain


TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
}


@pytest.mark.django_db
@pytest.mark.own_sessions
def test_triggers_never_write_into_a_reversed_table(tmp_path: Path) -> None:
    """Check triggers after reversing migrations. A trigger on a dropped table would make saving a product fail."""
    with copy_migrated_database(tmp_path) as (url, plain):

        def find_triggers() -> set[str]:
            return {name for (name,) in plain.execute(TRIGGERS[connection.vendor]).fetchall()}

        def migrated(*to: str) -> set[str]:
            """Migrate the database and return the names of all triggers."""
            env = {**os.environ, "DATABASE_URL": url, "BACKOFFICE_DATA_DIR": str(tmp_path)}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", *to]
            subprocess.run(command, cwd=settings.BASE_DIR, env=env, check=True)
            return find_triggers()

        all_triggers = find_triggers()
        migrated("customers", "zero")
        without_catalog, reapplied = migrated("catalog", "zero"), migrated()

    ranks = ("catalog_productrank", "customers_customerrank", "customers_customerwords", "customers_customerprofile")
    kept_here = {f"{rank}_{event}" for rank in ranks for event in ("insert", "update", "delete")} & all_triggers
    assert kept_here >= {f"{ranks[0]}_insert", f"{ranks[1]}_insert"}
    # SQLite's full-text index of customers goes with its table.
    full_text = {name for name in all_triggers if name.startswith("customers_search_")}
    assert all_triggers - without_catalog == kept_here | full_text
    assert without_catalog < all_triggers == reapplied
