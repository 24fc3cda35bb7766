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

from tests.support.servers.live import get_database_url
from tests.support.services import is_postgres, require_service
from tests.upgrades.make_fixture import extract_release
from tests.upgrades.paths import RELEASE, ROOT, run_inside, scratch_database

FACTS = json.loads((RELEASE / "facts.json").read_text())

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

    def count_migrations(self) -> int:
        with closing(self.connect()) as plain:
            return int(plain.execute("SELECT count(*) FROM django_migrations").fetchone()[0])

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


@pytest.fixture(scope="session")
def released_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the code of the last release, from the git history."""
    release = FACTS["release"]
    looked = subprocess.run(["git", "cat-file", "-e", f"{release}^{{commit}}"], cwd=ROOT, check=False)
    found = release if looked.returncode == 0 else None
    require_service(
        f"the commit {release} of the last release, which a shallow clone lacks (git fetch --unshallow)", found
    )
    return extract_release(release, tmp_path_factory.mktemp("code"))
