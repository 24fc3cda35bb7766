"""``make run``: the whole product in one terminal: web, worker, scheduler and webhooks until Ctrl-C.

It prepares what it needs first. Everything that could stop it is looked at before anything is written or printed. It
says what takes a while, then how to get in, and then nothing: what the processes print are warnings and errors.
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

from backoffice import variables

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = ("serve", "worker", "scheduler", "webhooks")
# What comes along with libraries and stands on no page.
NOT_COLLECTED = ["rest_framework", "xregexp", "gis"]
# How long what is being done may take to end, before it is cut off.
STOP_SECONDS = 30.0


def main() -> None:
    """Run until Ctrl-C or SIGTERM; what ends by itself ends the others, and is named."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    with variables.told_in_a_sentence():
        _require_port()
        _prepare()
    # What is loaded stays until the end: looking through it then would only keep whoever pressed Ctrl-C.
    gc.freeze()
    sys.exit(_run())


def _run() -> int:
    """Start the processes and wait; the exit code of the one that ended by itself, 0 where all were told to stop."""
    told = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    # Sessions of their own: the terminal's Ctrl-C reaches this process alone, which asks each of them to end.
    running = {
        name: subprocess.Popen([sys.executable, "-m", f"backoffice.{name}"], cwd=ROOT, start_new_session=True)  # noqa: S603
        for name in PROCESSES
    }
    _say("Running until Ctrl-C.")
    while not told and all(process.poll() is None for process in running.values()):
        time.sleep(0.1)
    ended = {name: process.returncode for name, process in running.items() if process.poll() is not None}
    _say("\nStopping …" if told else f"{' and '.join(ended)} ended by itself: stopping.")
    _stop(running)
    return 0 if told else next((code for code in ended.values() if code), 1)


def _stop(running: dict[str, subprocess.Popen[bytes]]) -> None:
    """Ask each to end, and cut off what does not."""
    for process in running.values():
        process.terminate()
    until = time.monotonic() + STOP_SECONDS
    for name, process in running.items():
        try:
            process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _say(f"{name} did not end within {STOP_SECONDS:.0f} seconds and is cut off.")
            os.killpg(process.pid, signal.SIGKILL)


def _require_port() -> None:
    """Refuse a port that somebody else has, before a second instance writes into the first one's data."""
    host, port = variables.text("HOST", "127.0.0.1"), variables.whole("PORT", 8000, least=1, most=65_535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ImproperlyConfigured(
                f"nothing can listen on {host}:{port} ({error.strerror}). Set PORT to another one."
            ) from None


def _prepare() -> None:
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    from django.db import connections

    from backoffice import parts

    parts.require()
    _say("Preparing the database …")
    call_command("migrate", verbosity=0)
    _say("Collecting static files …")
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=NOT_COLLECTED)
    if variables.text("DATABASE_URL"):
        # Somebody's real data: no demo, and no further token.
        _say(f"\n  Panel  {settings.BASE_URL}/admin/   (a first login: manage.py createsuperuser)\n")
    else:
        call_command("demo", first=True)
    connections.close_all()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
