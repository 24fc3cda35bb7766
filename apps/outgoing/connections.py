"""Connections that go only to vetted addresses and keep to one budget of time and bytes for the whole call."""

import functools
import io
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from django.utils.translation import gettext_noop
from urllib3.connection import HTTPConnection, HTTPSConnection

from apps.outgoing.addresses import Target, resolve
from apps.outgoing.errors import BadAnswer, TimedOut

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    _Socket = socket.socket
else:
    _Socket = object

# The reader takes the body's first bytes along with the headers.
HEADER_BYTES = 32 * 1024 + io.DEFAULT_BUFFER_SIZE


@dataclass(slots=True)
class Meter:
    """What a call may still use up, over all its connections together.

    `ends_at` is in seconds of the monotonic clock; `room` is in bytes that may still be received in the present step.
    """

    ends_at: float
    room: int = 0

    @classmethod
    def start(cls, seconds: float) -> "Meter":
        """A meter for a call that begins now."""
        return cls(time.monotonic() + seconds)

    def seconds_left(self) -> float:
        """The time left, always above zero.

        Raises:
            TimedOut: There is none.
        """
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimedOut
        return left

    def count(self, received: int) -> None:
        """Take received bytes off the room.

        Raises:
            BadAnswer: There is none left.
        """
        self.room -= received
        if self.room < 0:
            raise BadAnswer(gettext_noop("too much besides the body"))


class _Metered(_Socket):
    """Puts the call's meter on every read and write of a socket.

    A socket's own time-out starts anew with each byte that arrives, so a server that drips would never meet it.
    """

    meter: Meter

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0) -> int:
        self.settimeout(self.meter.seconds_left())
        try:
            received = super().recv_into(buffer, nbytes or len(memoryview(buffer)), flags)
        except TimeoutError as error:  # urllib3 would turn it into an error of its own
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
    """A TCP socket under a meter."""


class MeteredTLSSocket(_Metered, ssl.SSLSocket):
    """A TLS socket under a meter."""


class _Guarded(HTTPConnection):
    """Opens its socket through the address guard; `host` stays the name, for the Host header and the certificate."""

    meter: Meter
    connect_seconds: float

    # urllib3 makes every socket here, below the TLS layer and without looking at proxy variables.
    def _new_conn(self) -> socket.socket:
        return open_socket(self.host, self.port, self.meter, self.connect_seconds)

    def connect(self) -> None:
        super().connect()
        cast("_Metered", self.sock).meter = self.meter


class GuardedHTTPConnection(_Guarded):
    """A plain connection to a vetted address."""


class GuardedHTTPSConnection(_Guarded, HTTPSConnection):
    """A TLS connection to a vetted address, with the certificate checked against the name."""


@functools.cache
def tls_context() -> ssl.SSLContext:
    """TLS 1.2 or later, verified against the system's authorities."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = MeteredTLSSocket
    return context


def connection_to(target: Target, meter: Meter, connect_seconds: float) -> HTTPConnection:
    """A connection for one request to the target; it connects when the request is sent."""
    connection: _Guarded
    if target.scheme == "https":
        connection = GuardedHTTPSConnection(target.host, target.port, ssl_context=tls_context())
    else:
        connection = GuardedHTTPConnection(target.host, target.port)
    connection.meter = meter
    connection.connect_seconds = connect_seconds
    return connection


def open_socket(host: str, port: int, meter: Meter, connect_seconds: float) -> socket.socket:
    """Connect to the first of the host's vetted addresses that answers.

    Raises:
        AddressRefused: Any of the host's addresses is private or ours.
        TimedOut: The call's time is used up.
        OSError: The name is unknown (`socket.gaierror`), or no address answers.
    """
    failure = OSError(gettext_noop("no address"))
    for address in resolve(host, port, timeout=meter.seconds_left()):
        opened = MeteredSocket(address.family, socket.SOCK_STREAM)
        opened.meter = meter
        try:
            opened.settimeout(min(connect_seconds, meter.seconds_left()))
            opened.connect(address.sockaddr)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.settimeout(meter.seconds_left())  # holds for the whole TLS handshake
        except OSError as error:
            opened.close()
            failure = error
        except BaseException:
            opened.close()
            raise
        else:
            return opened
    raise failure
