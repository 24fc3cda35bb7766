"""A small WSGI application behind the product's adapter."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus

from django.conf import settings

from backoffice.server.adapter import Adapter, Hooks
from backoffice.server.wsgi import Environ, Headers

BIG = 24 * 1024 * 1024
_released = threading.Event()


class TestHooks(Hooks):
    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Serve ``/healthz``, ``/release``, which ends ``/hold``, and ``/block``, which blocks the event loop."""
        path = environ["PATH_INFO"]
        if path == "/block":
            time.sleep(600)
        if path == "/release":
            _released.set()
        return (HTTPStatus.OK, [], b"lives") if path in {"/healthz", "/release"} else None


def run(environ: Environ, start_response: Callable[..., object]) -> Iterable[bytes]:
    """Serve ``/pid``, ``/slow?<seconds>``, ``/hold``, ``/big``, ``/page``, ``/echo`` and ``/fails``."""
    path = environ["PATH_INFO"]
    start_response("200 OK", [("X-Mixed-CASE", path)])
    if path == "/big":
        return _iterate_chunks()
    if path == "/slow":
        time.sleep(float(environ["QUERY_STRING"]))
    if path == "/hold":
        _released.wait(60)
    if path == "/page":
        return [b"x" * 100_000]
    if path == "/echo":
        return [environ["wsgi.input"].read()]
    if path == "/fails":
        raise RuntimeError("on purpose")
    return [str(os.getpid()).encode()]


def _iterate_chunks() -> Iterator[bytes]:
    for _ in range(BIG // 65536):
        yield b"x" * 65536


application = Adapter(run, TestHooks(), threads=settings.WEB_THREADS)
