"""What must be settled before Django builds its request object.

* A content type whose charset is no text encoding makes Django raise outside of every layer of its own.
* A chunked body has no length under WSGI; Django would read it as empty and answer as if that were what was sent.
* A body that is too large is refused before it is read.
* A client that announces a body and does not send it would hold its thread for ever; the wait for a body ends.
* Whatever Django raises while it builds the request is answered like any other defect: in JSON, without details.
"""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import orjson
from django.conf import settings
from django.utils.http import parse_header_parameters

logger = logging.getLogger(__name__)

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


def guard(application: Application) -> Application:
    """The application behind the guard."""

    def guarded(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status = _refusal(environ)
        if status is not None:
            return _refuse(status, environ, start_response)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length:
            environ["wsgi.input"] = _TimedInput(environ["wsgi.input"], length)
        try:
            return application(environ, start_response)
        except Exception:
            logger.exception("A request failed before it was one")
            return _refuse(HTTPStatus.INTERNAL_SERVER_ERROR, environ, start_response)

    return guarded


# How long a body may take: a while to begin with, and longer the larger it is.
_BODY_SECONDS = 8.0
_BODY_BYTES_PER_SECOND = 32 * 1024
_readers = ThreadPoolExecutor(64, thread_name_prefix="body")


class _TimedInput:
    """A body whose reading ends in time, with or without it.

    The server's own reading cannot be interrupted, so it goes on in a thread of its own until the connection closes,
    which it does after our answer.
    """

    def __init__(self, stream: Any, length: int) -> None:
        self._stream = stream
        self._until = time.monotonic() + _BODY_SECONDS + length / _BODY_BYTES_PER_SECOND

    def read(self, size: int = -1) -> bytes:
        """Bytes of the body.

        Raises:
            TimeoutError: They did not come in time; Django makes it an ``UnreadablePostError``.
        """
        return self._wait(self._stream.read, size)

    def readline(self, size: int = -1) -> bytes:
        """A line of the body; as ``read``."""
        return self._wait(self._stream.readline, size)

    def _wait(self, read: Callable[[int], bytes], size: int) -> bytes:
        return _readers.submit(read, size).result(max(0.0, self._until - time.monotonic()))


def _refusal(environ: Environ) -> HTTPStatus | None:
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return HTTPStatus.LENGTH_REQUIRED
    length = environ.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        return HTTPStatus.BAD_REQUEST
    if int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    content_type = environ.get("CONTENT_TYPE", "")
    if ";" in content_type and not _is_utf_8(content_type):
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    return None


def _is_utf_8(content_type: str) -> bool:
    """Whether the charset that Django will find in a content type is UTF-8, or none."""
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "utf-8")
    except (LookupError, ValueError):
        return False
    return charset.lower() in {"utf-8", "utf8"}


def _refuse(status: HTTPStatus, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    body = orjson.dumps({"errors": status.phrase})
    brand = settings.BRAND.capitalize()
    start_response(
        f"{status.value} {status.phrase}",
        [
            ("Content-Type", "application/json; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
            ("X-Request-Id", str(uuid4())),
            (f"X-{brand}-API-Version", settings.API_VERSIONS[-1]),
            (f"X-{brand}-Shop-Api-Call-Limit", f"0/{settings.RATE_LIMIT_SIZE}"),
        ],
    )
    return [body]
