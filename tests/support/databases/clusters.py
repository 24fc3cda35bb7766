"""PostgreSQL clusters that a test may stop and restart."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import services
from tests.support.servers.live import find_free_port


def find_programs() -> Path | None:
    """Return the folder with PostgreSQL's server programs, which Debian installs outside of PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders.append(Path(shutil.which("initdb") or "/nowhere/initdb").parent)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class Cluster:
    """A new cluster in ``folder`` on a free port, or a streaming replica ``of`` another cluster."""

    def __init__(self, folder: Path, of: "Cluster | None" = None) -> None:
        self._bin = Path(
            services.require_service("the programs of a PostgreSQL server", str(find_programs() or "") or None)
        )
        self._data = folder / "data"
        self.port = find_free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/restored"
        # PostgreSQL refuses to run as root.
        self._as: dict[str, str] = {}
        if os.getuid() == 0:
            services.require_service(
                "a user called postgres", next((u.pw_name for u in pwd.getpwall() if u.pw_name == "postgres"), None)
            )
            shutil.chown(folder, "postgres", "postgres")
            self._as = {"user": "postgres", "group": "postgres"}
        if of is not None:
            self._run(
                "pg_basebackup",
                "--no-sync",
                "-R",
                "-c",
                "fast",
                "-h",
                "127.0.0.1",
                "-p",
                str(of.port),
                "-U",
                "postgres",
            )
            self.start()
            return
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8")
        self.start()
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "restored", data=False)

    def _run(self, program: str, *arguments: str, data: bool = True) -> None:
        where = ["-D", str(self._data)] if data else []
        subprocess.run(
            [str(self._bin / program), *where, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._data.parent,
            **self._as,  # type: ignore[call-overload]
        )

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=30"
        self._run("pg_ctl", "-w", "-l", str(self._data.parent / "log"), "-o", settings, "start")

    def stop(self, how: str) -> None:
        """Stop the server: ``fast`` ends all sessions, ``immediate`` simulates a crash."""
        self._run("pg_ctl", "-w", "-m", how, "stop")


@contextmanager
def run_cluster(of: Cluster | None = None) -> Iterator[Cluster]:
    """Run a cluster for the duration of the block, and delete the cluster afterwards."""
    with tempfile.TemporaryDirectory(prefix="cluster") as folder:
        cluster = Cluster(Path(folder), of)
        try:
            yield cluster
        finally:
            cluster.stop("immediate")
