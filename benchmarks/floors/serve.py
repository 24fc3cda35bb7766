"""Run a floor on the product's server: ``python -m benchmarks.floors.serve a``."""

import importlib
import os
import sys

from backoffice.server import Door, run_server
from backoffice.server.threads import Application


def main() -> None:
    run_server(
        _load,
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        processes=int(os.environ.get("WEB_PROCESSES", "2")),
        threads=int(os.environ.get("WEB_THREADS", "4")),
    )


def _load() -> tuple[Application, Door]:
    return importlib.import_module(f"benchmarks.floors.{sys.argv[1]}").application, Door()


if __name__ == "__main__":
    main()
