"""Servers on loopback that behave as badly as a test asks, and a resolver whose answers a test decides."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable

Behaviour = Callable[[socket.socket], None]
Serve = Callable[..., "Server"]


def say(*parts: bytes) -> Behaviour:
    """Send these bytes and close."""

    def behave(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return behave


def answer(body: bytes = b"", *headers: str, status: str = "200 OK") -> Behaviour:
    """Send a complete answer."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return say(head.encode() + b"\r\n\r\n" + body)


def repeat(start: bytes, part: bytes, pause: float = 0) -> Behaviour:
    """Send a beginning, then the same part until the other side has had enough."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(part)
            time.sleep(pause)

    return behave


class Server:
    """Takes connections one after the other, keeps what each sent, then behaves as told."""

    def __init__(self, behave: Behaviour, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.behave = behave
        self._tls = tls
        self._listening = socket.create_server((host, 0))
        self.port: int = self._listening.getsockname()[1]
        self.url = f"http://{host}:{self.port}/"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            connection.settimeout(10)
            # The client may hang up at any moment; that is what the tests are about.
            with contextlib.suppress(OSError), connection, self._wrapped(connection) as stream:
                self.requests.append(self._request(stream))
                self.behave(stream)

    def _wrapped(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    @staticmethod
    def _request(stream: socket.socket) -> bytes:
        received = b""
        while b"\r\n\r\n" not in received:
            part = stream.recv(65536)
            if not part:
                return received
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while lengths and len(body) < int(lengths[0]):
            body += stream.recv(65536)
        return head + b"\r\n\r\n" + body

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)


class Silence:
    """One port on which IPv4 and IPv6 loopback listen, to prove that nobody came."""

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port: int = self._sockets[0].getsockname()[1]
        self._sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))

    def was_broken(self) -> bool:
        """Whether a connection was made: the kernel completes it without us."""
        for listening in self._sockets:
            listening.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                listening.accept()[0].close()
                return True
        return False

    def close(self) -> None:
        for listening in self._sockets:
            listening.close()


class Names:
    """What names resolve to: per name one list of addresses for each lookup, the last one for all that follow."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.lookups: list[str] = []
        self._real = socket.getaddrinfo

    def __call__(self, host: str, port: int, *args: object, **kwargs: object) -> list[tuple[object, ...]]:
        if host not in self.answers:
            return self._real(host, port, *args, **kwargs)  # type: ignore[arg-type,return-value]
        self.lookups.append(host)
        answers = self.answers[host]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]
