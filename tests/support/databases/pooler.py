"""Run the test database behind PgBouncer in transaction mode, configured as in docs/operators.md.

With ``TEST_POOLER=on`` (``make test-pooled``), each test process creates and migrates a database directly. Then the
process starts a separate PgBouncer and connects to the database through PgBouncer.
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

from backoffice.configuration.databases import get_database_settings
from tests.support import services
from tests.support.servers.ports import find_free_port
from tests.support.timing import wait_until

# The maximum number of database sessions that a race test uses concurrently.
SESSIONS = 20
# These timeouts are set for the whole database, because processes behind a pooler cannot set timeouts per session.
TIMEOUTS = {"lock_timeout": "20s", "statement_timeout": "60s", "idle_in_transaction_session_timeout": "60s"}


@contextmanager
def run_pooler(sessions: int) -> Iterator[int]:
    """Start PgBouncer with ``sessions`` server sessions per database and yield its port.

    Consecutive transactions use different sessions, so that code that relies on session state fails.
    """
    program = services.require_service("PgBouncer", services.find_pgbouncer())
    values, port = connection.settings_dict, find_free_port()
    login = f"user={values['USER']}" + (f" password={values['PASSWORD']}" if values["PASSWORD"] else "")
    with tempfile.TemporaryDirectory(prefix="pooler") as folder:
        # PgBouncer does not run as root but must be able to read the configuration file.
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
            wait_until(lambda: services.is_listening(port), bool)
            yield port
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def use_pooler(sessions: int) -> Iterator[None]:
    with run_pooler(sessions) as port, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKOFFICE_DATABASE_POOLER", "on")
        database_settings = get_database_settings(settings.DATA_DIR) | {"HOST": "127.0.0.1", "PORT": str(port)}
        for key in ("HOST", "PORT", "OPTIONS", "DISABLE_SERVER_SIDE_CURSORS"):
            patch.setitem(connection.settings_dict, key, database_settings[key])
        connections.close_all()
        yield
        connections.close_all()


def set_database_timeouts() -> None:
    """Set timeouts for the test database. Without a pooler, processes set these timeouts per session."""
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        for setting, time in TIMEOUTS.items():
            cursor.execute(f"ALTER DATABASE {name} SET {setting} = '{time}'")
