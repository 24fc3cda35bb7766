"""Connections to checked addresses, with one time and size limit for the whole call."""

import functools
import io
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from urllib3.connection import HTTPConnection, HTTPSConnection

from apps.core.http.errors import NO_ADDRESS, TOO_MUCH_DATA, BadResponse, TimedOut
from apps.core.http.ssrf_guard import Target, resolve_host

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    _Socket = socket.socket
else:
    _Socket = object

# The limit includes one read buffer, because the first bytes of the body are received together with the headers.
HEADER_BYTES = 32 * 1024 + io.DEFAULT_BUFFER_SIZE


@dataclass(slots=True)
class CallBudget:
    """The remaining time and bytes of a call, shared by all connections of the call.

    `ends_at` is a monotonic time in seconds. `room` is the number of bytes that the current step may still receive.
    """

    ends_at: float
    room: int = 0

    @classmethod
    def start(cls, seconds: float) -> "CallBudget":
        return cls(time.monotonic() + seconds)

    def seconds_left(self) -> float:
        """Return the remaining time, which is always more than zero. Otherwise raise ``TimedOut``."""
        remaining = self.ends_at - time.monotonic()
        if remaining <= 0:
            raise TimedOut
        return remaining

    def count(self, received: int) -> None:
        """Subtract received bytes from the budget. Raise ``BadResponse`` if the response is larger."""
        self.room -= received
        if self.room < 0:
            raise BadResponse(TOO_MUCH_DATA)


class _Metered(_Socket):
    """Applies the call's budget to all reads and writes of a socket.

    The socket timeout alone is not enough. It restarts with each received byte, so a slow server would never exceed it.
    """

    meter: CallBudget

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0) -> int:
        self.settimeout(self.meter.seconds_left())
        try:
            received = super().recv_into(buffer, nbytes or len(memoryview(buffer)), flags)
        except TimeoutError as error:  # Raise TimedOut here, because urllib3 would convert TimeoutError.
            raise TimedOut from error
        self.meter.count(received)
        return received

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
        self.settimeout(self.meter.seconds_left())
        return super().send(data, flags)

    def sendall(self, data: "ReadableBuffer", flags: int = 0) -> None:
        self.settimeout(self.meter.seconds_left())
        super().sendall(data, flags)


class MeteredSocket(_Metered, socket.socket):
    """A TCP socket with a time and size budget."""


class MeteredTLSSocket(_Metered, ssl.SSLSocket):
    """A TLS socket with a time and size budget."""


class _Guarded(HTTPConnection):
    """A connection that opens a socket through the SSRF guard.

    `host` is still the host name, because the Host header and the certificate check need it.
    """

    meter: CallBudget
    connect_seconds: float

    # urllib3 creates all sockets in this method, even for TLS, and even if the environment contains proxy variables.
    def _new_conn(self) -> socket.socket:
        return open_socket(self.host, self.port, self.meter, self.connect_seconds)

    def connect(self) -> None:
        super().connect()
        cast("_Metered", self.sock).meter = self.meter


class GuardedHTTPConnection(_Guarded):
    """A plain HTTP connection to a checked address."""


class GuardedHTTPSConnection(_Guarded, HTTPSConnection):
    """A TLS connection to a checked address. The certificate is checked against the host name."""


@functools.cache
def create_tls_context() -> ssl.SSLContext:
    """Return a context for TLS 1.2 or later that verifies certificates with the system's CA certificates."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = MeteredTLSSocket
    return context


def create_connection(target: Target, budget: CallBudget, connect_seconds: float) -> HTTPConnection:
    """Return a connection for one request. The connection opens when the request is sent."""
    connection: _Guarded
    if target.scheme == "https":
        connection = GuardedHTTPSConnection(target.host, target.port, ssl_context=create_tls_context())
    else:
        connection = GuardedHTTPConnection(target.host, target.port)
    connection.meter = budget
    connection.connect_seconds = connect_seconds
    return connection


def open_socket(host: str, port: int, budget: CallBudget, connect_seconds: float) -> socket.socket:
    """Connect to the first checked address of the host that accepts a connection, or raise its last ``OSError``."""
    failure = OSError(NO_ADDRESS)
    for address in resolve_host(host, port, timeout=budget.seconds_left()):
        new_socket = MeteredSocket(address.family, socket.SOCK_STREAM)
        new_socket.meter = budget
        try:
            new_socket.settimeout(min(connect_seconds, budget.seconds_left()))
            new_socket.connect(address.sockaddr)
            new_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            new_socket.settimeout(budget.seconds_left())  # This timeout also limits the TLS handshake.
        except OSError as error:
            new_socket.close()
            failure = error
        except BaseException:
            new_socket.close()
            raise
        else:
            return new_socket
    raise failure
