"""Tests that run each benchmark with few rows, so that no benchmark breaks unnoticed. The figures mean nothing.

The benchmarks check their own responses. The commands run in separate processes, each in a copy of a migrated database.
Benchmarks of servers get copies of filled databases.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from benchmarks import databases
from tests.support import services
from tests.support.databases.templates import get_template

# With the mark django_db, the run creates a test database and its template.
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.own_sessions,
    pytest.mark.django_db,
    pytest.mark.xdist_group("benchmarks"),
]

SHARE = "0.01"
DELIVERY = "write,fan_out,one_worker,backlog,claims,retention,recovery,partitions"
# The arguments of each command, by module.
COMMANDS = {
    "bodies": "",
    "consistency": "--orders 200",
    "customer_merge": "--orders 600",
    "delivery": f"--deliveries 100 --rows 4000 --only {DELIVERY} --here",
    "flame": "list --seconds 3",
    "fulfillment_queue": "",
    "imports": "--rows 60",
    "memory": "--minutes 1 --burst 1 --pause 0",
    "million": "--here",
    "noisy_neighbor": "--jobs 20 --seconds 3",
    "one_product": "--rounds 1 --seconds 1",
    "panel_pages": "--pages 5",
    "personal_data": "--orders 300",
    "run": "--quick --rounds 1 --no-warm-up",
    "sort_orders": "",
    "store_import": "--products 4 --customers 4 --orders 8 --kills 0",
    "theme_extraction": "--files 20 --megabytes 1 --rounds 2",
    "writers": "--rounds 1 --seconds 1",
}
# The benchmarks that send requests to servers with a filled database.
SERVERS = {"flame", "memory", "one_product", "run", "writers"}
# The command that fills the databases of other benchmarks.
FILL = "data"
# tests/browser/test_start.py runs this benchmark against a running installation.
PAGE_LOADS = "page_loads"
FOLDER = Path(databases.__file__).parent


def test_every_benchmark_has_a_smoke_run() -> None:
    modules = {path.stem: path for path in FOLDER.glob("*.py")}
    modules |= {path.parent.name: path for path in FOLDER.glob("*/__main__.py")}
    commands = {name for name, path in modules.items() if re.search("^if __name__ ==", path.read_text(), re.MULTILINE)}

    assert commands == COMMANDS.keys() | {FILL, PAGE_LOADS}


@contextmanager
def copy_database(name: str, template: str) -> Iterator[str]:
    """Copy a database, yield the URL of the copy and drop the copy after the block."""
    server = connection.settings_dict
    address = f"{quote(server['USER'])}:{quote(server['PASSWORD'])}@{server['HOST']}:{server['PORT'] or 5432}"
    database = f"{server['NAME']}_{name}"
    with psycopg.connect(f"postgres://{address}/postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {database} TEMPLATE {template}")
        try:
            yield f"postgres://{address}/{database}"
        finally:
            admin.execute(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.fixture(scope="module")
def environment(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the environment for all benchmarks, with filled databases for the benchmarks of servers."""
    folder = tmp_path_factory.mktemp("benchmarks")
    with pytest.MonkeyPatch.context() as patch, copy_database("filled", get_template()) as url:
        patch.setenv("BENCH_SHARE", SHARE)
        for name in ("BROKER_URL", "CACHE_URL", "DATABASE_URL"):
            patch.delenv(name, raising=False)
        filled = {"postgres": databases.describe(url, folder / "postgres"), "sqlite": databases.create_sqlite(folder)}
        filled["sqlite"].migrate()
        for database in filled.values():
            database.grow(200)
        databases.save_prepared(folder / "filled.json", **filled)
        yield {
            **os.environ,
            databases.PREPARED: str(folder / "filled.json"),
            "BACKOFFICE_DATA_DIR": str(folder / "data"),
            "BACKOFFICE_LOG_LEVEL": "ERROR",
        }


def copy_prepared(path: str, url: str, folder: Path) -> Path:
    """Copy the SQLite database, and write the file that describes both copies; return its path."""
    described = json.loads(Path(path).read_text())
    described["postgres"]["environment"]["DATABASE_URL"] = url
    sqlite = described["sqlite"]["environment"]
    copied = shutil.copy(sqlite["DATABASE_URL"].removeprefix("sqlite:///"), folder / "bench.sqlite3")
    sqlite["DATABASE_URL"] = f"sqlite:///{copied}"
    (folder / "prepared.json").write_text(json.dumps(described))
    return folder / "prepared.json"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_benchmark_runs(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    services.require_service("wrk", services.find_wrk())
    arguments = [sys.executable, "-m", f"benchmarks.{name}", *COMMANDS[name].split()]

    template = "" if name in SERVERS else get_template()
    with copy_database(name, template or f"{connection.settings_dict['NAME']}_filled") as url:
        env = environment | {"DATABASE_URL": url}
        if name in SERVERS:
            env[databases.PREPARED] = str(copy_prepared(environment[databases.PREPARED], url, tmp_path))
        process = subprocess.run(
            arguments, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False, timeout=500
        )

    assert process.returncode == 0, f"{process.stdout[-2000:]}\n{process.stderr[-4000:]}"
