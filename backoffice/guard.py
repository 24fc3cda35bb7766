"""What must be settled before Django builds its request object, whichever server stands in front.

* A content type whose charset is no text encoding makes Django raise outside of every layer of its own.
* A chunked body has no length under WSGI; Django would read it as empty and answer as if that were what was sent.
* A body that is too large is refused before it is read.
* Whatever Django raises while it builds the request is answered like any other defect: in JSON, without details.
"""

import logging
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.utils.http import parse_header_parameters

from backoffice.door import refusal

logger = logging.getLogger(__name__)

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

# More digits than any length that we take; longer ones Python itself refuses to read.
_MAX_DIGITS = 15


def guard(application: Application) -> Application:
    """The application behind the guard."""

    def guarded(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status = _refusal(environ)
        if status is not None:
            return _refuse(status, start_response)
        try:
            return application(environ, start_response)
        except Exception:
            logger.exception("A request failed before it was one")
            return _refuse(HTTPStatus.INTERNAL_SERVER_ERROR, start_response)

    return guarded


def _refusal(environ: Environ) -> HTTPStatus | None:
    if "HTTP_TRANSFER_ENCODING" in environ:
        return HTTPStatus.LENGTH_REQUIRED
    if environ.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    length = environ.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        return HTTPStatus.BAD_REQUEST
    if len(length) > _MAX_DIGITS or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
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


def _refuse(status: HTTPStatus, start_response: StartResponse) -> Iterable[bytes]:
    headers, body = refusal(status)
    headers += [("Content-Length", str(len(body))), ("Connection", "close")]
    start_response(f"{status.value} {status.phrase}", headers)
    return [body]
