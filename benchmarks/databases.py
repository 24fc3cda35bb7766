"""Create, migrate and fill separate databases for benchmarks."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from benchmarks import servers
from benchmarks.floors import b, json_sql
from benchmarks.load import Unmeasurable

NAME = f"backoffice_bench_{os.getpid()}"
DEFAULT_URL = "postgres://postgres@127.0.0.1/postgres"
# A file with prepared databases by name, as ``save_prepared`` writes it. Benchmarks with this variable use these
# databases instead of creating and filling their own, which takes longer than a short run.
PREPARED = "BENCH_PREPARED"


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
        """Migrate the database, and fill the shop until it has this many customers, unless it is already prepared."""
        if not self.token:
            self.migrate()
            self.grow(customers)

    def migrate(self) -> None:
        self.run_python("manage.py", "migrate", "--verbosity", "0")

    def grow(self, customers: int) -> None:
        """Fill the shop until it has this many customers."""
        data = json.loads(self.run_python("-m", "benchmarks.data", "--customers", str(customers)).splitlines()[-1])
        self.token, self.shop_id, self.seconds = data["token"], data["shop_id"], data["seconds"]

    def run_python(self, *arguments: str) -> str:
        """Run a module or a script with the settings of this database, and return its output.

        Raises:
            Unmeasurable: The program failed.
        """
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
def create_postgres(folder: Path, suffix: str = "", template: Database | None = None) -> Iterator[Database]:
    """Create a PostgreSQL database and drop it after the block.

    ``DATABASE_URL`` determines the server. The default is 127.0.0.1. Databases with different suffixes can exist at the
    same time. They are never prepared. A database with a template starts as its copy.

    Raises:
        Unmeasurable: The server is not reachable.
    """
    if not suffix and (prepared := _load_prepared("postgres")):
        yield prepared
        return
    name = f"{NAME}{suffix}"
    url = urlsplit(os.environ.get("DATABASE_URL") or DEFAULT_URL)
    maintenance = urlunsplit(url._replace(scheme="postgresql", path="/postgres"))
    try:
        connection = psycopg.connect(maintenance, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        raise Unmeasurable(f"The benchmark needs PostgreSQL; set DATABASE_URL. {error}") from None
    with connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        copied = urlsplit(template.environment["DATABASE_URL"]).path[1:] if template else "template1"
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {copied}")
        own = urlunsplit(url._replace(scheme="postgresql", path=f"/{name}"))
        try:
            yield describe(own, folder / f"postgres{suffix}")
        finally:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def create_sqlite(folder: Path) -> Database:
    """Return a SQLite database in a folder."""
    return _load_prepared("sqlite") or describe(f"sqlite:///{folder / 'bench.sqlite3'}", folder / "sqlite")


def save_prepared(path: Path, **databases: Database) -> None:
    """Write the file for ``PREPARED``."""
    path.write_text(json.dumps({name: asdict(database) for name, database in databases.items()}))


def _load_prepared(name: str) -> Database | None:
    path = os.environ.get(PREPARED)
    return Database(**json.loads(Path(path).read_text())[name]) if path else None


def fill_documents(database: Database) -> None:
    """Fill the table of rendered documents for floor B (``benchmarks.floors.b``)."""
    with psycopg.connect(database.environment["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        for statement in b.FILL.format(shop=database.shop_id).split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("VACUUM ANALYZE bench_documents")


def describe(url: str, folder: Path) -> Database:
    """Return an existing database with a folder for the product's files."""
    environment = {
        "DATABASE_URL": url,
        "BACKOFFICE_DATA_DIR": str(folder),
        "BACKOFFICE_SECRET_KEY": "benchmark",
        "BACKOFFICE_BASE_URL": json_sql.BASE_URL,
        "BACKOFFICE_RATE_LIMIT": "off",
        "BACKOFFICE_LOG_LEVEL": "ERROR",
        "PYTHONWARNINGS": "ignore",
    }
    return Database(environment)
