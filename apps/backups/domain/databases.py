"""Copying the database whole, while everything runs, and putting the copy into an empty one."""

import os
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from django.db import connection, transaction
from django.db.backends.postgresql.client import DatabaseClient

from apps.backups.domain.manifests import BackupRefused
from apps.ground.sessions import are_shared


def copy_into(folder: Path) -> dict[str, int]:
    """Copy it; returns how many rows of each table the copy has.

    Raises:
        BackupRefused: A pooler stands between, or the program that copies is missing or failed.
    """
    _require_own_sessions()
    return _dump(folder / "database.dump") if connection.vendor == "postgresql" else _copy(folder / "database.sqlite3")


def put_back(folder: Path) -> None:
    """Fill the empty database from a copy.

    Raises:
        BackupRefused: It is not empty, a pooler stands between, or the program that restores is missing or failed.
    """
    _require_own_sessions()
    if tables := [name for name in connection.introspection.table_names() if not name.startswith("sqlite_")]:
        raise BackupRefused(f"The database is not empty: it has {len(tables)} tables. Restore into a new one.")
    if connection.vendor == "postgresql":
        connection.close()
        options = ("--no-owner", "--exit-on-error", "--single-transaction", f"--dbname={_database()}")
        _run("pg_restore", (*options, str(folder / "database.dump")), with_name=False)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        return
    place = connection.settings_dict["NAME"]
    connection.close()
    with closing(sqlite3.connect(folder / "database.sqlite3")) as source, closing(sqlite3.connect(place)) as target:
        source.backup(target)


def _require_own_sessions() -> None:
    """PostgreSQL's programs set much in their session, down to where tables are looked for; others would get it so.

    Raises:
        BackupRefused: A pooler stands between.
    """
    if are_shared():
        raise BackupRefused(
            "PostgreSQL's programs cannot work through a pooler. "
            "Name the database itself in DATABASE_URL, with BACKOFFICE_DATABASE_POOLER=off."
        )


def count() -> dict[str, int]:
    """How many rows each table has."""
    found = {}
    with connection.cursor() as cursor:
        for name in _tables():
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(name)}")  # noqa: S608 - a table's own name
            (found[name],) = cursor.fetchone()
    return found


def _tables() -> list[str]:
    """Those of models, and of the links between them; what a full-text table is made of is its own business."""
    return sorted(connection.introspection.django_table_names(only_existing=True, include_views=False))


def _dump(path: Path) -> dict[str, int]:
    """The dump and the counts see the same moment: they share a snapshot."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        _run("pg_dump", ("--format=custom", f"--file={path}", f"--snapshot={snapshot}"))
        return count()


def _copy(path: Path) -> dict[str, int]:
    """SQLite copies page by page, and begins anew where somebody wrote meanwhile."""
    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as target:
        connection.connection.backup(target)
        sql = "SELECT count(*) FROM {}"
        return {name: int(target.execute(sql.format(name)).fetchone()[0]) for name in _tables()}


def _database() -> str:
    return str(connection.settings_dict["NAME"])


def _run(program: str, options: Sequence[str], *, with_name: bool = True) -> None:
    """One of PostgreSQL's programs, connected as we are; the password does not stand in its arguments."""
    values = connection.settings_dict
    arguments, env = DatabaseClient.settings_to_cmd_args_env(values, list(options))
    # Of several servers the one that we are on, where the snapshot is.
    which = {"PGTARGETSESSIONATTRS": str(values["OPTIONS"].get("target_session_attrs", "any"))}
    arguments = [program, *(arguments[1:] if with_name else arguments[1:-1])]
    try:
        subprocess.run(  # noqa: S603 - a program and options of ours
            arguments, env={**os.environ, **which, **(env or {})}, check=True, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise BackupRefused(f"{program} is not on this machine; it comes with PostgreSQL's client.") from None
    except subprocess.CalledProcessError as error:
        raise BackupRefused(f"{program} failed: {error.stderr.strip()[-1000:]}") from None
