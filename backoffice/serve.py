"""The web process: granian with what the environment says.

``HOST`` and ``PORT`` say where it listens, ``WEB_PROCESSES`` and ``WEB_THREADS`` how many requests it serves at once.
"""

import os

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server


def main() -> None:
    """Serve until told to stop; accepted requests are answered first."""
    Server(
        "backoffice.wsgi:application",
        address=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8000")),
        interface=Interfaces.WSGI,
        workers=int(os.environ.get("WEB_PROCESSES", "2")),
        blocking_threads=int(os.environ.get("WEB_THREADS", "4")),
        # A thread that ends takes its database connection along: keep them through short breaks.
        blocking_threads_idle_timeout=600,
        backlog=1024,
        respawn_failed_workers=True,
        workers_kill_timeout=30,
        log_access=False,
        log_level=LogLevels(os.environ.get("WEB_LOG_LEVEL", "warning")),
        websockets=False,
    ).serve()


if __name__ == "__main__":
    main()
