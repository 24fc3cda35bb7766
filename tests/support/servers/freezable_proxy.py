"""A TCP proxy that can stop forwarding, like a frozen server that accepts connections but does not respond."""

import socket
import threading
from contextlib import suppress
from typing import Self

_CHUNK = 64 * 1024


class FreezableProxy:
    """Forward connections to a port of this machine. Use as a context manager."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flowing = threading.Event()
        self._flowing.set()
        self._sockets: list[socket.socket] = []

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._flowing.set()
        for end in (self._listener, *self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def freeze(self) -> None:
        self._flowing.clear()

    def thaw(self) -> None:
        self._flowing.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target_port))
                self._sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                self._flowing.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
