"""The rules that an application gives the server for requests that have not reached the application yet."""

import logging
from collections.abc import Hashable
from http import HTTPStatus
from typing import Any

Environ = dict[str, Any]
Headers = list[tuple[str, str]]

logger = logging.getLogger("backoffice.server")


class Door:
    """Default rules, which an application can override."""

    def body_limit(self, environ: Environ) -> int:
        """Return the maximum size of the body. Called after the headers, before the body is read."""
        return 64 * 1024 * 1024

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """Return the body and the headers (without the length) of an error response that the server sends itself."""
        return [("Content-Type", "text/plain; charset=utf-8")], status.phrase.encode()

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Return a response that needs no thread, or None.

        The method is called in the event loop, so it must not block.
        """
        return None

    def owner(self, environ: Environ) -> Hashable:
        """Return a key of the request's owner, or None for a request without an owner.

        Owners share the threads fairly. The method is called in the event loop.
        """
        return None

    def answered(self, environ: Environ) -> None:
        """Handle the end of a request, in the request's thread. ``environ`` contains data from the application."""

    def leave(self) -> None:
        """Clean up when a thread ends. Called in each thread."""
