"""Copies the whole database while the installation runs, and restores the copy into an empty database."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection, transaction
from django.db.backends.postgresql.client import DatabaseClient
from django.db.backends.utils import CursorWrapper

from apps.backups.domain.manifests import BackupRefused
from apps.core.db.postgresql.connections import uses_transaction_pooling


def copy_database(folder: Path) -> dict[str, int]:
    """Copy the database, and return the number of rows in each table of the copy.

    Raises:
        BackupRefused: The connection uses a pooler, or ``pg_dump`` is missing or failed.
    """
    _refuse_pooler()
    if connection.vendor == "postgresql":
        return _dump(folder / "database.dump")
    connection.ensure_connection()
    with closing(sqlite3.connect(folder / "database.sqlite3")) as target:
        # SQLite copies page by page, and restarts the copy after a concurrent write.
        connection.connection.backup(target)
        sql = "SELECT count(*) FROM {}"
        return {name: int(target.execute(sql.format(name)).fetchone()[0]) for name in _list_tables()}


def restore_database(folder: Path) -> None:
    """Restore the empty database from a copy.

    Raises:
        BackupRefused: The database is not empty, the connection uses a pooler, or ``pg_restore`` is missing or failed.
    """
    _refuse_pooler()
    if tables := [name for name in connection.introspection.table_names() if not name.startswith("sqlite_")]:
        raise BackupRefused(f"The database is not empty: it has {len(tables)} tables. Restore into an empty database.")
    if connection.vendor == "postgresql":
        connection.close()
        database = f"--dbname={connection.settings_dict['NAME']}"
        options = ("--no-owner", "--exit-on-error", "--single-transaction", database)
        _run("pg_restore", (*options, str(folder / "database.dump")), with_name=False)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        return
    target_path = connection.settings_dict["NAME"]
    connection.close()
    with (
        closing(sqlite3.connect(folder / "database.sqlite3")) as source,
        closing(sqlite3.connect(target_path)) as target,
    ):
        source.backup(target)


def _refuse_pooler() -> None:
    """Refuse a pooler, because other clients would inherit the session settings of pg_dump and pg_restore."""
    if uses_transaction_pooling():
        raise BackupRefused(
            "pg_dump and pg_restore cannot work through a pooler. "
            "Set DATABASE_URL to the address of the database server, and set BACKOFFICE_DATABASE_POOLER=off."
        )


def count_rows() -> dict[str, int]:
    row_counts = {}
    with connection.cursor() as cursor:
        for name in _list_tables():
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(name)}")  # noqa: S608 - a table's own name
            (row_counts[name],) = cursor.fetchone()
    return row_counts


def _list_tables() -> list[str]:
    """Return the tables of models and many-to-many relations, without the internal tables of full-text indexes."""
    return sorted(connection.introspection.django_table_names(only_existing=True, include_views=False))


def _dump(path: Path) -> dict[str, int]:
    """Dump the PostgreSQL database, and count the rows in the same snapshot."""
    with read_snapshot(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        _run("pg_dump", ("--format=custom", f"--file={path}", f"--snapshot={snapshot}"))
        return count_rows()


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Make all queries in the context read from the same snapshot, without blocking writers.

    Raises:
        BackupRefused: A transaction is already open, so no new snapshot is possible.
    """
    if connection.in_atomic_block:
        raise BackupRefused("Run the export outside a transaction.")
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            disable_timeouts(cursor)
            yield
        return
    # Begin the transaction with SQL, because ``transaction.atomic()`` would acquire SQLite's write lock.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def disable_timeouts(cursor: CursorWrapper) -> None:
    """Disable PostgreSQL's timeouts until the transaction ends."""
    cursor.execute("SET LOCAL statement_timeout = 0")
    cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")


def _run(program: str, options: Sequence[str], *, with_name: bool = True) -> None:
    """Run a PostgreSQL program with the connection settings of this installation.

    The password is passed in an environment variable, because other users of the machine can see command-line
    arguments.
    """
    values = connection.settings_dict
    arguments, env = DatabaseClient.settings_to_cmd_args_env(values, list(options))
    # If several servers are configured, the program must connect to Django's server, because only that server has the
    # snapshot.
    server_choice = {"PGTARGETSESSIONATTRS": str(values["OPTIONS"].get("target_session_attrs", "any"))}
    arguments = [program, *(arguments[1:] if with_name else arguments[1:-1])]
    try:
        subprocess.run(  # noqa: S603 - a program and options of ours
            arguments, env={**os.environ, **server_choice, **(env or {})}, check=True, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise BackupRefused(f"{program} is not installed. Install the PostgreSQL client.") from None
    except subprocess.CalledProcessError as error:
        raise BackupRefused(f"{program} failed: {error.stderr.strip()[-1000:]}") from None
