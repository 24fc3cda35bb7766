"""The synchronous HTTP client for downloads and for callbacks to other servers.

Requests are sent directly to the host of the URL, without proxies, cookies, referrers or credentials from the
environment. Downloads do not send the caller's headers, so redirects cannot leak secrets.
"""

import socket
import ssl
import string
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from tempfile import SpooledTemporaryFile
from typing import IO, Self
from urllib.parse import quote, urldefrag, urljoin

from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from apps.core.http.errors import (
    ADDRESS_NOT_ALLOWED,
    COMPRESSED_RESPONSE,
    CONNECTION_FAILED,
    HOST_NOT_FOUND,
    INVALID_CERTIFICATE,
    INVALID_REDIRECT,
    INVALID_RESPONSE,
    TOO_MANY_REDIRECTS,
    BadResponse,
    BadStatus,
    HttpRequestRefused,
    TimedOut,
    TooLarge,
    Unreachable,
)
from apps.core.http.guarded_connections import HEADER_BYTES, CallBudget, create_connection
from apps.core.http.ssrf_guard import AddressRefused, Target, UrlRefused, check_url
from apps.core.i18n.messages import as_message, define_message

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB
_REFUSED = define_message("http.url_refused", "the URL {refusal}")
IN_MEMORY = MIB
# The maximum number of bytes to receive for one chunk of a body. With tiny chunks, the framing is larger than the
# content, so the limit is generous. It prevents endless size lines, trailers or chunks from exhausting memory.
MAX_BYTES_PER_CHUNK = 10 * CHUNK
MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for a call, including redirects. Callbacks return the first ``max_bytes`` of a longer body."""

    max_bytes: int
    total_seconds: float
    connect_seconds: float = 5.0


CALLBACK = Limits(max_bytes=64 * KIB, total_seconds=5, connect_seconds=1)


@dataclass(frozen=True, slots=True)
class Download:
    """A finished download. The context manager closes and deletes the file on exit.

    The body is at position 0 of ``file``, on disk if it is large. ``url`` is the URL after redirects.
    """

    file: IO[bytes]
    size: int
    content_type: str
    url: str

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.file.close()


@dataclass(frozen=True, slots=True)
class CallbackResponse:
    """The response to a callback, with any status. The body is not decompressed, and truncated at the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


def download_file(url: str, *, limits: Limits, schemes: Collection[str] = ("http", "https")) -> Download:
    """Download a URL into a temporary file. At most three redirects are followed, and their URLs are also checked.

    The message of an ``HttpRequestFailed`` is the reason of the failure.
    """
    budget = CallBudget.start(limits.total_seconds)
    for _ in range(MAX_REDIRECTS + 1):
        target = _check_url(url, schemes)
        with _exchange("GET", target, budget, limits) as response:
            location = response.headers.get("Location")
            if response.status in REDIRECTS and location:
                url = _get_redirect_url(target, location)
                continue
            if response.status != 200:
                raise BadStatus(response.status)
            return _save_body(response, target, budget, limits)
    raise BadResponse(TOO_MANY_REDIRECTS)


def send_request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    limits: Limits = CALLBACK,
    schemes: Collection[str] = ("https",),
) -> CallbackResponse:
    """Call another server once and return the beginning of the response. Redirects are not followed.

    ``HttpRequestFailed`` means that there was no response in time, or that the SSRF guard refused the URL.
    """
    budget = CallBudget.start(limits.total_seconds)
    with _exchange(method, _check_url(url, schemes), budget, limits, body=body, headers=headers) as response:
        content = bytearray()
        for chunk in _iterate_body(response, budget):
            content += chunk
            if len(content) > limits.max_bytes:
                break
        truncated = len(content) > limits.max_bytes
        return CallbackResponse(response.status, response.headers, bytes(content[: limits.max_bytes]), truncated)


def _check_url(url: str, schemes: Collection[str]) -> Target:
    try:
        return check_url(url, schemes=schemes)
    except AddressRefused:
        raise HttpRequestRefused(ADDRESS_NOT_ALLOWED) from None
    except UrlRefused as error:
        raise HttpRequestRefused(_REFUSED(refusal=as_message(str(error)))) from None


@contextmanager
def _exchange(
    method: str,
    target: Target,
    budget: CallBudget,
    limits: Limits,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[HTTPResponse]:
    """Send a request and yield the response before the body is read. The connection closes after the block."""
    connection = create_connection(target, budget, limits.connect_seconds)
    default_headers = {"User-Agent": "Backoffice", "Accept-Encoding": "identity", "Connection": "close"}
    budget.room = HEADER_BYTES
    try:
        with _convert_errors():
            connection.request(
                method,
                target.path,
                body=body,
                headers={**default_headers, **(headers or {})},
                preload_content=False,
                decode_content=False,
            )
            response = connection.getresponse()
        try:
            yield response
        finally:
            response.close()
    finally:
        connection.close()


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert network errors and errors from HTTP libraries to ``HttpRequestFailed``."""
    try:
        yield
    except AddressRefused:
        raise HttpRequestRefused(ADDRESS_NOT_ALLOWED) from None
    except socket.gaierror as error:
        raise Unreachable(HOST_NOT_FOUND) from error
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(INVALID_CERTIFICATE) from error
    except TimeoutError as error:
        raise TimedOut from error
    except (HTTPError, HTTPException) as error:  # urllib3 wraps socket errors that occur in the body
        raise BadResponse(INVALID_RESPONSE) from error
    except OSError as error:
        raise Unreachable(CONNECTION_FAILED) from error


def _iterate_body(response: HTTPResponse, budget: CallBudget) -> Iterator[bytes]:
    """Yield the body in chunks. urllib3's `stream()` is not used, because it accepts chunk-size lines of any length."""
    while True:
        budget.room = MAX_BYTES_PER_CHUNK
        try:
            with _convert_errors():
                chunk = response.read(CHUNK, decode_content=False)
        except ValueError as error:  # The server sent a negative chunk size.
            raise BadResponse(INVALID_RESPONSE) from error
        if not chunk:
            return
        yield chunk


def _save_body(response: HTTPResponse, target: Target, budget: CallBudget, limits: Limits) -> Download:
    """Write the body to a temporary file, which is closed if the download fails."""
    # Reject compressed bodies, which could be decompression bombs. The request asks for an uncompressed body.
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise BadResponse(COMPRESSED_RESPONSE)
    declared = response.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > limits.max_bytes:
        raise TooLarge(limits.max_bytes)
    file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the Download closes it
    try:
        size = 0
        for chunk in _iterate_body(response, budget):
            size += len(chunk)
            if size > limits.max_bytes:
                raise TooLarge(limits.max_bytes)
            file.write(chunk)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Download(file, size, response.headers.get("Content-Type", ""), target.url)


def _get_redirect_url(target: Target, location: str) -> str:
    """Return the URL of a redirect. Non-ASCII bytes are escaped, as in browsers."""
    try:
        escaped = quote(location.strip(), safe=string.punctuation, encoding="latin-1")
        return urldefrag(urljoin(target.url, escaped)).url
    except ValueError as error:
        raise BadResponse(INVALID_REDIRECT) from error
