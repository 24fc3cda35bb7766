"""``make run``: run all processes (web, worker, scheduler and webhooks) in one terminal until Ctrl-C.

The command checks everything that could prevent the start before it writes any data. It announces slow steps and shows
how to log in. After that, the output contains only warnings and errors of the processes.
"""

import gc
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from django.core.exceptions import ImproperlyConfigured

from backoffice.configuration import env

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = ("serve", "worker", "scheduler", "webhooks")
# Static files of libraries that no page uses, so they are not collected.
IGNORED_STATIC_FILES = ["rest_framework", "xregexp", "gis"]
# The number of seconds that processes have to finish their work before they are killed.
STOP_SECONDS = 30.0


def main() -> None:
    """Run all processes until Ctrl-C or SIGTERM. If a process ends, print its name and stop all other processes."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    with env.exit_on_configuration_error():
        _require_port()
        _prepare()
    # Loaded modules are needed until the end, so garbage collection would only slow down the exit after Ctrl-C.
    gc.freeze()
    sys.exit(_run())


def _run() -> int:
    """Start the processes, wait, and return 0 after a stop signal, or the exit code of the process that ended."""
    stop_requested = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stop_requested
        stop_requested = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    # Start each process in its own session, so that Ctrl-C reaches only this process, which then stops the others in
    # order.
    commands = {name: [sys.executable, "-m", f"backoffice.entrypoints.{name}"] for name in PROCESSES}
    running = {
        name: subprocess.Popen(command, cwd=ROOT, start_new_session=True)  # noqa: S603
        for name, command in commands.items()
    }
    _print("Running until Ctrl-C.")
    while not stop_requested and all(process.poll() is None for process in running.values()):
        time.sleep(0.1)
    ended = {name: process.returncode for name, process in running.items() if process.poll() is not None}
    _print("\nStopping …" if stop_requested else f"{' and '.join(ended)} stopped unexpectedly; stopping all processes.")
    _stop(running)
    return 0 if stop_requested else next((code for code in ended.values() if code), 1)


def _stop(running: dict[str, subprocess.Popen[bytes]]) -> None:
    for process in running.values():
        process.terminate()
    until = time.monotonic() + STOP_SECONDS
    for name, process in running.items():
        try:
            process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _print(f"{name} did not stop within {STOP_SECONDS:.0f} seconds and is killed.")
            os.killpg(process.pid, signal.SIGKILL)


def _require_port() -> None:
    """Raise an error if the port is in use, so that a second instance never changes the data of the first instance."""
    host, port = env.get_text("HOST", "127.0.0.1"), env.get_integer("PORT", 8000, least=1, most=65_535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ImproperlyConfigured(
                f"can't listen on {host}:{port} ({error.strerror}). Set PORT to another port."
            ) from None


def _prepare() -> None:
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    from django.db import connections

    from backoffice import startup_checks

    startup_checks.check_services()
    _print("Preparing the database …")
    call_command("migrate", verbosity=0)
    _print("Collecting static files …")
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=IGNORED_STATIC_FILES)
    if env.get_text("DATABASE_URL"):
        # An existing database contains real data, so do not create a demo shop or a token in the database.
        _print(f"\n  Panel  {settings.BASE_URL}/admin/   (create a login: manage.py createsuperuser)\n")
    else:
        call_command("demo", first=True)
    connections.close_all()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
