"""Tests that the current code can use a database and a data folder from the last release.

``1.0.0/`` was created from the last release, see CONTRIBUTING. The tests also prove that the last release can write to
the new schema: no column was removed, every new column has a default, and a row of each table can be deleted and
inserted with the old columns. See check F14 in docs/reliability.md.
"""

import hashlib
import json
import lzma
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.types.json import Jsonb

from tests.support.servers.live import get_database_url
from tests.support.services import is_postgres, require_service
from tests.upgrades.make_fixture import extract_release
from tests.upgrades.paths import RELEASE, ROOT, run_inside, scratch_database

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.own_sessions]

FACTS = json.loads((RELEASE / "facts.json").read_text())
# Tables that the migrate command fills.
MADE_BY_MIGRATIONS = {"django_migrations", "django_content_type", "auth_permission"}

Rows = dict[str, list[dict[str, Any]]]


class ReleasedInstallation:
    def __init__(self, database: str, data: Path) -> None:
        self.database, self.data = database, data
        self.facts: dict[str, Any] = FACTS[connection.vendor]

    def do(self, *work: str, code: Path = ROOT) -> Any:
        return run_inside(code, self.data, self.database, *work)

    def ask(self, paths: Iterable[str], code: Path = ROOT) -> dict[str, Any]:
        return self.do("ask", self.facts["token"], *paths, code=code)

    def connect(self) -> Any:
        """Return a connection without foreign key checks."""
        if self.database.startswith("sqlite:"):
            return sqlite3.connect(self.database.removeprefix("sqlite:///"), isolation_level=None)
        plain = psycopg.connect(self.database, autocommit=True)
        plain.execute("SET session_replication_role = replica")
        return plain

    def tables(self, plain: Any) -> list[str]:
        lists = {
            "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
            "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
        }
        return sorted(name for (name,) in plain.execute(lists[connection.vendor]).fetchall())

    def rows(self) -> Rows:
        rows_by_table: Rows = {}
        with closing(self.connect()) as plain:
            for table in self.tables(plain):
                cursor = plain.execute(f'SELECT * FROM "{table}"')
                names = [column[0] for column in cursor.description]
                rows_by_table[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return rows_by_table

    def columns(self) -> dict[str, set[str]]:
        with closing(self.connect()) as plain:
            return {
                table: {column[0] for column in plain.execute(f'SELECT * FROM "{table}" LIMIT 0').description}
                for table in self.tables(plain)
            }

    def demanding(self) -> set[tuple[str, str]]:
        """Return the required columns without a default, with their tables."""
        queries = {
            "sqlite": """SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND c."notnull" AND c.dflt_value IS NULL AND NOT c.pk""",
            "postgresql": """SELECT table_name, column_name FROM information_schema.columns
                WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL
                AND is_identity = 'NO' AND is_generated = 'NEVER'""",
        }
        with closing(self.connect()) as plain:
            return set(plain.execute(queries[connection.vendor]).fetchall())

    def files(self) -> dict[str, str]:
        """Return the digest of each file in the data folder, except the database."""
        return {
            str(path.relative_to(self.data)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.data.rglob("*")
            if path.is_file() and not path.name.startswith("database.sqlite3")
        }


def unpack_fixture(name: str, folder: Path) -> None:
    with tarfile.open(RELEASE / name) as packed:
        packed.extractall(folder, filter="data")


@pytest.fixture
def released_installation(tmp_path: Path) -> Iterator[ReleasedInstallation]:
    if not is_postgres():
        unpack_fixture("sqlite.tar.xz", tmp_path)
        yield ReleasedInstallation(f"sqlite:///{tmp_path / 'database.sqlite3'}", tmp_path)
        return
    psql = require_service("psql", shutil.which("psql"))
    unpack_fixture("postgres-files.tar.xz", tmp_path)
    with scratch_database(get_database_url()) as url:
        dump = lzma.decompress((RELEASE / "postgres.sql.xz").read_bytes())
        command = [psql, "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", url]
        subprocess.run(command, input=dump, check=True, stdout=subprocess.DEVNULL)
        yield ReleasedInstallation(url, tmp_path)


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


@pytest.mark.soak
def test_the_last_release_goes_on_on_the_new_schema(
    released_installation: ReleasedInstallation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    release = FACTS["release"]
    looked = subprocess.run(["git", "cat-file", "-e", f"{release}^{{commit}}"], cwd=ROOT, check=False)
    require_service("git's history", release if looked.returncode == 0 else None)
    code = extract_release(release, tmp_path_factory.mktemp("code"))
    facts = released_installation.facts
    released_installation.do("migrate")

    responses = released_installation.ask(facts["answers"], code=code)
    created = released_installation.do("write", facts["token"], code=code)

    assert responses == facts["answers"]
    assert find_different_answers(created, released_installation.ask(created)) == []
    released_installation.do("check")
