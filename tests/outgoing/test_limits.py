import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from apps.core.http.errors import BadResponse, HttpRequestFailed, TimedOut, TooLarge
from apps.core.http.sync_client import Limits, download_file, send_request
from tests.support.servers.http import Behavior, Serve, SilentServer, send_bytes, send_repeatedly, send_response
from tests.support.timing import get_time_limit

pytestmark = pytest.mark.usefixtures("allow_loopback")

MIB = 1024 * 1024
BRIEF = Limits(max_bytes=2 * MIB, total_seconds=0.3, connect_seconds=0.2)
AMPLE = Limits(max_bytes=2 * MIB, total_seconds=5, connect_seconds=1)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

CALLS = [
    pytest.param(lambda url, limits: download_file(url, limits=limits), id="fetch"),
    pytest.param(lambda url, limits: send_request("POST", url, body=b"{}", limits=limits), id="request"),
]
Call = Callable[[str, Limits], object]


@contextmanager
def cut_in_time() -> Iterator[None]:
    began = time.monotonic()
    with pytest.raises(TimedOut, match=r"^timed out$"):
        yield
    assert time.monotonic() - began < BRIEF.total_seconds + get_time_limit(0.6)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param(send_repeatedly(b"", b"H", pause=0.05), id="status line"),
        pytest.param(send_repeatedly(OK + b"X: ", b"a", pause=0.05), id="headers"),
        pytest.param(send_repeatedly(OK + b"\r\n", b"a", pause=0.05), id="body"),
        pytest.param(send_repeatedly(CHUNKED, b"1\r\na\r\n", pause=0.05), id="chunks"),
        pytest.param(send_repeatedly(CHUNKED, b"0", pause=0.05), id="chunk size"),
        pytest.param(send_repeatedly(CHUNKED + b"0\r\n", b"T: a\r\n", pause=0.05), id="trailers"),
        pytest.param(send_repeatedly(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05), id="interim answers"),
        pytest.param(lambda stream: stream.recv(1), id="silence"),
        pytest.param(lambda stream: (stream.sendall(OK + b"\r\nab"), stream.recv(1)), id="silence in the body"),
    ],
)
def test_a_slow_server_is_cut_at_the_total_time(run_server: Serve, call: Call, behavior: Behavior) -> None:
    server = run_server(behavior)

    with cut_in_time():
        call(server.url, BRIEF)


def test_redirects_share_one_budget_of_time(run_server: Serve) -> None:
    def behave(stream: socket.socket) -> None:
        time.sleep(1.2)
        send_response(b"", "Location: /", status="302 Found")(stream)

    server = run_server(behave)

    with pytest.raises(TimedOut):
        download_file(server.url, limits=Limits(max_bytes=2 * MIB, total_seconds=2, connect_seconds=1))

    assert len(server.requests) == 2


def test_a_server_that_does_not_read_is_cut(silent_server: SilentServer) -> None:
    with cut_in_time():
        send_request("POST", f"http://127.0.0.1:{silent_server.port}/", body=b"x" * 32 * MIB, limits=BRIEF)


def test_a_lookup_that_never_ends_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: over.wait(10) or [])

    with cut_in_time():
        download_file("https://slow.example/", limits=BRIEF)

    over.set()


def test_a_handshake_that_never_ends_is_cut(silent_server: SilentServer) -> None:
    with cut_in_time():
        send_request("POST", f"https://127.0.0.1:{silent_server.port}/", limits=BRIEF)


@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param(send_repeatedly(OK + b"\r\n", b"a" * 65536), id="endless"),
        pytest.param(send_repeatedly(CHUNKED, b"10000\r\n" + b"a" * 65536 + b"\r\n"), id="endless chunks"),
        pytest.param(send_repeatedly(CHUNKED + b"FFFFFFFFFF\r\n", b"a" * 65536), id="endless chunk"),
        pytest.param(send_bytes(OK + b"Content-Length: 2097153\r\n\r\n"), id="declared"),
        pytest.param(send_bytes(OK + b"Content-Length: 99999999999999999999\r\n\r\n"), id="declared beyond reason"),
    ],
)
def test_fetch_stops_at_the_size_limit(run_server: Serve, behavior: Behavior) -> None:
    server = run_server(behavior)

    with pytest.raises(TooLarge, match=r"^larger than 2 MB$"):
        download_file(server.url, limits=AMPLE)


@pytest.mark.parametrize(("size", "fits"), [(2 * MIB, True), (2 * MIB + 1, False)])
def test_fetch_takes_a_body_exactly_at_the_limit(run_server: Serve, size: int, fits: bool) -> None:
    server = run_server(send_bytes(OK + b"\r\n" + b"a" * size))

    if fits:
        with download_file(server.url, limits=AMPLE) as download:
            assert download.size == size
    else:
        with pytest.raises(TooLarge):
            download_file(server.url, limits=AMPLE)


def test_fetch_takes_a_body_in_tiny_chunks(run_server: Serve) -> None:
    server = run_server(send_bytes(CHUNKED + b"1\r\na\r\n" * 200_000 + b"0\r\n\r\n"))

    with download_file(server.url, limits=AMPLE) as download:
        assert download.size == 200_000


def test_fetch_refuses_a_compressed_body_unread(run_server: Serve) -> None:
    bomb = gzip.compress(b"\0" * 64 * MIB)
    server = run_server(send_response(bomb, "Content-Encoding: gzip"))

    with pytest.raises(BadResponse, match=r"^compressed response$"):
        download_file(server.url, limits=AMPLE)


def test_request_keeps_a_compressed_answer_as_it_came(run_server: Serve) -> None:
    bomb = gzip.compress(b"\0" * 16 * MIB)
    server = run_server(send_response(bomb, "Content-Encoding: gzip"))

    received = send_request("GET", server.url)

    assert received.body == bomb[:65536]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param(
            send_bytes(OK + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(10_000))), id="10 MB headers"
        ),
        pytest.param(send_repeatedly(OK + b"X: ", b"a" * 65536), id="endless header"),
        pytest.param(send_repeatedly(b"", b"a" * 65536), id="endless status line"),
        pytest.param(send_repeatedly(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="endless interim answers"),
        pytest.param(send_repeatedly(CHUNKED, b"0" * 65536), id="endless chunk size"),
        pytest.param(send_repeatedly(CHUNKED + b"1;", b"a" * 65536), id="endless chunk extension"),
        pytest.param(send_repeatedly(CHUNKED + b"-1\r\n", b"a" * 65536), id="negative chunk without end"),
        pytest.param(send_repeatedly(CHUNKED + b"0\r\n", b"T: a\r\n" * 10_000), id="endless trailers"),
        pytest.param(send_bytes(CHUNKED + b"-5\r\nabcde\r\n0\r\n\r\n"), id="negative chunk"),
        pytest.param(send_bytes(b"SSH-2.0-OpenSSH\r\n"), id="not HTTP"),
        pytest.param(send_bytes(b"\xff" * 100 + b"\r\n\r\n"), id="binary"),
        pytest.param(send_bytes(b""), id="nothing"),
        pytest.param(send_bytes(OK + b"Content-Length: 10\r\n\r\nabc"), id="shorter than declared"),
        pytest.param(send_bytes(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), id="two lengths"),
    ],
)
def test_broken_responses_do_not_fill_the_memory(run_server: Serve, call: Call, behavior: Behavior) -> None:
    server = run_server(behavior)
    tracemalloc.start()

    try:
        with pytest.raises(HttpRequestFailed) as failure:
            call(server.url, AMPLE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert isinstance(failure.value, BadResponse)
    assert len(str(failure.value)) < 40
    assert peak < 3 * MIB


@pytest.mark.parametrize(
    ("limit", "words"),
    [(20 * MIB, "larger than 20 MB"), (64 * 1024, "larger than 64 KB"), (1000, "larger than 1000 bytes")],
)
def test_the_error_for_large_responses_names_the_limit_in_a_round_unit(limit: int, words: str) -> None:
    assert str(TooLarge(limit)) == words
