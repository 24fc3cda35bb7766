"""A database and data folder written by the last release, opened with today's code.

``release/`` is made anew at each release (CONTRIBUTING). What is proved of the release before on the new schema: each
statement with which it inserts, of every table, names columns that are still there, and every column that is new takes
care of itself; a row of each table that had any is taken out and put back so. Rule: reliability, F14.
"""

import hashlib
import json
import lzma
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.types.json import Jsonb

from tests.client.conftest import database_url
from tests.parts import need, on_postgres
from tests.upgrades.make import code_of
from tests.upgrades.places import RELEASE, ROOT, run_inside, scratch_database

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.own_sessions]

FACTS = json.loads((RELEASE / "facts.json").read_text())
# What migrating writes itself.
MADE_BY_MIGRATIONS = {"django_migrations", "django_content_type", "auth_permission"}

Rows = dict[str, list[dict[str, Any]]]


class Installation:
    """An installation that the last release left behind."""

    def __init__(self, database: str, data: Path) -> None:
        self.database, self.data = database, data
        self.facts: dict[str, Any] = FACTS[connection.vendor]

    def do(self, *work: str, code: Path = ROOT) -> Any:
        return run_inside(code, self.data, self.database, *work)

    def connect(self) -> Any:
        """A plain connection that does not judge foreign keys."""
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
        """All that is stored."""
        plain = self.connect()
        found: Rows = {}
        for table in self.tables(plain):
            cursor = plain.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            found[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        plain.close()
        return found

    def columns(self) -> dict[str, set[str]]:
        plain = self.connect()
        found = {}
        for table in self.tables(plain):
            cursor = plain.execute(f'SELECT * FROM "{table}" LIMIT 0')
            found[table] = {column[0] for column in cursor.description}
        plain.close()
        return found

    def demanding(self) -> set[tuple[str, str]]:
        """The columns that an INSERT must name."""
        asked = {
            "sqlite": """SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND c."notnull" AND c.dflt_value IS NULL AND NOT c.pk""",
            "postgresql": """SELECT table_name, column_name FROM information_schema.columns
                WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL
                AND is_identity = 'NO' AND is_generated = 'NEVER'""",
        }
        plain = self.connect()
        found = set(plain.execute(asked[connection.vendor]).fetchall())
        plain.close()
        return found

    def files(self) -> dict[str, str]:
        """The digest of each file but the database's own."""
        return {
            str(path.relative_to(self.data)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.data.rglob("*")
            if path.is_file() and not path.name.startswith("database.sqlite3")
        }


def unpack(name: str, folder: Path) -> None:
    with tarfile.open(RELEASE / name) as packed:
        packed.extractall(folder, filter="data")


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Installation]:
    """As the release left it."""
    if not on_postgres():
        unpack("sqlite.tar.xz", tmp_path)
        yield Installation(f"sqlite:///{tmp_path / 'database.sqlite3'}", tmp_path)
        return
    psql = need("psql", shutil.which("psql"))
    unpack("postgres-files.tar.xz", tmp_path)
    with scratch_database(database_url()) as url:
        dump = lzma.decompress((RELEASE / "postgres.sql.xz").read_bytes())
        subprocess.run(
            [psql, "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", url],
            input=dump,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        yield Installation(url, tmp_path)


def kept(before: Any, after: Any) -> bool:
    """Whether all that was said before is still said; more may be."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(name in after and kept(before[name], after[name]) for name in before)
    if isinstance(before, list):
        return isinstance(after, list) and len(before) == len(after) and all(map(kept, before, after))
    return bool(before == after)


def put_back(plain: Any, table: str, row: dict[str, Any]) -> None:
    """The row goes and comes again, by an INSERT that names the columns it has."""
    mark = "?" if connection.vendor == "sqlite" else "%s"
    values = [Jsonb(each) if isinstance(each, dict | list) else each for each in row.values()]
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


def test_what_the_last_release_wrote_is_all_there_after_an_upgrade(left: Installation) -> None:
    rows, files, columns, demanding = left.rows(), left.files(), left.columns(), left.demanding()

    left.do("migrate")

    now, schema = left.rows(), left.columns()
    for table in rows.keys() - MADE_BY_MIGRATIONS:
        old = [{name: row[name] for name in columns[table]} for row in now[table]]
        key = repr
        assert sorted((sorted(row.items()) for row in old), key=key) == sorted(
            (sorted(row.items()) for row in rows[table]), key=key
        ), table
    assert {table: names - schema[table] for table, names in columns.items() if names - schema[table]} == {}
    assert {each for each in left.demanding() - demanding if each[0] in columns} == set()
    plain = left.connect()
    for table in rows.keys() - MADE_BY_MIGRATIONS:
        for row in rows[table][:1]:
            put_back(plain, table, row)
    plain.close()
    assert files.items() <= left.files().items()
    left.do("check")
    answers = left.do("ask", left.facts["token"], *left.facts["answers"])
    assert {path for path, said in left.facts["answers"].items() if not kept(said, answers[path])} == set()


@pytest.mark.soak
def test_the_last_release_goes_on_on_the_new_schema(
    left: Installation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    release = FACTS["release"]
    known = subprocess.run(["git", "cat-file", "-e", f"{release}^{{commit}}"], cwd=ROOT, check=False).returncode == 0
    need("git's history", release if known else None)
    code = code_of(release, tmp_path_factory.mktemp("code"))
    left.do("migrate")

    answers = left.do("ask", left.facts["token"], *left.facts["answers"], code=code)
    made = left.do("write", left.facts["token"], code=code)

    assert answers == left.facts["answers"]
    again = left.do("ask", left.facts["token"], *made)
    assert {path for path, said in made.items() if not kept(said, again[path])} == set()
    left.do("check")
