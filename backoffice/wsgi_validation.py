"""Check the WSGI environ before Django builds a request from it. The checks work with every WSGI server.

* A content type with an unknown charset is rejected, because it causes an exception outside Django's error handling.
* A chunked body is rejected, because Django would read it as empty. ``backoffice.server``
  reads chunked bodies itself and passes them on with their length.
* A body that is too large is rejected before it is read.
* Any exception while Django builds the request becomes a JSON error without details.
"""

import logging
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import orjson
from django.conf import settings
from django.utils.http import parse_header_parameters

logger = logging.getLogger(__name__)

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

# No accepted length has more digits, and Python raises an error for very long numbers.
_MAX_DIGITS = 15


def validate_environ(application: Application) -> Application:
    """Wrap the application in the checks in this module."""

    def guarded(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status = find_error_status(environ)
        if status is not None:
            return _send_error(status, start_response)
        try:
            return application(environ, start_response)
        except Exception:
            logger.exception("Django could not build a request")
            return _send_error(HTTPStatus.INTERNAL_SERVER_ERROR, start_response)

    return guarded


def find_error_status(environ: Environ) -> HTTPStatus | None:
    """Return the status with which to reject a request, or None."""
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
    """Return True if the content type names UTF-8 or no charset, so that Django decodes the request as UTF-8."""
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "utf-8")
    except (LookupError, ValueError):
        return False
    return charset.lower() in {"utf-8", "utf8"}


def _send_error(status: HTTPStatus, start_response: StartResponse) -> Iterable[bytes]:
    headers, body = build_error_response(status)
    headers += [("Content-Length", str(len(body))), ("Connection", "close")]
    start_response(f"{status.value} {status.phrase}", headers)
    return [body]


def build_error_response(status: HTTPStatus, errors: str = "") -> tuple[Headers, bytes]:
    """Build an error response without Django, with all headers of API responses."""
    brand = settings.BRAND.capitalize()
    headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        make_request_id_header(),
        (f"X-{brand}-API-Version", settings.API_VERSIONS[-1]),
        (f"X-{brand}-Shop-Api-Call-Limit", f"0/{settings.RATE_LIMIT_BURST}"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
        ("Vary", f"X-{brand}-Access-Token, Authorization"),
    ]
    return headers, orjson.dumps({"errors": errors or status.phrase})


def make_request_id_header() -> tuple[str, str]:
    return "X-Request-Id", str(uuid4())
