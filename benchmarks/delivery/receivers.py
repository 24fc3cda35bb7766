"""Test endpoints in a separate process, and the floor, which sends the same requests with aiohttp alone."""

import asyncio
import base64
import functools
import hashlib
import hmac
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

import uvloop

BODY_BYTES = 2048
FLOOR_CALLS = 5_000
FLOOR_AT_ONCE = 50


class SinkProtocol(asyncio.Protocol):
    """Records the arrival time of each request and responds with 200, or never responds."""

    arrived: list[tuple[float, str]] = []

    def __init__(self, *, hangs: bool) -> None:
        self.hangs, self.buffer = hangs, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length :]
            path = head.split(b" ", 2)[1].decode()
            SinkProtocol.arrived.append((time.time(), path))
            if not self.hangs:
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def run_receivers(pipe: Connection, healthy: int, hanging: int) -> None:
    """Listen on one port per endpoint, and respond to the commands ``count``, ``take`` and ``stop``."""

    async def listen() -> None:
        loop = asyncio.get_running_loop()
        servers = [
            await loop.create_server(functools.partial(SinkProtocol, hangs=hangs), "127.0.0.1", 0)
            for hangs in [False] * healthy + [True] * hanging
        ]
        pipe.send([server.sockets[0].getsockname()[1] for server in servers])
        while True:
            while not pipe.poll():
                await asyncio.sleep(0.005)
            question = pipe.recv()
            if question == "stop":
                return
            count = len(SinkProtocol.arrived) if question == "count" else SinkProtocol.arrived
            pipe.send(count)
            if question == "take":
                SinkProtocol.arrived = []

    uvloop.run(listen())


class Receivers:
    """Endpoints in a separate process. The last ``hanging`` ports never respond."""

    def __init__(self, healthy: int, hanging: int = 0) -> None:
        self.pipe, there = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=run_receivers, args=(there, healthy, hanging), daemon=True)
        self.process.start()
        self.ports: list[int] = self.pipe.recv()
        self.healthy = set(self.ports[:healthy])

    def ask(self, question: str) -> Any:
        self.pipe.send(question)
        return self.pipe.recv()

    def stop(self) -> None:
        self.pipe.send("stop")
        self.process.join()


async def floor(ports: list[int]) -> tuple[float, float]:
    """Send the same signed requests with aiohttp alone; return the rate and the CPU time per request."""
    import aiohttp

    body, key = b"x" * BODY_BYTES, b"k" * 40
    remaining = iter(range(FLOOR_CALLS))
    began, used = time.perf_counter(), time.process_time()

    async def work(session: aiohttp.ClientSession, port: int) -> None:
        for _ in remaining:
            signature = base64.b64encode(hmac.digest(key, body, hashlib.sha256)).decode()
            other = base64.b64encode(hmac.digest(key, body, hashlib.sha256)).decode()
            headers = {f"X-Platform-{number}": "0123456789abcdef" for number in range(8)}
            headers |= {"X-Platform-Hmac-Sha256": signature, "webhook-signature": other}
            async with session.post(f"http://127.0.0.1:{port}/floor", data=body, headers=headers) as response:
                await response.read()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=FLOOR_AT_ONCE)) as session:
        await asyncio.gather(*(work(session, ports[number % len(ports)]) for number in range(FLOOR_AT_ONCE)))
    return FLOOR_CALLS / (time.perf_counter() - began), (time.process_time() - used) / FLOOR_CALLS
