"""What the application behind the server decides about requests that are not yet in its hands."""

import logging
from collections.abc import Hashable
from http import HTTPStatus
from typing import Any

Environ = dict[str, Any]
Headers = list[tuple[str, str]]

logger = logging.getLogger("backoffice.server")


class Door:
    """A door without particular wishes; applications derive theirs."""

    def body_limit(self, environ: Environ) -> int:
        """How many bytes a request's body may have; asked with the request's headers, before any byte is read."""
        return 64 * 1024 * 1024

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """The answer to a request that the server itself refuses: headers (without the length) and body."""
        return [("Content-Type", "text/plain; charset=utf-8")], status.phrase.encode()

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """An answer that needs no thread, or None; made in the event loop, so it must not wait for anything."""
        return None

    def whose(self, environ: Environ) -> Hashable:
        """Equal for requests of the same owner, among whom threads are shared alike; None for nobody's in particular.

        Asked in the event loop.
        """
        return None

    def answered(self, environ: Environ) -> None:
        """Called in a thread once the application has answered; it may have left something in the environ."""

    def leave(self) -> None:
        """Called in each thread when it ends."""
