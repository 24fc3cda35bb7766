"""Two PostgreSQL servers with synchronous replication, and a monitor that promotes the standby.

The servers use pg_auto_failover from the Debian packages ``pg-auto-failover-cli`` and ``postgresql-15-auto-failover``.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.support import services
from tests.support.databases.clusters import require_programs, run_as_postgres
from tests.support.servers.ports import find_free_port
from tests.support.timing import wait_until

# Seconds after which an unresponsive server is unhealthy and an isolated primary stops, and seconds after which the
# standby can assume that the primary has stopped.
UNHEALTHY_SECONDS, DEMOTED_SECONDS = 6, 8
_MONITOR = f"""
listen_addresses = '127.0.0.1'
pgautofailover.node_considered_unhealthy_timeout = {UNHEALTHY_SECONDS * 1000}
pgautofailover.primary_demote_timeout = {DEMOTED_SECONDS * 1000}
pgautofailover.health_check_period = 1000
pgautofailover.health_check_timeout = 2000
pgautofailover.health_check_retry_delay = 500
"""
# Copying a restarted server from the primary starts with a checkpoint. Run this checkpoint at full speed.
_SERVER = "checkpoint_completion_target = 0"
# The states of the servers while every write is replicated.
_REPLICATED_STATES = {"primary", "secondary"}


class PostgresPair:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = services.require_service("pg_autoctl", shutil.which("pg_autoctl"))
        path = f"{require_programs()}:/usr/bin:/bin"
        self._env = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(folder)}
        self._as = run_as_postgres(folder)
        self.ports = {name: find_free_port() for name in ("monitor", "one", "two")}
        servers = ",".join(f"127.0.0.1:{self.ports[name]}" for name in ("one", "two"))
        self.url = f"postgres://postgres@{servers}/restored?target_session_attrs=read-write"
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def make(self) -> None:
        self._create("monitor")
        self._tell("monitor", _MONITOR)
        self.start("monitor")
        wait_until(lambda: services.is_listening(self.ports["monitor"]), bool, seconds=30)
        for name in ("one", "two"):
            monitor = f"postgres://autoctl_node@127.0.0.1:{self.ports['monitor']}/pg_auto_failover"
            name_options = ("--name", name, "--dbname", "restored", "--username", "postgres")
            self._create("postgres", "--listen", "127.0.0.1", "--monitor", monitor, *name_options, folder_name=name)
            self._call("config", "set", "timeout.network_partition_timeout", str(UNHEALTHY_SECONDS), folder_name=name)
            self._tell(name, _SERVER)
            self.start(name)
        self.await_whole()

    def states(self) -> dict[str, str]:
        """Return the state that each server reports to the monitor, such as ``primary`` or ``secondary``."""
        monitor = f"postgres://postgres@127.0.0.1:{self.ports['monitor']}/pg_auto_failover"
        with psycopg.connect(monitor, autocommit=True) as other:
            return dict(other.execute("SELECT nodename, reportedstate::text FROM pgautofailover.node").fetchall())

    def await_whole(self) -> None:
        """Wait until every write is replicated to both servers."""
        wait_until(lambda: set(self.states().values()), _REPLICATED_STATES.__eq__, seconds=120)

    def start(self, name: str) -> None:
        with (self._folder / f"{name}.log").open("a") as log:
            self._running[name] = subprocess.Popen(
                [self._program, "run", "--pgdata", str(self._folder / name)],
                env=self._env,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                **self._as,  # type: ignore[call-overload]
            )

    def kill_primary(self) -> str:
        """Kill all processes of the primary, as in a machine crash, and return the server's name."""
        (name,) = (name for name, state in self.states().items() if state == "primary")
        self._kill(name)
        return name

    def stop(self) -> None:
        for name in list(self._running):
            self._kill(name)

    def _kill(self, name: str) -> None:
        process = self._running.pop(name)
        for pid in reversed(_stop_process_tree(process.pid)):
            os.kill(pid, signal.SIGKILL)
        process.wait(30)

    def _tell(self, name: str, settings: str) -> None:
        with (self._folder / name / "postgresql.conf").open("a") as file:
            file.write(f"{settings}\n")

    def _create(self, kind: str, *arguments: str, folder_name: str = "monitor") -> None:
        where = ("--pgport", str(self.ports[folder_name]), "--hostname", "127.0.0.1", "--auth", "trust", "--no-ssl")
        self._call("create", kind, *where, *arguments, folder_name=folder_name)

    def _call(self, *arguments: str, folder_name: str) -> None:
        subprocess.run(
            [self._program, *arguments, "--pgdata", str(self._folder / folder_name)],
            env=self._env,
            cwd=self._folder,
            check=True,
            capture_output=True,
            **self._as,  # type: ignore[call-overload]
        )


def _stop_process_tree(pid: int) -> list[int]:
    """Stop a process and all descendants, so that no new process starts, and return the process ids, parents first."""
    os.kill(pid, signal.SIGSTOP)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(descendant for child in children for descendant in _stop_process_tree(int(child)))]


@contextmanager
def run_pair() -> Iterator[PostgresPair]:
    with tempfile.TemporaryDirectory(prefix="pair") as folder:
        pair = PostgresPair(Path(folder))
        try:
            pair.make()
            yield pair
        finally:
            pair.stop()
