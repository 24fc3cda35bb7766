import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pytest_django import Settings

from apps.core.http import async_client
from apps.core.http.async_client import MAX_BODY_BYTES, AsyncClient, Progress, Reply
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.ssrf_guard import Target
from tests.support.servers.http import (
    Behavior,
    FakeResolver,
    Serve,
    SilentServer,
    send_bytes,
    send_repeatedly,
    send_response,
)
from tests.support.timing import get_time_limit

Calls = list[tuple[Reply | HttpRequestFailed, Progress]]


def post_concurrently(*urls: str, times: int = 1) -> Calls:
    async def run() -> Calls:
        async with AsyncClient() as client:
            return [
                result
                for calls in await asyncio.gather(*(post_several(client, url) for url in urls))
                for result in calls
            ]

    async def post_several(client: AsyncClient, url: str) -> Calls:
        return [await post_once(client, url) for _ in range(times)]

    async def post_once(client: AsyncClient, url: str) -> tuple[Reply | HttpRequestFailed, Progress]:
        progress = Progress(time.monotonic())
        try:
            return await client.post(url, body=b"x" * 2000, headers={"X-Test": "1"}, progress=progress), progress
        except HttpRequestFailed as error:
            return error, progress

    # Use a new thread, because a browser from another test may have left an event loop running in this thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, run()).result()


def describe_outcome(result: Reply | HttpRequestFailed) -> str:
    return str(result.status) if isinstance(result, Reply) else result.code


def wait_silently(seconds: float) -> Behavior:
    return lambda connection: time.sleep(seconds)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
# For each server, its behavior and the expected outcome.
RECEIVERS: dict[str, tuple[Behavior, str]] = {
    "well": (send_response(b"ok"), "200"),
    "no content": (send_bytes(b"HTTP/1.1 204 No Content\r\n\r\n"), "204"),
    "error": (send_response(b"", status="500 Oops"), "500"),
    "redirect": (send_response(b"", "Location: http://169.254.169.254/", status="302 Found"), "302"),
    "old": (send_bytes(b"HTTP/1.0 200 OK\r\n\r\nhello"), "200"),
    "packed": (send_response(b"\x1f\x8b not gzip at all", "Content-Encoding: gzip"), "200"),
    "endless": (send_repeatedly(CHUNKED, b"400\r\n" + b"a" * 1024 + b"\r\n"), "200"),
    "interim": (
        send_bytes(b"HTTP/1.1 100 Continue\r\n\r\n" * 5000 + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        "200",
    ),
    "silent": (wait_silently(8), "timeout"),
    "drips its body": (send_repeatedly(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"a", 0.5), "timeout"),
    "drips its head": (send_repeatedly(b"HTTP/1.1 200 OK\r\n", b"X", 0.5), "timeout"),
    "hangs up": (send_bytes(b""), "reset"),
    "no HTTP": (send_bytes(b"220 mail.example ESMTP\r\n"), "bad_answer"),
    "a long header": (send_bytes(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"), "bad_answer"),
    "many headers": (send_bytes(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 1000 + b"\r\n"), "bad_answer"),
    "says more than it sends": (send_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nhello"), "bad_answer"),
}  # fmt: skip


def test_time_and_size_of_each_response_are_limited(run_server: Serve, allow_loopback: None) -> None:
    servers = {name: run_server(behave) for name, (behave, _) in RECEIVERS.items()}
    began = time.monotonic()

    calls = post_concurrently(*(server.url for server in servers.values()))

    assert time.monotonic() - began < get_time_limit(6.5)
    outcomes = {name: describe_outcome(result) for name, (result, _) in zip(servers, calls, strict=True)}
    assert outcomes == {name: expected for name, (_, expected) in RECEIVERS.items()}
    assert all((progress.ended or 60) < get_time_limit(5.5) and progress.peer == "127.0.0.1" for _, progress in calls)
    assert all(len(result.body) <= MAX_BODY_BYTES for result, _ in calls if isinstance(result, Reply))
    bodies = [request.partition(b"\r\n\r\n")[2] for server in servers.values() for request in server.requests]
    assert set(bodies) == {b"x" * 2000}


def test_connections_are_reused_and_a_stale_connection_is_no_failure(run_server: Serve, allow_loopback: None) -> None:
    server = run_server(send_response(b"ok"))

    calls = post_concurrently(server.url, times=5)

    assert [describe_outcome(result) for result, _ in calls] == ["200"] * 5
    assert len(server.requests) == 5


def test_a_closed_port_is_unreachable(allow_loopback: None) -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        ((result, progress),) = post_concurrently(f"http://127.0.0.1:{bound_socket.getsockname()[1]}/")

    assert describe_outcome(result) == "unreachable"
    assert (progress.ended or 60) < get_time_limit(1.5)


LITERALS = (
    "https://127.0.0.1:{port}/", "https://127.1:{port}/", "https://2130706433:{port}/", "https://0x7f.1:{port}/",
    "https://[::1]:{port}/", "https://[::ffff:127.0.0.1]:{port}/", "https://[64:ff9b::7f00:1]:{port}/",
    "https://localhost:{port}/", "https://127.0.0.1.:{port}/", "https://①②⑦.0.0.1:{port}/",
)  # fmt: skip


def test_private_addresses_are_refused_in_every_spelling_and_never_connected(silent_server: SilentServer) -> None:
    calls = post_concurrently(*(url.format(port=silent_server.port) for url in LITERALS))

    assert {describe_outcome(result) for result, _ in calls} == {"blocked_address"}
    assert {str(result) for result, _ in calls} == {"address not allowed"}
    assert not silent_server.was_broken()


def test_addresses_of_a_host_name_are_vetted(silent_server: SilentServer, fake_resolver: FakeResolver) -> None:
    fake_resolver.answers["inner.example"] = [["10.0.0.1"]]
    fake_resolver.answers["both.example"] = [["93.184.216.34", "127.0.0.1"]]
    fake_resolver.answers["mapped.example"] = [["::ffff:127.0.0.1"]]
    urls = [f"https://{name}.example:{silent_server.port}/" for name in ("inner", "both", "mapped")]

    calls = post_concurrently(*urls)

    assert {describe_outcome(result) for result, _ in calls} == {"blocked_address"}
    assert not silent_server.was_broken()


def test_the_socket_is_guarded_after_the_url_check(
    silent_server: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bypass the URL check. A literal IP address needs no DNS lookup, so only the check at the socket remains."""
    target = Target("http", "127.0.0.1", silent_server.port, "/")
    monkeypatch.setattr(async_client, "_check_url", lambda url: target)

    ((result, _),) = post_concurrently("https://whatever.example/")

    assert describe_outcome(result) == "blocked_address"
    assert not silent_server.was_broken()


def test_a_private_address_is_reached_without_guard(
    silent_server: SilentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target("http", "127.0.0.1", silent_server.port, "/")
    monkeypatch.setattr(async_client, "_check_url", lambda url: target)
    monkeypatch.setattr(async_client, "check_addresses", lambda host, records: None)
    monkeypatch.setattr(async_client, "TOTAL_SECONDS", 2.0)

    post_concurrently("https://whatever.example/")

    assert silent_server.was_broken()


def test_a_name_that_moves_after_it_was_saved_gains_nothing(
    run_server: Serve, fake_resolver: FakeResolver, settings: Settings, silent_server: SilentServer
) -> None:
    settings.OUTGOING_ALLOW = ["good.example"]
    server = run_server(send_response(b"ok"))
    fake_resolver.answers["good.example"] = [["127.0.0.1"]]
    fake_resolver.answers["moved.example"] = [["127.0.0.1"]]

    good, moved = post_concurrently(
        f"http://good.example:{server.port}/", f"https://moved.example:{silent_server.port}/"
    )

    assert (describe_outcome(good[0]), describe_outcome(moved[0])) == ("200", "blocked_address")
