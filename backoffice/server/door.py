"""Rules of the application for requests that the server has not passed to it yet."""

import logging
from collections.abc import Hashable
from http import HTTPStatus
from typing import Any

Environ = dict[str, Any]
Headers = list[tuple[str, str]]

logger = logging.getLogger("backoffice.server")


class Door:
    """Default rules; applications override them."""

    def body_limit(self, environ: Environ) -> int:
        """Return the maximum size of the request body; called with the headers, before the body is read."""
        return 64 * 1024 * 1024

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """Return headers (without the length) and body of an error response that the server sends itself."""
        return [("Content-Type", "text/plain; charset=utf-8")], status.phrase.encode()

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Return a response that needs no thread, or None; called in the event loop, so the method must not block."""
        return None

    def owner(self, environ: Environ) -> Hashable:
        """Return a key of the request's owner, or None for a request without an owner.

        Owners share the threads fairly. The method is called in the event loop.
        """
        return None

    def answered(self, environ: Environ) -> None:
        """Handle the end of a request; called in its thread, with data that the application left in the environ."""

    def leave(self) -> None:
        """Clean up; called in each thread when it ends."""
