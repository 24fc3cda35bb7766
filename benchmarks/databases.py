"""Create, migrate and fill separate databases for benchmarks."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from benchmarks import servers
from benchmarks.floors import b, json_sql
from benchmarks.load import Unmeasurable

NAME = f"backoffice_bench_{os.getpid()}"
DEFAULT_URL = "postgres://postgres@127.0.0.1/postgres"
# The tables that all variants write, and the default values for their columns by PostgreSQL type.
WRITTEN_TABLES = ("customers_customer", "customers_address", "events_event")
COLUMN_DEFAULTS = {"boolean": "FALSE", "character varying": "''", "jsonb": "'[]'", "text": "''"}
_REQUIRED_COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = ANY(%s) AND is_nullable = 'NO' AND column_default IS NULL
"""


@dataclass
class Database:
    """A database for benchmarks, with a shop and an access token."""

    environment: dict[str, str]
    token: str = ""
    shop_id: int = 0
    seconds: float = 0.0

    def processor_seconds(self, application: str) -> float:
        """Return the CPU seconds of a server's persistent database connections, or 0 for SQLite."""
        if not self.environment["DATABASE_URL"].startswith("postgres"):
            return 0.0
        with psycopg.connect(self.environment["DATABASE_URL"], autocommit=True) as connection:
            rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE application_name = %s", [application])
            return sum(servers.get_processor_seconds(row[0]) for row in rows)

    def prepare(self, customers: int) -> None:
        """Migrate the database, and fill the shop until it has this many customers."""
        self.migrate()
        self.grow(customers)

    def migrate(self) -> None:
        self._manage("manage.py", "migrate", "--verbosity", "0")

    def grow(self, customers: int) -> None:
        """Fill the shop until it has this many customers."""
        data = json.loads(self._manage("-m", "benchmarks.data", "--customers", str(customers)).splitlines()[-1])
        self.token, self.shop_id, self.seconds = data["token"], data["shop_id"], data["seconds"]

    def _manage(self, *arguments: str) -> str:
        process = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            raise Unmeasurable(f"{' '.join(arguments)} failed:\n{process.stderr[-3000:]}")
        return process.stdout


@contextlib.contextmanager
def create_postgres(folder: Path) -> Iterator[Database]:
    """Create a PostgreSQL database and drop it after the block.

    ``DATABASE_URL`` determines the server. The default is 127.0.0.1.

    Raises:
        Unmeasurable: The server is not reachable.
    """
    url = urlsplit(os.environ.get("DATABASE_URL") or DEFAULT_URL)
    maintenance = urlunsplit(url._replace(scheme="postgresql", path="/postgres"))
    try:
        connection = psycopg.connect(maintenance, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        raise Unmeasurable(f"The benchmark needs PostgreSQL; set DATABASE_URL. {error}") from None
    with connection:
        connection.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {NAME}")
        own = urlunsplit(url._replace(scheme="postgresql", path=f"/{NAME}"))
        try:
            yield Database({"DATABASE_URL": own, **_common(folder / "postgres")})
        finally:
            connection.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")


def create_sqlite(folder: Path) -> Database:
    """Return a SQLite database in a folder."""
    return Database({"DATABASE_URL": f"sqlite:///{folder / 'bench.sqlite3'}", **_common(folder / "sqlite")})


def set_column_defaults(database: Database) -> None:
    """Set defaults for required columns, so that the floors and the naive program need not write all columns."""
    with psycopg.connect(database.environment["DATABASE_URL"], autocommit=True) as connection:
        for table, column, kind in connection.execute(_REQUIRED_COLUMNS, [list(WRITTEN_TABLES)]).fetchall():
            if default := COLUMN_DEFAULTS.get(kind):
                connection.execute(f'ALTER TABLE {table} ALTER COLUMN "{column}" SET DEFAULT {default}')


def fill_documents(database: Database) -> None:
    """Fill the table of rendered documents for floor B (``benchmarks.floors.b``)."""
    with psycopg.connect(database.environment["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        for statement in b.FILL.format(shop=database.shop_id).split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("VACUUM ANALYZE bench_documents")


def _common(folder: Path) -> dict[str, Any]:
    return {
        "BACKOFFICE_DATA_DIR": str(folder),
        "BACKOFFICE_SECRET_KEY": "benchmark",
        "BACKOFFICE_BASE_URL": json_sql.BASE_URL,
        "BACKOFFICE_RATE_LIMIT": "off",
        "BACKOFFICE_LOG_LEVEL": "ERROR",
        "PYTHONWARNINGS": "ignore",
    }
