"""The synchronous HTTP client: downloads from given URLs, and callbacks to other servers.

Requests go directly to the host of the URL and contain only what the caller passes: no cookies, no credentials from
the environment, no proxy, no referrer. Downloads send none of the caller's headers, so redirects cannot leak secrets.
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

from django.utils.translation import gettext_noop
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from apps.ground.stored_messages import register_message, translate_stored
from apps.outgoing.errors import BadResponse, BadStatus, HttpRequestRefused, TimedOut, TooLarge, Unreachable
from apps.outgoing.guarded_connections import HEADER_BYTES, CallBudget, create_connection
from apps.outgoing.ssrf_guard import AddressRefused, Target, UrlRefused, check_url

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB
_REFUSED = register_message(gettext_noop("the URL {refusal}"), refusal=translate_stored)
IN_MEMORY = MIB
# Maximum bytes to receive for one chunk of a body. The framing of tiny chunks is larger than their content, but endless
# size lines, trailers or chunks must not fill the memory.
MAX_BYTES_PER_CHUNK = 10 * CHUNK
MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for a call, including redirects.

    Attributes:
        max_bytes: The maximum size of the body; for callbacks, the part of the response that is kept.
        total_seconds: The time limit from the first lookup to the last byte of the body.
        connect_seconds: The time limit for connecting to each address.
    """

    max_bytes: int
    total_seconds: float
    connect_seconds: float = 5.0


CALLBACK = Limits(max_bytes=64 * KIB, total_seconds=5, connect_seconds=1)


@dataclass(frozen=True, slots=True)
class Download:
    """A finished download. As a context manager, the download closes and deletes its file.

    Attributes:
        file: The body, at position 0. A large body is stored on disk.
        size: The size in bytes.
        content_type: The type that the server declares, or "".
        url: The URL after redirects.
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
    """The response to a callback, with any status.

    Attributes:
        status: The status, also of a redirect, because redirects are not followed.
        headers: The headers, with case-insensitive names.
        body: The raw body without decompression, cut at the limit.
        truncated: True if the body was cut.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool

    @property
    def ok(self) -> bool:
        """True if the status is 200 to 299."""
        return 200 <= self.status < 300


def download_file(url: str, *, limits: Limits, schemes: Collection[str] = ("http", "https")) -> Download:
    """Download a URL into a temporary file.

    At most three redirects are followed. Their URLs are checked as well.

    Raises:
        HttpRequestFailed: The download failed; the message is the reason.
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
    raise BadResponse(gettext_noop("too many redirects"))


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

    Raises:
        HttpRequestFailed: No response came in time, or the guard refused the URL. Responses with an error status are
            returned.
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
        raise HttpRequestRefused(gettext_noop("refused address")) from None
    except UrlRefused as error:
        raise HttpRequestRefused(_REFUSED.format(refusal=error)) from None


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
    """Send a request and yield the response before its body is read. The connection closes after the block."""
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
    """Convert errors of the network and its libraries to ``HttpRequestFailed``."""
    try:
        yield
    except AddressRefused:
        raise HttpRequestRefused(gettext_noop("refused address")) from None
    except socket.gaierror as error:
        raise Unreachable(gettext_noop("host not found")) from error
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(gettext_noop("certificate not valid")) from error
    except TimeoutError as error:
        raise TimedOut from error
    except (HTTPError, HTTPException) as error:  # urllib3 wraps socket errors of a body
        raise BadResponse(gettext_noop("broken answer")) from error
    except OSError as error:
        raise Unreachable(gettext_noop("connection failed")) from error


def _iterate_body(response: HTTPResponse, budget: CallBudget) -> Iterator[bytes]:
    """Yield the body in chunks, without urllib3's `stream()`, which accepts chunk size lines of any length."""
    while True:
        budget.room = MAX_BYTES_PER_CHUNK
        try:
            with _convert_errors():
                chunk = response.read(CHUNK, decode_content=False)
        except ValueError as error:  # The server sent a negative chunk size.
            raise BadResponse(gettext_noop("broken answer")) from error
        if not chunk:
            return
        yield chunk


def _save_body(response: HTTPResponse, target: Target, budget: CallBudget, limits: Limits) -> Download:
    """Write the body to a temporary file, which is closed if the download fails."""
    # A compressed body could be a decompression bomb, and the request asks for an uncompressed body.
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise BadResponse(gettext_noop("compressed answer"))
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
    """Return the URL of a redirect. Bytes beyond ASCII are escaped, as in browsers."""
    try:
        escaped = quote(location.strip(), safe=string.punctuation, encoding="latin-1")
        return urldefrag(urljoin(target.url, escaped)).url
    except ValueError as error:
        raise BadResponse(gettext_noop("redirect to an invalid URL")) from error
