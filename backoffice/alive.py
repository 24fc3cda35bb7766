"""Whether a process of this machine lives: ``python -m backoffice.alive web|worker|scheduler|webhooks``.

For what watches containers and units. The web server is asked; the others, which nobody can ask, touch a file every
few seconds. What they get done is told by ``/metrics`` and ``/readyz``.
"""

import hashlib
import os
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

from django.conf import settings

from backoffice.variables import told_in_a_sentence

ROLES = ("web", "worker", "scheduler", "webhooks")
BEAT_SECONDS = 10.0
# A process that has not touched its file for so long hangs.
SILENT_SECONDS = 60.0


def keep(role: str) -> None:
    """Touch this process's file from now on, until it ends."""
    threading.Thread(target=_beat, args=(_path(role),), name="alive", daemon=True).start()


def silence(role: str) -> float | None:
    """Seconds since a process of this role last touched its file; None where none ever did."""
    try:
        return time.time() - _path(role).stat().st_mtime
    except FileNotFoundError:
        return None


def _beat(path: Path) -> None:
    while True:
        path.touch()
        time.sleep(BEAT_SECONDS)


def _path(role: str) -> Path:
    # Not in the data folder, which machines may share.
    installation = hashlib.sha256(str(settings.DATA_DIR).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir(), f"backoffice-{os.getuid()}-{installation}-{role}.alive")


def _web_answers() -> bool:
    host = "127.0.0.1" if settings.HOST in {"0.0.0.0", "::"} else settings.HOST  # noqa: S104 - what it listens on
    try:
        with socket.create_connection((host, settings.PORT), timeout=5) as server:
            server.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return server.recv(64).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def main() -> None:
    """End with 0 where it lives, else with 1 and a sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    role = sys.argv[1] if len(sys.argv) == 2 else ""
    if role not in ROLES:
        sys.exit(f"Say whether which of {', '.join(ROLES)} lives.")
    with told_in_a_sentence():
        if role == "web":
            if not _web_answers():
                sys.exit(f"The web server does not answer on port {settings.PORT}.")
            return
        age = silence(role)
    if age is None or age > SILENT_SECONDS:
        sys.exit(f"No {role} has said for {SILENT_SECONDS:.0f} seconds that it lives.")


if __name__ == "__main__":
    main()
