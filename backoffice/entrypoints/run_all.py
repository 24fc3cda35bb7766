"""``make run``: run all processes (web and a worker with the scheduler) in one terminal until Ctrl-C.

The command checks everything that could prevent the start before it writes any data. It announces slow steps, and shows
how to log in as soon as the web server responds. After that, the output contains only warnings and errors of the
processes. This process does not load Django, so that it needs little memory.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

from django.core.exceptions import ImproperlyConfigured

from backoffice.configuration import env

# The processes with their arguments. ``-B`` runs the scheduler as a part of the worker.
PROCESSES = {"serve": (), "worker": ("-B",)}
# The number of seconds that processes have to finish their work before they are killed.
STOP_SECONDS = 30.0


def main() -> None:
    """Run all processes until Ctrl-C or SIGTERM. If a process ends, print its name and stop all other processes."""
    with env.exit_on_configuration_error():
        require_port()
    sys.exit(_Run().run())


class _Run:
    """The processes of ``make run``. Each process has its own session, so that Ctrl-C reaches only the parent."""

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.is_stopped = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_stopped = True
        if preparation := self.running.get("prepare"):
            preparation.terminate()

    def run(self) -> int:
        """Prepare, start all processes, and wait. Return 0 after a stop signal, otherwise a failed process's code."""
        self._start("prepare", stdout=subprocess.PIPE)
        login, _ = self.running["prepare"].communicate()
        code = self.running.pop("prepare").returncode
        if self.is_stopped:
            _print("\nStopped.")
            return 0
        if code:
            return code
        # The preparation has warned of unknown variables, so the other processes need not.
        os.environ[env.CHECKED] = "1"
        _print("Starting the web server and the worker …")
        for name, arguments in PROCESSES.items():
            self._start(name, *arguments)
        while self._is_running() and not _is_answering():
            time.sleep(0.1)
        if self._is_running():
            _print(f"{login}Running until Ctrl-C.")
        while self._is_running():
            # A stop signal interrupts the sleep only if its handler raises, so do not sleep long.
            time.sleep(0.2)
        return self._end()

    def _start(self, name: str, *arguments: str, stdout: int | None = None) -> None:
        command = [sys.executable, "-m", f"backoffice.entrypoints.{name}", *arguments]
        self.running[name] = subprocess.Popen(  # noqa: S603
            command, cwd=env.ROOT, start_new_session=True, stdout=stdout, text=True
        )

    def _is_running(self) -> bool:
        return not self.is_stopped and all(process.poll() is None for process in self.running.values())

    def _end(self) -> int:
        ended = {name: process.returncode for name, process in self.running.items() if process.poll() is not None}
        unexpected = f"{' and '.join(ended)} stopped unexpectedly; stopping all processes."
        _print("\nStopping …" if self.is_stopped else unexpected)
        for process in self.running.values():
            process.terminate()
        until = time.monotonic() + STOP_SECONDS
        for name, process in self.running.items():
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                _print(f"{name} did not stop within {STOP_SECONDS:.0f} seconds and is killed.")
                os.killpg(process.pid, signal.SIGKILL)
        return 0 if self.is_stopped else next((code for code in ended.values() if code), 1)


def _get_address() -> tuple[str, int]:
    return env.get_text("HOST", "127.0.0.1"), env.get_integer("PORT", 8000, least=1, most=65_535)


def require_port() -> None:
    """Raise an error if the port is in use, so that a second instance never changes the data of the first instance."""
    host, port = _get_address()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ImproperlyConfigured(
                f"can't listen on {host}:{port} ({error.strerror}). Set PORT to another port."
            ) from None


def _is_answering() -> bool:
    """Return True if the web server responds. A server that listens on all addresses also listens on loopback."""
    host, port = _get_address()
    loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing is bound
    connection = http.client.HTTPConnection(loopback, port, timeout=10)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
