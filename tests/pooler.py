"""Run the tests' database behind PgBouncer in transaction mode, configured as in docs/operators.md.

With ``TEST_POOLER=on`` (``make test-pooled``) each process of the run creates and migrates its database directly, then
starts a PgBouncer of its own and uses the database through it.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, connections

from backoffice.databases import get_database_settings
from tests import parts
from tests.client.conftest import find_free_port
from tests.machine import wait_until

# The largest number of sessions that a race test holds at a time.
SESSIONS = 20
# Timeouts are set for the role or the database, because processes cannot set them per session behind a pooler.
TIMEOUTS = {"lock_timeout": "2500ms", "statement_timeout": "60s", "idle_in_transaction_session_timeout": "60s"}


@contextmanager
def run_pooler(sessions: int) -> Iterator[int]:
    """Start PgBouncer with ``sessions`` server sessions per database and yield its port.

    Consecutive transactions get different sessions, so that code which relies on session state fails.
    """
    program = parts.require_service("PgBouncer", parts.find_pgbouncer())
    values, port = connection.settings_dict, find_free_port()
    login = f"user={values['USER']}" + (f" password={values['PASSWORD']}" if values["PASSWORD"] else "")
    with tempfile.TemporaryDirectory(prefix="pooler") as folder:
        # PgBouncer does not run as root and must be able to read its configuration.
        Path(folder).chmod(0o755)
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(
            f"""
            [databases]
            * = host={values["HOST"]} port={values["PORT"] or 5432} {login}
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = {port}
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = {sessions}
            server_round_robin = 1
            max_client_conn = 1000
            """
        )
        user = ["-u", "nobody"] if os.getuid() == 0 else []
        process = subprocess.Popen([program, "-q", *user, str(file)])
        try:
            wait_until(lambda: parts.is_listening(port), bool)
            yield port
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def use_pooler(sessions: int) -> Iterator[None]:
    """Connect this process and the processes it starts to the tests' database through PgBouncer."""
    with run_pooler(sessions) as port, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKOFFICE_DATABASE_POOLER", "on")
        database_settings = get_database_settings(settings.DATA_DIR) | {"HOST": "127.0.0.1", "PORT": str(port)}
        for key in ("HOST", "PORT", "OPTIONS", "DISABLE_SERVER_SIDE_CURSORS"):
            patch.setitem(connection.settings_dict, key, database_settings[key])
        connections.close_all()
        yield
        connections.close_all()


def set_database_timeouts() -> None:
    """Set the timeouts on the tests' database, which processes otherwise set per session."""
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        for setting, time in TIMEOUTS.items():
            cursor.execute(f"ALTER DATABASE {name} SET {setting} = '{time}'")
