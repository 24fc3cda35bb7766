"""The synchronous client: downloads that somebody else's URL names, and calls to other people's servers.

It sends nothing but what it is given, to the one host of the URL: no cookies, no credentials from the environment, no
proxy, no referrer. A download sends no headers of the caller's at all, so a redirect cannot carry a secret away.
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

from apps.ground.retelling import retold, tells
from apps.outgoing.addresses import AddressRefused, Target, UrlRefused, vet_url
from apps.outgoing.connections import HEADER_BYTES, Meter, connection_to
from apps.outgoing.errors import BadAnswer, BadStatus, FetchRefused, TimedOut, TooLarge, Unreachable

KIB = 1024
MIB = 1024 * KIB
CHUNK = 64 * KIB
_REFUSED = tells(gettext_noop("the URL {refusal}"), refusal=retold)
IN_MEMORY = MIB
# What may be received for one chunk of a body: the framing of tiny pieces weighs more than they do, yet a size line, a
# trailer or a piece without end must not fill the memory.
CHUNK_ROOM = 10 * CHUNK
MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may cost, redirects included.

    Attributes:
        max_bytes: The largest body; of a callback's answer, as much as is kept.
        total_seconds: From the first lookup to the body's last byte.
        connect_seconds: For each address that is tried.
    """

    max_bytes: int
    total_seconds: float
    connect_seconds: float = 5.0


CALLBACK = Limits(max_bytes=64 * KIB, total_seconds=5, connect_seconds=1)


@dataclass(frozen=True, slots=True)
class Download:
    """A finished download; a context manager that closes, and so removes, its file.

    Attributes:
        file: The body, at its start; on disk where it is large.
        size: Its length in bytes.
        content_type: As the server claims, "" if it does not.
        url: Where it came from after redirects.
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
class Answer:
    """The answer to a callback, whatever its status.

    Attributes:
        status: Only 200 to 299 are a success; a redirect is not followed.
        headers: By name in any case.
        body: As sent, never decompressed, cut at the limit.
        truncated: Whether more was sent than is kept.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool

    @property
    def ok(self) -> bool:
        """Whether the receiver took the call."""
        return 200 <= self.status < 300


def fetch(url: str, *, limits: Limits, schemes: Collection[str] = ("http", "https")) -> Download:
    """Download what a URL names into a temporary file, over at most three redirects, each vetted anew.

    Raises:
        FetchFailed: It could not be had; the message is the reason.
    """
    meter = Meter.start(limits.total_seconds)
    for _ in range(MAX_REDIRECTS + 1):
        target = _vetted(url, schemes)
        with _exchange("GET", target, meter, limits) as response:
            location = response.headers.get("Location")
            if response.status in REDIRECTS and location:
                url = _next_url(target, location)
                continue
            if response.status != 200:
                raise BadStatus(response.status)
            return _stored(response, target, meter, limits)
    raise BadAnswer(gettext_noop("too many redirects"))


def request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    limits: Limits = CALLBACK,
    schemes: Collection[str] = ("https",),
) -> Answer:
    """Call somebody else's server once and keep the beginning of its answer; redirects are not followed.

    Raises:
        FetchFailed: No answer came in time, or the guard refused; a bad status is an answer.
    """
    meter = Meter.start(limits.total_seconds)
    with _exchange(method, _vetted(url, schemes), meter, limits, body=body, headers=headers) as response:
        kept = bytearray()
        for chunk in _chunks(response, meter):
            kept += chunk
            if len(kept) > limits.max_bytes:
                break
        truncated = len(kept) > limits.max_bytes
        return Answer(response.status, response.headers, bytes(kept[: limits.max_bytes]), truncated)


def _vetted(url: str, schemes: Collection[str]) -> Target:
    try:
        return vet_url(url, schemes=schemes)
    except AddressRefused:
        raise FetchRefused(gettext_noop("refused address")) from None
    except UrlRefused as error:
        raise FetchRefused(_REFUSED.format(refusal=error)) from None


@contextmanager
def _exchange(
    method: str,
    target: Target,
    meter: Meter,
    limits: Limits,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[HTTPResponse]:
    """Send one request; the answer's headers are read, its body is not, and after the block the connection is gone."""
    connection = connection_to(target, meter, limits.connect_seconds)
    ours = {"User-Agent": "Backoffice", "Accept-Encoding": "identity", "Connection": "close"}
    meter.room = HEADER_BYTES
    try:
        with _reasons():
            connection.request(
                method,
                target.path,
                body=body,
                headers={**ours, **(headers or {})},
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
def _reasons() -> Iterator[None]:
    """Turn what the network and its libraries raise into our reasons."""
    try:
        yield
    except AddressRefused:
        raise FetchRefused(gettext_noop("refused address")) from None
    except socket.gaierror as error:
        raise Unreachable(gettext_noop("host not found")) from error
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(gettext_noop("certificate not valid")) from error
    except TimeoutError as error:
        raise TimedOut from error
    except (HTTPError, HTTPException) as error:  # urllib3 wraps the socket errors of a body
        raise BadAnswer(gettext_noop("broken answer")) from error
    except OSError as error:
        raise Unreachable(gettext_noop("connection failed")) from error


def _chunks(response: HTTPResponse, meter: Meter) -> Iterator[bytes]:
    """The body as it comes, without `stream()`, which takes a chunk's size line of any length."""
    while True:
        meter.room = CHUNK_ROOM
        try:
            with _reasons():
                chunk = response.read(CHUNK, decode_content=False)
        except ValueError as error:  # a negative size
            raise BadAnswer(gettext_noop("broken answer")) from error
        if not chunk:
            return
        yield chunk


def _stored(response: HTTPResponse, target: Target, meter: Meter, limits: Limits) -> Download:
    """The body in a temporary file; closed again if the download fails."""
    # A compressed body could be a bomb; we asked for none.
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise BadAnswer(gettext_noop("compressed answer"))
    declared = response.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > limits.max_bytes:
        raise TooLarge(limits.max_bytes)
    file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the Download closes it
    try:
        size = 0
        for chunk in _chunks(response, meter):
            size += len(chunk)
            if size > limits.max_bytes:
                raise TooLarge(limits.max_bytes)
            file.write(chunk)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Download(file, size, response.headers.get("Content-Type", ""), target.url)


def _next_url(target: Target, location: str) -> str:
    """Where a redirect points; bytes beyond ASCII are escaped, as browsers do."""
    try:
        escaped = quote(location.strip(), safe=string.punctuation, encoding="latin-1")
        return urldefrag(urljoin(target.url, escaped)).url
    except ValueError as error:
        raise BadAnswer(gettext_noop("redirect to an invalid URL")) from error
