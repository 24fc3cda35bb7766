import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable

Behavior = Callable[[socket.socket], None]
Serve = Callable[..., "Server"]


def send_bytes(*parts: bytes) -> Behavior:
    def behave(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return behave


def send_response(body: bytes = b"", *headers: str, status: str = "200 OK") -> Behavior:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return send_bytes(head.encode() + b"\r\n\r\n" + body)


def send_repeatedly(start: bytes, part: bytes, pause: float = 0) -> Behavior:
    """Return a behavior that sends ``start``, then repeats ``part`` until the client disconnects."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(part)
            time.sleep(pause)

    return behave


class Server:
    """A server that handles one connection at a time: it stores the request and runs ``behave``."""

    def __init__(self, behave: Behavior, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
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
            # Ignore connection errors, because many tests make the client disconnect early.
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


class SilentServer:
    """A server that listens on the IPv4 and IPv6 loopback addresses, to prove that no client connects."""

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port: int = self._sockets[0].getsockname()[1]
        self._sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))

    def was_broken(self) -> bool:
        """Return True if a client connected. The kernel queues connections until they are accepted here."""
        for listening in self._sockets:
            listening.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                listening.accept()[0].close()
                return True
        return False

    def close(self) -> None:
        for listening in self._sockets:
            listening.close()


class FakeResolver:
    """A DNS resolver with scripted responses.

    ``answers`` has one list of addresses per lookup of a host. All later lookups return the last list.
    """

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.lookups: list[str] = []
        self._real = socket.getaddrinfo

    def __call__(self, host: str, port: int, *args: object, **kwargs: object) -> list[tuple[object, ...]]:
        if host not in self.answers:
            return self._real(host, port, *args, **kwargs)  # type: ignore[arg-type,return-value]
        self.lookups.append(host)
        address_lists = self.answers[host]
        addresses = address_lists.pop(0) if len(address_lists) > 1 else address_lists[0]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]
