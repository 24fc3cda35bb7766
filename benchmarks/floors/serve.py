"""Serves a floor with the product's own server and settings: ``python -m benchmarks.floors.serve a``."""

import os
import sys

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server


def main() -> None:
    Server(
        f"benchmarks.floors.{sys.argv[1]}:application",
        port=int(os.environ["PORT"]),
        interface=Interfaces.WSGI,
        workers=int(os.environ.get("WEB_PROCESSES", "2")),
        blocking_threads=int(os.environ.get("WEB_THREADS", "4")),
        backlog=1024,
        log_access=False,
        log_level=LogLevels.warning,
        websockets=False,
    ).serve()


if __name__ == "__main__":
    main()
