"""Tests that ``migrate`` checks its preconditions before the first migration, and changes nothing if one fails."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from apps.core.management import migration_preconditions
from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.upgrades.conftest import ReleasedInstallation
from tests.upgrades.paths import ROOT, get_environment

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.own_sessions]


def migrate(installation: ReleasedInstallation, **environment: str) -> tuple[int, str]:
    """Run ``manage.py migrate`` and return the exit code and the output."""
    result = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env={**get_environment(installation.data, installation.database), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


def assert_refused(result: tuple[int, str], expected: str) -> None:
    code, output = result
    assert code == 1
    assert expected in output
    assert len(output.splitlines()) == 1, output


def use_other_key(installation: ReleasedInstallation) -> tuple[int, str]:
    return migrate(installation, BACKOFFICE_SECRET_KEY="another key")


def leave_table_behind(installation: ReleasedInstallation) -> tuple[int, str]:
    with closing(installation.connect()) as plain:
        plain.execute("CREATE TABLE jobs_workerprocess (id INTEGER)")
    return migrate(installation)


def record_unknown_migration(installation: ReleasedInstallation) -> tuple[int, str]:
    with closing(installation.connect()) as plain:
        plain.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('content', '0999_later', '2026-11-26 12:00:00')"
        )
    return migrate(installation)


def name_missing_database(installation: ReleasedInstallation) -> tuple[int, str]:
    missing = "sqlite:////nowhere/at/all.sqlite3"
    return migrate(
        installation, DATABASE_URL=missing if connection.vendor == "sqlite" else f"{installation.database}_missing"
    )


@pytest.mark.parametrize(
    ("break_installation", "expected"),
    [
        (use_other_key, "BACKOFFICE_SECRET_KEY can't decrypt the secrets in the table shops_app."),
        (leave_table_behind, "The table jobs_workerprocess was left behind by an interrupted migration."),
        (record_unknown_migration, "The database has the migration content.0999_later, which this release does not"),
        (name_missing_database, "The database is not available"),
    ],
)
def test_a_failed_precondition_is_one_sentence_and_changes_nothing(
    released_installation: ReleasedInstallation,
    break_installation: Callable[[ReleasedInstallation], tuple[int, str]],
    expected: str,
) -> None:
    before = released_installation.count_migrations()

    result = break_installation(released_installation)

    assert_refused(result, expected)
    known = released_installation.count_migrations() - (break_installation is record_unknown_migration)
    assert known == before


def test_a_key_is_accepted_with_the_previous_keys(settings: Settings, shop: Shop) -> None:
    factories.make_installation(shop)
    previous = settings.SECRET_KEY

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key", [previous]
    migration_preconditions.check_preconditions(connection)
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(CommandError, match="BACKOFFICE_SECRET_KEY can't decrypt"):
        call_command("migrate", verbosity=0)


@pytest.mark.parametrize(
    ("free", "is_enough"), [(0, False), (migration_preconditions.MARGIN_BYTES * 1000, True)], ids=["full", "empty"]
)
def test_a_full_disk_is_named_before_the_first_migration(
    monkeypatch: pytest.MonkeyPatch, free: int, is_enough: bool
) -> None:
    monkeypatch.setattr(migration_preconditions, "_find_unapplied", lambda connection: [object()])
    monkeypatch.setattr(migration_preconditions, "_check_leftovers", lambda *_: None)
    usage = shutil.disk_usage("/")._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)

    if is_enough:
        migration_preconditions.check_preconditions(connection)
    else:
        with pytest.raises(CommandError, match="has 0 MB of free space, but the migrations may need"):
            call_command("migrate", verbosity=0)


def test_a_database_server_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # Django checks the version of each database once per process.
    monkeypatch.setattr("django.db.backends.base.base.RAN_DB_VERSION_CHECK", set())
    with closing(connection.copy()) as old:
        old.features.minimum_database_version = (99,)
        with pytest.raises(migration_preconditions.PreconditionFailed, match=r"99 or later is required .*\. Upgrade"):
            migration_preconditions.check_preconditions(old)


# --- SQLite ---


@pytest.fixture
def sqlite_only() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("needs SQLite")


@pytest.mark.usefixtures("sqlite_only")
def test_a_copy_of_a_table_is_a_leftover(released_installation: ReleasedInstallation) -> None:
    with closing(released_installation.connect()) as plain:
        plain.execute("CREATE TABLE new__shops_shop (id INTEGER)")

    assert_refused(migrate(released_installation), "The table new__shops_shop was left behind")


@pytest.mark.usefixtures("sqlite_only")
def test_a_writer_that_does_not_end_is_named(released_installation: ReleasedInstallation) -> None:
    with closing(released_installation.connect()) as plain:
        plain.execute("BEGIN IMMEDIATE")
        result = migrate(released_installation, BACKOFFICE_LOCK_TIMEOUT_MS="100")

    assert_refused(result, "can't be written (another process holds a write transaction)")


# --- PostgreSQL ---


@pytest.fixture
def other_role(released_installation: ReleasedInstallation) -> Iterator[str]:
    """Return the name of a role that can log in, but owns no tables."""
    name = f"reader_{os.getpid()}"
    with psycopg.connect(released_installation.database, autocommit=True) as plain:
        plain.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        plain.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
        yield name
        plain.execute(f"DROP OWNED BY {name}")
        plain.execute(f"DROP ROLE {name}")


@pytest.mark.postgres
def test_missing_privileges_are_named(released_installation: ReleasedInstallation, other_role: str) -> None:
    user, _, rest = released_installation.database.removeprefix("postgres://").partition("@")
    url = f"postgres://{other_role}:x@{rest}"

    without_create = migrate(released_installation, DATABASE_URL=url)
    with psycopg.connect(released_installation.database, autocommit=True) as plain:
        plain.execute(f"GRANT CREATE ON SCHEMA public TO {other_role}")
    as_other_owner = migrate(released_installation, DATABASE_URL=url)

    assert_refused(without_create, f"The role {other_role} can't create tables.")
    assert_refused(as_other_owner, f"Migrate as its owner, {user.partition(':')[0]}.")


@pytest.mark.postgres
def test_a_read_only_server_is_named(released_installation: ReleasedInstallation) -> None:
    with psycopg.connect(released_installation.database, autocommit=True) as plain:
        name = plain.info.dbname
        plain.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    assert_refused(migrate(released_installation), "The database is read-only.")
