"""PgBouncer in transaction mode before the server of the tests, as docs/operators.md tells operators to run it.

``make test-pooled`` runs the suite through one: with ``TEST_POOLER=on`` each process of the run makes and migrates its
database past the pooler, starts one of its own, and works on the database through it from then on.
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
from tests.client.conftest import free_port
from tests.machine import until

# As many as the races of the suite hold at one time.
SESSIONS = 20
# What belongs to the role or to the database once no process may say it for its session.
TIMEOUTS = {"lock_timeout": "2500ms", "statement_timeout": "60s", "idle_in_transaction_session_timeout": "60s"}


@contextmanager
def pooler(sessions: int) -> Iterator[int]:
    """The port of a running one, which passes on every database of the server by so many sessions each.

    Transactions that follow one another get another session each, so that whoever counts on a session's state is found.
    """
    program = parts.need("PgBouncer", parts.pgbouncer())
    values, port = connection.settings_dict, free_port()
    login = f"user={values['USER']}" + (f" password={values['PASSWORD']}" if values["PASSWORD"] else "")
    with tempfile.TemporaryDirectory(prefix="pooler") as folder:
        # It does not run as root, and has to read its file.
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
            until(lambda: parts.listens(port), bool)
            yield port
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def behind_a_pooler(sessions: int) -> Iterator[None]:
    """Within it this process and those that it starts work on the tests' database through a pooler."""
    with pooler(sessions) as port, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKOFFICE_DATABASE_POOLER", "on")
        told = get_database_settings(settings.DATA_DIR) | {"HOST": "127.0.0.1", "PORT": str(port)}
        for key in ("HOST", "PORT", "OPTIONS", "DISABLE_SERVER_SIDE_CURSORS"):
            patch.setitem(connection.settings_dict, key, told[key])
        connections.close_all()
        yield
        connections.close_all()


def tell_timeouts() -> None:
    """What each process says for its session otherwise: the tests' database says it for all."""
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        for setting, time in TIMEOUTS.items():
            cursor.execute(f"ALTER DATABASE {name} SET {setting} = '{time}'")
