import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RELEASE = HERE / "1.0.0"


SECRET_KEY = "the key of the installation that upgrades are tried on, of no worth elsewhere"


def get_environment(data: Path, database: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": database,
        "BACKOFFICE_DATA_DIR": str(data),
        "BACKOFFICE_SECRET_KEY": SECRET_KEY,
        "BACKOFFICE_BASE_URL": "http://kept.localhost",
        "BACKOFFICE_RATE_LIMIT": "off",
    }


def run_inside(code: Path, data: Path, database: str, *arguments: str) -> Any:
    """Run a command inside an installation, using the code in a folder.

    Raises:
        AssertionError: The command failed. The message is the end of the error output.
    """
    env = get_environment(data, database)
    command = [sys.executable, str(HERE / "installation_commands.py"), *arguments]
    process = subprocess.run(command, cwd=code, env=env, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-4000:]
    return json.loads(process.stdout.splitlines()[-1])


@contextmanager
def scratch_database(server: str, template: str = "template1") -> Iterator[str]:
    name = f"upgrade_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
