"""Tests of the web server with raw sockets: malformed, huge and slow requests."""

import http.client
import json
import socket
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from apps.content.models import ScriptTag
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.servers.live import LiveServer
from tests.support.timing import get_time_limit, scale_for_soak

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

TAG = b'{"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}'
TAGS = "/admin/api/2026-10/script_tags.json"


def encode_request(head: str, body: bytes = b"") -> bytes:
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


def connect(server: LiveServer, timeout: float = 60) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=timeout)


def send_bytes(server: LiveServer, head: str, body: bytes = b"") -> bytes:
    """Send bytes and return the server's response. A response that announces the end of its connection must end it."""
    with connect(server) as connection:
        connection.sendall(encode_request(head, body))
        content = b""
        while chunk := connection.recv(65536):
            content += chunk
            if b"\r\n\r\n" in content and b"onnection: close" not in content:
                break
    return content


def send_bytes_and_stop(server: LiveServer, requests: bytes) -> bytes:
    """Send bytes, close the sending side of the connection, and return all that the server sends."""
    with connect(server) as connection:
        connection.sendall(requests)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


def post(server: LiveServer, path: str, body: str | bytes, headers: dict[str, str]) -> tuple[int, str]:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    client.request("POST", path, body, {**headers, "Content-Type": "application/json"})
    response = client.getresponse()
    text = response.read().decode()
    client.close()
    return response.status, text


@pytest.fixture
def token(server_shop: Shop) -> str:
    return factories.make_token(factories.make_installation(server_shop))


def build_head(token: str, *lines: str, method: str = "POST") -> str:
    start = f"{method} {TAGS}?limit=1 HTTP/1.1"
    return "\n".join([start, "Host: 127.0.0.1", f"X-Shopify-Access-Token: {token}", *lines])


def count_script_tags(shop: Shop) -> int:
    with shop_scope(shop):
        return int(ScriptTag.objects.count())


TYPE, LENGTH = "Content-Type: application/json", f"Content-Length: {len(TAG)}"
BODIES: dict[str, tuple[list[str], set[int]]] = {
    "good": ([TYPE, LENGTH], {201}),
    "no chunks": ([TYPE, "Transfer-Encoding: chunked"], {400}),
    "other coding": ([TYPE, "Transfer-Encoding: gzip, chunked"], {400, 411, 501}),
    "zlib": ([f"{TYPE}; charset=zlib", LENGTH], {415}),
    "rot13": ([f"{TYPE}; charset=rot13", LENGTH], {415}),
    "too short": ([TYPE, "Content-Length: 10"], {400}),
    "negative": ([TYPE, "Content-Length: -5"], {400}),
    "both lengths": ([TYPE, "Content-Length: 5", "Transfer-Encoding: chunked"], {400, 411}),
    "5,001 digits": ([TYPE, f"Content-Length: {'9' * 5_001}"], {400}),
    "gzip": ([TYPE, LENGTH, "Content-Encoding: gzip"], {415}),
    "identity": ([TYPE, LENGTH, "Content-Encoding: identity"], {201}),
    "two hosts": ([TYPE, LENGTH, "Host: other.example"], {400}),
    "upgrade": ([TYPE, LENGTH, "Upgrade: h2c", "Connection: Upgrade"], {201, 400}),
}


@pytest.mark.parametrize("case", BODIES)
def test_bodies_on_the_wire(server: LiveServer, server_shop: Shop, token: str, case: str) -> None:
    lines, statuses = BODIES[case]
    body = b"5\r\n{}   \r\n0\r\n\r\n" if case == "other coding" else TAG + b"\r\n" * (case == "no chunks")

    reply = send_bytes(server, build_head(token, *lines), body)

    status = int(reply.split()[1])
    assert status in statuses, reply[:300]
    assert count_script_tags(server_shop) == (1 if status == 201 else 0)


def encode_chunks(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def test_chunked_bodies_are_read_within_the_limits(server: LiveServer, server_shop: Shop, token: str) -> None:
    head = build_head(token, TYPE, "Transfer-Encoding: chunked")
    anonymous = build_head("", TYPE, "Transfer-Encoding: chunked").replace("X-Shopify-Access-Token", "X-Other")

    whole = send_bytes(server, head, encode_chunks(TAG))
    pieces = send_bytes(server, head, encode_chunks(*(TAG[at : at + 7] for at in range(0, len(TAG), 7))))
    empty = send_bytes(server, head, encode_chunks())
    malformed = send_bytes(server, head, encode_chunks(TAG[:-1]))
    too_long = send_bytes(server, head, encode_chunks(*[b" " * 65_536] * 16, TAG))
    without_token = send_bytes(server, anonymous, encode_chunks(*[b" " * 4_096] * 16, TAG))
    with connect(server) as connection:
        last = build_head(token, TYPE, "Transfer-Encoding: chunked", "Connection: close")
        connection.sendall(encode_request(head, encode_chunks(TAG)) + encode_request(last, encode_chunks(TAG)))
        pipelined = connection.makefile("rb").read()

    assert [int(reply.split()[1]) for reply in (whole, pieces, empty, malformed)] == [201, 201, 400, 400]
    assert parse_response(empty)[1] == {"script_tag": "Required parameter missing or invalid"}
    assert parse_response(too_long) == parse_response(without_token) == (413, "Request Entity Too Large")
    assert pipelined.count(b"HTTP/1.1 201 ") == 2
    assert count_script_tags(server_shop) == 4


@pytest.mark.parametrize(
    ("method", "statuses"), [("TRACE", {405}), ("CONNECT", {400, 405}), ("PATCH", {405}), ("OPTIONS", {405})]
)
def test_methods_on_the_wire(server: LiveServer, token: str, method: str, statuses: set[int]) -> None:
    reply = send_bytes(server, build_head(token, "Content-Length: 0", method=method))

    assert reply == b"" or int(reply.split()[1]) in statuses, reply[:300]


def test_headers_and_paths_that_are_too_long_are_refused(server: LiveServer, token: str) -> None:
    long_header = send_bytes(server, build_head(token, f"X-Long: {'x' * 600_000}", method="GET"))
    many_headers = send_bytes(server, build_head(token, *(f"X-H{n}: 1" for n in range(300)), method="GET"))
    long_path = send_bytes(server, f"GET /{'x' * 9_000} HTTP/1.1\nHost: 127.0.0.1")

    assert parse_response(long_header) == parse_response(many_headers) == (431, "Request Header Fields Too Large")
    assert parse_response(long_path) == (414, "Request-URI Too Long")


def parse_response(response: bytes) -> tuple[int, Any]:
    """Return the status of a response and its JSON errors."""
    return int(response.split()[1]), json.loads(response.partition(b"\r\n\r\n")[2])["errors"]


def test_header_names_go_out_as_they_are_written(server: LiveServer, token: str) -> None:
    names = [line.partition(b":")[0] for line in send_bytes(server, build_head(token, method="GET")).split(b"\r\n")[1:]]

    assert {b"X-Shopify-Shop-Api-Call-Limit", b"X-Shopify-API-Version", b"X-Request-Id", b"Content-Type"} <= set(names)


def test_a_body_that_ends_early_is_400_and_not_taken(server: LiveServer, server_shop: Shop, token: str) -> None:
    content = send_bytes_and_stop(server, encode_request(build_head(token, TYPE, "Content-Length: 999"), TAG))

    assert parse_response(content) == (400, "Bad Request")
    assert count_script_tags(server_shop) == 0


def test_a_client_that_stops_after_its_request_is_answered(server: LiveServer, server_shop: Shop, token: str) -> None:
    content = send_bytes_and_stop(server, encode_request(build_head(token, TYPE, LENGTH), TAG))

    assert content.startswith(b"HTTP/1.1 201 ")
    assert count_script_tags(server_shop) == 1


def test_http_2_is_not_spoken(server: LiveServer) -> None:
    reply = send_bytes(server, "PRI * HTTP/2.0", b"SM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")

    assert parse_response(reply) == (400, "Bad Request")


def test_requests_in_one_packet_are_answered_in_turn(server: LiveServer, token: str) -> None:
    first = encode_request(build_head(token, method="GET"))
    other = encode_request("GET /healthz HTTP/1.1\nHost: x\nConnection: close")
    with connect(server) as connection:
        connection.sendall(first + first + other)
        content = connection.makefile("rb").read()

    places = [content.index(b'{"script_tags":'), content.rindex(b'{"script_tags":'), content.index(b'{"status": "ok"}')]
    assert content.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert places == sorted(set(places))


def test_an_expect_header_is_answered(server: LiveServer, token: str) -> None:
    with connect(server) as connection:
        connection.sendall(encode_request(build_head(token, TYPE, LENGTH, "Expect: 100-continue")))
        replies = connection.recv(1000)
        connection.sendall(TAG)
        response = connection.recv(1000)

    assert replies == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert response.startswith(b"HTTP/1.1 201 ")


def test_headers_with_underscores_are_dropped(server: LiveServer, token: str) -> None:
    path = f"GET {TAGS} HTTP/1.1\nHost: 127.0.0.1\n"

    refused = send_bytes(server, f"{path}X_Shopify_Access_Token: {token}")
    beside = send_bytes(server, f"{path}X-Shopify-Access-Token: {token}\nX_Shopify_Access_Token: bko_other")

    assert refused.startswith(b"HTTP/1.1 401 ")
    assert beside.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "path",
    [
        "/admin%2fapi%2f2026-10/script_tags.json",
        "/admin/api%2F2026-10/script_tags.json",
        "/admin/api/2026-10%2fscript_tags.json",
        "//admin/api/2026-10/script_tags.json",
        "/admin//api/2026-10/script_tags.json",
    ],
)
def test_encoded_slashes_are_no_slashes(server: LiveServer, token: str, path: str) -> None:
    reply = send_bytes(server, f"GET {path} HTTP/1.1\nHost: 127.0.0.1\nX-Shopify-Access-Token: {token}")

    assert reply.startswith(b"HTTP/1.1 404 ")
    if b"/admin/api/" in path.replace("//", "/").encode():
        assert parse_response(reply) == (404, "Not Found")


@pytest.mark.parametrize("is_known", [True, False], ids=["token", "no token"])
@pytest.mark.parametrize(
    "path", ["/<>", "/admin/api/2026-10/<>", "/admin/api/2026-10/products/<>.json", "/s/<>/admin/"]
)
def test_angle_brackets_in_a_path_are_no_defect(server: LiveServer, token: str, path: str, is_known: bool) -> None:
    line = f"\nX-Shopify-Access-Token: {token}" if is_known else ""
    reply = send_bytes(server, f"GET {path} HTTP/1.1\nHost: 127.0.0.1{line}")

    assert int(reply.split()[1]) in {302, 401, 404}, reply[:300]


@pytest.mark.parametrize("length", [61 * 1024 * 1024, 200 * 1024 * 1024])
def test_a_client_that_sends_far_too_much_reads_the_reason(server: LiveServer, token: str, length: int) -> None:
    status, text = post(server, TAGS, b"x" * length, {"X-Shopify-Access-Token": token})

    assert (status, json.loads(text)) == (413, {"errors": "Request Entity Too Large"})


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/accounts/login/", {}, 413),
        ("/accounts/login/", {"Cookie": "sessionid=x"}, 413),
        ("/s/shop/admin/", {}, 413),
        ("/s/shop/admin/", {"Cookie": "sessionid=x"}, 302),
        (TAGS, {}, 413),
        (TAGS, {"X-Shopify-Access-Token": "bko_none"}, 401),
    ],
)
def test_anonymous_clients_can_send_little(server: LiveServer, path: str, headers: dict[str, str], status: int) -> None:
    assert post(server, path, b"x" * (64 * 1024 + 1), headers)[0] == status


def test_a_large_body_arrives_whole(server: LiveServer, token: str) -> None:
    body = json.dumps({"product": {"title": "Large", "body_html": "", "images": [{"attachment": "A" * 3_000_000}]}})

    status, text = post(server, "/admin/api/2026-10/products.json", body, {"X-Shopify-Access-Token": token})

    # The error shows that the server has read the whole body: the file is not an image.
    assert (status, "image" in text.lower()) == (422, True)


def test_a_body_that_does_not_come_is_408_in_time(server: LiveServer, server_shop: Shop, token: str) -> None:
    began = time.monotonic()
    reply = send_bytes(server, build_head(token, TYPE, "Content-Length: 100"), b"{")

    assert parse_response(reply) == (408, "Request Timeout")
    assert 7 < time.monotonic() - began < 8 + get_time_limit(4)
    assert count_script_tags(server_shop) == 0


HOST = b"Host: 127.0.0.1\r\n"
# Incomplete requests: partial bodies of different lengths, a partial header, and no data. TOKEN is a valid token.
KINDS = {
    "body": b"POST /admin/api/2026-10/script_tags.json HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\n{",
    "form": b"POST /accounts/login/ HTTP/1.1\r\n" + HOST + b"Content-Length: 60000\r\n\r\nx",
    "large": b"POST /admin/api/2026-10/products.json HTTP/1.1\r\nX-Shopify-Access-Token: TOKEN\r\n"
    + HOST
    + b"Content-Length: 59000000\r\n\r\n{",
    "head": b"GET /healthz HTTP/1.1\r\nHos",
    "nothing": b"",
}


def get_child_pids(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def measure_response(server: LiveServer, path: str, token: str = "") -> float:
    """Send a request over a new connection and return the seconds until a successful response."""
    began = time.monotonic()
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    client.request("GET", path, headers={"X-Shopify-Access-Token": token})
    assert client.getresponse().status == 200
    client.close()
    return time.monotonic() - began


def check_other_clients(server: LiveServer, token: str, sockets: int, seconds: float) -> None:
    """Open silent sockets, and check that other requests succeed for the given time."""
    # Wait for a first response: the socket accepts connections before the web process is forked.
    measure_response(server, "/healthz")
    before = get_child_pids(server.process.pid)
    with ExitStack() as opened:
        silent: dict[str, list[socket.socket]] = {kind: [] for kind in KINDS}
        for number in range(sockets):
            kind = list(KINDS)[number % len(KINDS)]
            connection = opened.enter_context(connect(server))
            connection.sendall(KINDS[kind].replace(b"TOKEN", token.encode()))
            silent[kind].append(connection)

        alive: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            alive.append(measure_response(server, "/healthz"))
            measure_response(server, "/admin/api/2026-10/shop.json", token)
            time.sleep(0.1)

        replies = {kind: {connection.recv(12) for connection in waiting} for kind, waiting in silent.items()}
    timeout = {b"HTTP/1.1 408"}
    assert replies == {"body": timeout, "form": timeout, "large": timeout, "head": timeout, "nothing": {b""}}
    assert statistics.median(alive) < get_time_limit(0.1)
    assert statistics.quantiles(alive, n=20)[-1] < get_time_limit(0.5)
    assert get_child_pids(server.process.pid) == before


def test_silent_clients_do_not_block_others(server: LiveServer, token: str) -> None:
    check_other_clients(server, token, sockets=60, seconds=13)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_five_hundred_silent_clients_do_not_block_others(server: LiveServer, token: str) -> None:
    check_other_clients(server, token, sockets=500, seconds=scale_for_soak(300))


@pytest.mark.soak
def test_a_body_that_drips_ends_within_half_a_minute(server: LiveServer, token: str) -> None:
    with connect(server, timeout=1) as connection:
        connection.sendall(KINDS["large"].replace(b"TOKEN", token.encode()))
        began = time.monotonic()
        content = b""
        while not content and time.monotonic() - began < 120:
            connection.sendall(b" ")
            try:
                content = connection.recv(1000)
            except TimeoutError:
                continue

    assert content.startswith(b"HTTP/1.1 408 ")
    assert 28 < time.monotonic() - began < 30 + get_time_limit(4)
