"""A web process, which accepts connections, checks deadlines and shuts down gracefully."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable

import uvloop

from backoffice.server.connection import IDLE_SECONDS, Connection
from backoffice.server.door import Door
from backoffice.server.reception import base_environ
from backoffice.server.threads import Application, Threads

logger = logging.getLogger("backoffice.server")

SWEEP_SECONDS = 0.25
# The maximum total size of large bodies in a process. Only received bytes count. Otherwise, a client could block others
# by merely announcing large bodies.
RECEIVING_BYTES = 512 * 1024 * 1024
# After the stop signal, idle connections stay open for this many seconds. A request that a client sends during
# this time still gets a response, which announces that the connection will be closed.
STOP_IDLE_SECONDS = 0.5
STOP_SECONDS = 28.0
STOP_ACCEPT_SECONDS = 0.5


class Process:
    """A web process with its connections, its threads and their shared state."""

    def __init__(
        self, listener: socket.socket, application: Application, door: Door, *, threads: int, processes: int, most: int
    ) -> None:
        host, port = listener.getsockname()[:2]
        self._listener = listener
        self._most = most
        self._receiving = 0
        self._connecting: set[asyncio.Task[None]] = set()
        self.door = door
        self.threads = Threads(application, door, threads)
        self.environ = base_environ(host, port, threads=threads, processes=processes)
        self.connections: dict[Connection, None] = {}
        self.idle_seconds = IDLE_SECONDS
        self.closing = False
        self.loop: asyncio.AbstractEventLoop

    def run(self, beat: Callable[[], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then finish accepted requests.

        Args:
            beat: A function that is called several times a second as a heartbeat.
        """
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(beat))

    async def _serve(self, beat: Callable[[], None]) -> None:
        self.loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(number, stop.set)
        self.threads.start()
        self._listen()
        while not stop.is_set():
            beat()
            self._sweep()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), SWEEP_SECONDS)
        await self._stop(beat)

    async def _stop(self, beat: Callable[[], None]) -> None:
        self.closing = self.threads.stopping = True
        self.idle_seconds = STOP_IDLE_SECONDS
        # Accept all waiting connections now, because the kernel has already completed their handshakes.
        until = self.loop.time() + STOP_ACCEPT_SECONDS
        while self._accept() and self.loop.time() < until:
            pass
        self.loop.remove_reader(self._listener)
        self._listener.close()
        await asyncio.gather(*self._connecting)
        until = self.loop.time() + STOP_SECONDS
        for connection in self.connections:
            connection.hurry(STOP_IDLE_SECONDS)
        while self.connections and self.loop.time() < until:
            beat()
            await asyncio.sleep(0.05)
            self._sweep()
        for connection in list(self.connections):
            connection.abort()
        await asyncio.to_thread(self.threads.stop, 1.0)

    def _listen(self) -> None:
        self.loop.add_reader(self._listener, self._accept)

    def _accept(self) -> bool:
        """Accept a connection from the shared socket. Return False if no connection was waiting."""
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError:
            logger.exception("Accepting a connection failed")
            self.loop.remove_reader(self._listener)
            self.loop.call_later(1, self._listen)
            return False
        if len(self.connections) >= self._most:
            self._drop_oldest_connection()
        accepted.setblocking(False)
        task = self.loop.create_task(self._connect(accepted))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        return True

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: Connection(self), accepted)
        except OSError:
            accepted.close()

    def _drop_oldest_connection(self) -> None:
        """Close the oldest connection without a request in progress."""
        for connection in self.connections:
            if not connection.is_working:
                connection.abort()
                return

    def _sweep(self) -> None:
        now = self.loop.time()
        for connection in [connection for connection in self.connections if connection.deadline < now]:
            connection.expire()

    def reserve(self, size: int) -> bool:
        """Count received bytes of a large body. Return False if the limit of the process is reached."""
        if self._receiving + size > RECEIVING_BYTES:
            return False
        self._receiving += size
        return True

    def give_back(self, size: int) -> None:
        """Subtract the bytes of a body that has been released."""
        self._receiving -= size
