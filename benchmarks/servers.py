"""Start and stop the measured servers, with two processes each on the loopback interface."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import HEADER, Unmeasurable

PROCESSES = 2
OURS = [sys.executable, "-m", "backoffice.entrypoints.serve"]


def run_gunicorn(application: str) -> list[str]:
    """Return the command for another application on the product's server."""
    return [sys.executable, "-m", "gunicorn", "-c", "python:backoffice.server.gunicorn_config", application]


def run_floor(name: str) -> list[str]:
    return run_gunicorn(f"benchmarks.floors.serve:build({name!r})")


def run_naive(port: int) -> list[str]:
    application = "benchmarks.naive.wsgi:application"
    return [sys.executable, "-m", "gunicorn", "-w", str(PROCESSES), "-b", f"127.0.0.1:{port}", "--log-level", "warning",
            application]  # fmt: skip


@dataclass
class RunningServer:
    """A running server."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    seconds_to_first_answer: float

    def memory(self) -> float:
        """Return the memory of the largest web process in megabytes, including its share of shared memory."""
        return max(_megabytes(pid) for pid in _children(self.process.pid) or [self.process.pid])

    def processor_seconds(self) -> float:
        """Return the CPU time of the server's processes so far in seconds."""
        return sum(get_processor_seconds(pid) for pid in [self.process.pid, *_children(self.process.pid)])


@contextlib.contextmanager
def run_server(
    name: str, command: Sequence[str], port: int, environment: Mapping[str, str], path: str, token: str
) -> Iterator[RunningServer]:
    """Start a server, wait until it responds at ``path``, and stop it after the block.

    Raises:
        Unmeasurable: The server does not respond within a minute.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        env={**os.environ, "PORT": str(port), "WEB_PROCESSES": str(PROCESSES), "PGAPPNAME": name, **environment},
        stderr=subprocess.DEVNULL if not os.environ.get("BENCH_VERBOSE") else None,
        start_new_session=True,
    )
    try:
        _wait(name, process, port, path, token)
        yield RunningServer(name, port, process, time.monotonic() - began)
    finally:
        stop_process(process)


def _wait(name: str, process: subprocess.Popen[bytes], port: int, path: str, token: str) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={HEADER: token})
    problem: object = None
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=30):
                return
        except urllib.error.HTTPError as error:
            raise Unmeasurable(f"{name} responded with {error.code}: {error.read()[:500]!r}") from None
        except OSError as error:
            problem = error
            time.sleep(0.02)
    raise Unmeasurable(f"{name} does not respond ({problem}). Set BENCH_VERBOSE=1 to display errors.")


def stop_process(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _children(pid: int) -> list[int]:
    parts = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in parts]


def get_family_megabytes(pid: int) -> float:
    """Return the memory of a process and its descendants in megabytes, with shared memory counted once."""
    return _megabytes(pid) + sum(get_family_megabytes(child) for child in _children(pid))


def get_processor_seconds(pid: int) -> float:
    """Return the CPU time of a process in seconds, or 0 if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise Unmeasurable("The kernel does not report the memory of processes.")
