"""Run a small WSGI application on the product's server: ``python -m tests.support.servers.application``."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus

from backoffice.server import Door, run_server
from backoffice.server.door import Environ, Headers
from backoffice.server.threads import Application

BIG = 24 * 1024 * 1024


class TestHooks(Door):
    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        return (HTTPStatus.OK, [], b"lives") if environ["PATH_INFO"] == "/healthz" else None


def application(environ: Environ, start_response: Callable[..., object]) -> Iterable[bytes]:
    """Serve ``/pid``, ``/slow?<seconds>``, ``/big``, ``/echo`` and ``/fails``."""
    path = environ["PATH_INFO"]
    start_response("200 OK", [("X-Mixed-CASE", path)])
    if path == "/big":
        return _iterate_chunks()
    if path == "/slow":
        time.sleep(float(environ["QUERY_STRING"]))
    if path == "/echo":
        return [environ["wsgi.input"].read()]
    if path == "/fails":
        raise RuntimeError("on purpose")
    return [str(os.getpid()).encode()]


def _iterate_chunks() -> Iterator[bytes]:
    for _ in range(BIG // 65536):
        yield b"x" * 65536


def _load_application() -> tuple[Application, Door]:
    return application, TestHooks()


if __name__ == "__main__":
    run_server(
        _load_application,
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        processes=int(os.environ["WEB_PROCESSES"]),
        threads=int(os.environ["WEB_THREADS"]),
    )
