"""Refusals that must come before Django builds its request object.

* A content type whose charset is no text encoding makes Django raise outside of every layer of its own.
* A chunked body has no length under WSGI; Django would read it as empty and answer as if that were what was sent.
* A body that is too large is refused before it is read.
"""

import codecs
from collections.abc import Callable, Iterable
from email.message import Message
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import orjson
from django.conf import settings

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


def guard(application: Application) -> Application:
    """The application behind the guard."""

    def guarded(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status = _refusal(environ)
        if status is not None:
            return _refuse(status, environ, start_response)
        return application(environ, start_response)

    return guarded


def _refusal(environ: Environ) -> HTTPStatus | None:
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return HTTPStatus.LENGTH_REQUIRED
    length = environ.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        return HTTPStatus.BAD_REQUEST
    if int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    content_type = environ.get("CONTENT_TYPE", "")
    if "charset" in content_type.lower() and not _is_text_charset(content_type):
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    return None


def _is_text_charset(content_type: str) -> bool:
    header = Message()
    header["Content-Type"] = content_type
    charset = str(header.get_param("charset", "utf-8"))
    try:
        # Only UTF-8 and its subsets carry forms and JSON that we read; codecs such as zlib or rot13 are no charsets.
        return codecs.lookup(charset).name in {"utf-8", "ascii", "iso8859-1"}
    except (LookupError, ValueError):
        return False


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
