import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

_CHUNK = 64 * 1024
_BYTES_PER_SECOND = 1024


class Fault(Enum):
    NONE = "none"
    SLOW = "a second late"
    RESET = "reset"
    SILENT = "acknowledged and kept"
    NARROW = "a kilobyte per second"


class Proxy:
    """A proxy in its own thread that forwards ``127.0.0.1:port`` to another port of the same machine."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.fault = Fault.NONE
        self._target = target
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._ready = threading.Event()
        self._over = asyncio.Event()

    def suffer(self, fault: Fault) -> None:
        """Start a fault. A reset also ends open connections."""
        self.fault = fault
        if fault is Fault.RESET:
            self._loop.call_soon_threadsafe(self._reset_all)

    def heal(self) -> None:
        """End the fault. Connections that lost bytes while the network was silent are reset."""
        was_silent = self.fault is Fault.SILENT
        self.fault = Fault.NONE
        if was_silent:
            self._loop.call_soon_threadsafe(self._reset_all)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with await asyncio.start_server(self._accept, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._over.wait()
            self._reset_all()
            await asyncio.sleep(0.1)

    def _reset_all(self) -> None:
        for pair in tuple(self._pairs):
            for writer in pair:
                writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault is Fault.RESET:
            writer.transport.abort()
            return
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._target)
        pair = (writer, to_writer)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._forward(reader, to_writer), self._forward(to_reader, writer))
        finally:
            self._pairs.discard(pair)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(_CHUNK):
                await self._pass_on(chunk, writer)
        except OSError:
            pass
        finally:
            writer.close()

    async def _pass_on(self, chunk: bytes, writer: asyncio.StreamWriter) -> None:
        if self.fault is Fault.SILENT:
            return
        if self.fault is Fault.SLOW:
            await asyncio.sleep(1)
        while self.fault is Fault.NARROW and chunk:
            writer.write(chunk[: _BYTES_PER_SECOND // 10])
            chunk = chunk[_BYTES_PER_SECOND // 10 :]
            await asyncio.sleep(0.1)
        writer.write(chunk)
        await writer.drain()

    @contextmanager
    def running(self) -> "Iterator[Proxy]":
        self._thread.start()
        assert self._ready.wait(10)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(10)
