"""Hooks for requests that the server has not passed to the application yet."""

import logging
from collections.abc import Hashable
from http import HTTPStatus
from typing import Any

Environ = dict[str, Any]
Headers = list[tuple[str, str]]

logger = logging.getLogger("backoffice.server")


class Door:
    """Default hooks, which an application can override."""

    def body_limit(self, environ: Environ) -> int:
        """Return the maximum size of the body. Called after the headers have been read and before the body is read."""
        return 64 * 1024 * 1024

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """Return the headers (without the length) and the body of an error response that the server sends itself."""
        return [("Content-Type", "text/plain; charset=utf-8")], status.phrase.encode()

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Return a response that needs no thread, or None.

        The method is called in the event loop, so it must not block.
        """
        return None

    def owner(self, environ: Environ) -> Hashable:
        """Return a key that identifies the request's owner, or None for a request without an owner.

        The server distributes its threads fairly among owners. The method is called in the event loop.
        """
        return None

    def answered(self, environ: Environ) -> None:
        """Handle the end of a request in the request's thread. The application may have added data to ``environ``."""

    def leave(self) -> None:
        """Clean up at the end of a thread. Called in the thread itself."""
