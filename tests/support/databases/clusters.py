import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import services
from tests.support.servers.ports import find_free_port


def require_programs() -> str:
    """Return the folder with PostgreSQL's server programs, which Debian installs outside of PATH."""
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    folder = next((folder for folder in folders if Path(folder, "initdb").exists()), None)
    initdb = shutil.which("initdb")
    return services.require_service(
        "the programs of a PostgreSQL server", folder or (initdb and str(Path(initdb).parent))
    )


def run_as_postgres(folder: Path) -> dict[str, str]:
    """Return the user for processes that use the folder, because PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    users = {entry.pw_name for entry in pwd.getpwall()}
    services.require_service("a user called postgres", "postgres" if "postgres" in users else None)
    shutil.chown(folder, "postgres", "postgres")
    return {"user": "postgres", "group": "postgres"}


class Cluster:
    """A new cluster in ``folder`` on a free port, or a streaming replica ``of`` another cluster."""

    def __init__(self, folder: Path, of: "Cluster | None" = None) -> None:
        self._bin = Path(require_programs())
        self._data = folder / "data"
        self.port = find_free_port()
        self.address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres")
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/restored"
        self._as = run_as_postgres(folder)
        if of is not None:
            self._run("pg_basebackup", "--no-sync", "-R", "-c", "fast", *of.address)
            self.start()
            return
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8")
        self.start()
        self._run("createdb", *self.address, "restored", data=False)

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
    with tempfile.TemporaryDirectory(prefix="cluster") as folder:
        cluster = Cluster(Path(folder), of)
        try:
            yield cluster
        finally:
            cluster.stop("immediate")
