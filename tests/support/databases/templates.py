"""Create test databases as copies of a migrated template, because migrating takes several seconds.

A template belongs to one state of the product's code. The first process that needs the template migrates its database
and keeps a copy. The other processes of the run, and later runs with the same code, copy the template.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.base.creation import BaseDatabaseCreation

from tests.support.databases.statistics import disable_autovacuum


@contextmanager
def use_template(folder: Path) -> Iterator[None]:
    """Create the test database from a template. SQLite's template and the lock file are in ``folder``."""
    original = BaseDatabaseCreation.create_test_db
    create = _create_on_sqlite if connection.vendor == "sqlite" else _create_on_postgres

    def create_test_db(creation: BaseDatabaseCreation, *args: Any, **options: Any) -> str:
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return create(folder, _get_prefix(), _hash_code(), lambda: original(creation, *args, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseCreation, "create_test_db", create_test_db)
        yield


def get_template() -> str:
    """Return the name of the PostgreSQL database that is migrated for the current code."""
    return _get_prefix() + _hash_code()


def _get_prefix() -> str:
    """Return the start of the names of this checkout's templates, so that no other checkout drops them."""
    owner = f"{settings.BASE_DIR} {connection.settings_dict['USER']}"
    return f"backoffice_template_{hashlib.sha256(owner.encode()).hexdigest()[:8]}_"


@cache
def _hash_code() -> str:
    """Return a hash of everything that can change the tables and the rows that migrations create.

    The hash stays the same if code is edited during the run.
    """
    root = Path(settings.BASE_DIR)
    paths = [root / "uv.lock", *sorted(root.glob("apps/**/*.py")), *sorted(root.glob("backoffice/**/*.py"))]
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _create_on_sqlite(folder: Path, prefix: str, code: str, create: Callable[[], str]) -> str:
    template = folder / f"{prefix}{code}.sqlite3"
    if not template.exists():
        created = create()
        for old in folder.glob(f"{prefix}*"):
            old.unlink()
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(template.with_suffix(".new"))])
        template.with_suffix(".new").rename(template)
        return created

    def copy(creation: Any, *_: object) -> str:
        database: str = creation._get_test_db_name()
        for suffix in ("", "-wal", "-shm"):
            Path(database + suffix).unlink(missing_ok=True)
        shutil.copy(template, database)
        return database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(connection.creation), "_create_test_db", copy)
        return create()


def _create_on_postgres(_folder: Path, prefix: str, code: str, create: Callable[[], str]) -> str:
    creation: Any = connection.creation
    template = prefix + code
    with creation._nodb_cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{prefix}%"])
        existing = {datname for (datname,) in cursor.fetchall()}
    if template not in existing:
        created = create()
        with connection.cursor() as cursor:
            disable_autovacuum(cursor)
        connection.close()
        with creation._nodb_cursor() as cursor:
            for old in existing:
                cursor.execute(f"DROP DATABASE IF EXISTS {old}")
            cursor.execute(f"CREATE DATABASE {template} TEMPLATE {connection.ops.quote_name(created)}")
        return created
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connection.settings_dict["TEST"], "TEMPLATE", template)
        return create()
