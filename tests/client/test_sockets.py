"""Tests of the web server with raw sockets: malformed, huge and slow requests.

See checks A10, B6, B7, B13, B26, B28 and L7 in docs/reliability.md.
"""

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
from tests.support.timing import scale_for_soak

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

TAG = b'{"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}'


def send_bytes(server: LiveServer, head: str, body: bytes = b"", wait: float = 10) -> bytes:
    """Send bytes and return the server's response."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        content = b""
        try:
            while chunk := connection.recv(65536):
                content += chunk
                if b"\r\n\r\n" in content and b"onnection: close" not in content:
                    break
        except TimeoutError:
            return content or b"closed"
    return content


@pytest.fixture
def token(server_shop: Shop) -> str:
    return factories.make_token(factories.make_installation(server_shop))


def build_head(token: str, *lines: str, method: str = "POST") -> str:
    start = f"{method} /admin/api/2026-07/script_tags.json?limit=1 HTTP/1.1"
    return "\n".join([start, "Host: 127.0.0.1", f"X-Shopify-Access-Token: {token}", *lines])


def get_script_tags(shop: Shop) -> int:
    with shop_scope(shop):
        return int(ScriptTag.objects.count())


@pytest.mark.parametrize(
    "case",
    [
        (("Content-Type: application/json", f"Content-Length: {len(TAG)}"), TAG, {201}),
        (("Content-Type: application/json", "Transfer-Encoding: chunked"), b"5\r\n{}   \r\n0\r\n\r\n", {411}),
        (("Content-Type: application/json; charset=zlib", f"Content-Length: {len(TAG)}"), TAG, {415}),
        (("Content-Type: application/json; charset=rot13", f"Content-Length: {len(TAG)}"), TAG, {415}),
        (("Content-Type: application/json", "Content-Length: 10"), TAG, {400}),
        (("Content-Type: application/json", "Content-Length: -5"), TAG, {400}),
        (("Content-Type: application/json", "Content-Length: 5", "Transfer-Encoding: chunked"), TAG, {400, 411}),
        (("Content-Type: application/json", f"Content-Length: {'9' * 5_001}"), TAG, {400}),
        (("Content-Type: application/json", f"Content-Length: {len(TAG)}", "Content-Encoding: gzip"), TAG, {415}),
        (("Content-Type: application/json", f"Content-Length: {len(TAG)}", "Content-Encoding: identity"), TAG, {201}),
        (("Content-Type: application/json", f"Content-Length: {len(TAG)}", "Host: other.example"), TAG, {400}),
        (
            ("Content-Type: application/json", f"Content-Length: {len(TAG)}", "Upgrade: h2c", "Connection: Upgrade"),
            TAG,
            {201, 400},
        ),
    ],
    ids=[
        "good",
        "chunked",
        "zlib",
        "rot13",
        "too short",
        "negative",
        "both lengths",
        "5,001 digits",
        "gzip",
        "identity",
        "two hosts",
        "upgrade",
    ],
)
def test_bodies_on_the_wire(server: LiveServer, server_shop: Shop, token: str, case: Any) -> None:
    lines, body, statuses = case
    reply = send_bytes(server, build_head(token, *lines), body)

    status = int(reply.split()[1])
    assert status in statuses, reply[:300]
    assert get_script_tags(server_shop) == (1 if status == 201 else 0)


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

    assert parse_response(long_header) == (431, "Request Header Fields Too Large")
    assert parse_response(many_headers) == (431, "Request Header Fields Too Large")
    assert parse_response(long_path) == (414, "Request-URI Too Long")


def parse_response(response: bytes) -> tuple[int, Any]:
    """Return the status of a response and its JSON errors."""
    return int(response.split()[1]), json.loads(response.partition(b"\r\n\r\n")[2])["errors"]


def test_header_names_go_out_as_they_are_written(server: LiveServer, token: str) -> None:
    names = [line.partition(b":")[0] for line in send_bytes(server, build_head(token, method="GET")).split(b"\r\n")[1:]]

    assert {b"X-Shopify-Shop-Api-Call-Limit", b"X-Shopify-API-Version", b"X-Request-Id", b"Content-Type"} <= set(names)


def test_a_body_that_ends_early_is_400_and_not_taken(server: LiveServer, server_shop: Shop, token: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        text = build_head(token, "Content-Type: application/json", "Content-Length: 999").replace("\n", "\r\n")
        connection.sendall(text.encode() + b"\r\n\r\n" + TAG)
        connection.shutdown(socket.SHUT_WR)
        content = connection.makefile("rb").read()

    assert parse_response(content) == (400, "Bad Request")
    assert get_script_tags(server_shop) == 0


def test_a_client_that_stops_after_its_request_is_answered(server: LiveServer, server_shop: Shop, token: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        text = build_head(token, "Content-Type: application/json", f"Content-Length: {len(TAG)}").replace("\n", "\r\n")
        connection.sendall(text.encode() + b"\r\n\r\n" + TAG)
        connection.shutdown(socket.SHUT_WR)
        content = connection.makefile("rb").read()

    assert content.startswith(b"HTTP/1.1 201 ")
    assert get_script_tags(server_shop) == 1


def test_http_2_is_not_spoken(server: LiveServer) -> None:
    reply = send_bytes(server, "PRI * HTTP/2.0", b"SM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")

    assert parse_response(reply) == (400, "Bad Request")


def test_requests_in_one_packet_are_answered_in_turn(server: LiveServer, token: str) -> None:
    first = build_head(token, method="GET").replace("\n", "\r\n").encode() + b"\r\n\r\n"
    other = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(first + first + other)
        content = connection.makefile("rb").read()

    places = [content.index(b'{"script_tags":'), content.rindex(b'{"script_tags":'), content.index(b'{"status": "ok"}')]
    assert content.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert places == sorted(set(places))


def test_an_expect_header_is_answered(server: LiveServer, server_shop: Shop, token: str) -> None:
    text = build_head(token, "Content-Type: application/json", f"Content-Length: {len(TAG)}", "Expect: 100-continue")
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        replies = connection.recv(1000)
        connection.sendall(TAG)
        response = connection.recv(1000)

    assert replies == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert response.startswith(b"HTTP/1.1 201 ")


def test_headers_with_underscores_are_dropped(server: LiveServer, token: str) -> None:
    path = "GET /admin/api/2026-07/script_tags.json HTTP/1.1\nHost: 127.0.0.1\n"

    refused = send_bytes(server, f"{path}X_Shopify_Access_Token: {token}")
    beside = send_bytes(server, f"{path}X-Shopify-Access-Token: {token}\nX_Shopify_Access_Token: bko_other")

    assert refused.startswith(b"HTTP/1.1 401 ")
    assert beside.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "path",
    [
        "/admin%2fapi%2f2026-07/script_tags.json",
        "/admin/api%2F2026-07/script_tags.json",
        "/admin/api/2026-07%2fscript_tags.json",
        "//admin/api/2026-07/script_tags.json",
        "/admin//api/2026-07/script_tags.json",
    ],
)
def test_encoded_slashes_are_no_slashes(server: LiveServer, token: str, path: str) -> None:
    reply = send_bytes(server, f"GET {path} HTTP/1.1\nHost: 127.0.0.1\nX-Shopify-Access-Token: {token}")

    assert reply.startswith(b"HTTP/1.1 404 ")
    if b"/admin/api/" in path.replace("//", "/").encode():
        assert parse_response(reply) == (404, "Not Found")


@pytest.mark.parametrize("is_known", [True, False], ids=["token", "no token"])
@pytest.mark.parametrize(
    "path", ["/<>", "/admin/api/2026-07/<>", "/admin/api/2026-07/products/<>.json", "/s/<>/admin/"]
)
def test_angle_brackets_in_a_path_are_no_defect(server: LiveServer, token: str, path: str, is_known: bool) -> None:
    line = f"\nX-Shopify-Access-Token: {token}" if is_known else ""
    reply = send_bytes(server, f"GET {path} HTTP/1.1\nHost: 127.0.0.1{line}")

    assert int(reply.split()[1]) in {302, 401, 404}, reply[:300]


@pytest.mark.parametrize("length", [61 * 1024 * 1024, 200 * 1024 * 1024])
def test_a_client_that_sends_far_too_much_reads_the_reason(server: LiveServer, token: str, length: int) -> None:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"X-Shopify-Access-Token": token, "Content-Type": "application/json"}
    client.request("POST", "/admin/api/2026-07/script_tags.json", b"x" * length, headers)
    response = client.getresponse()

    assert response.status == 413
    assert json.loads(response.read()) == {"errors": "Request Entity Too Large"}
    client.close()


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/accounts/login/", {}, 413),
        ("/accounts/login/", {"Cookie": "sessionid=x"}, 413),
        ("/s/shop/admin/", {}, 413),
        ("/s/shop/admin/", {"Cookie": "sessionid=x"}, 302),
        ("/admin/api/2026-07/script_tags.json", {}, 413),
        ("/admin/api/2026-07/script_tags.json", {"X-Shopify-Access-Token": "bko_none"}, 401),
    ],
)
def test_anonymous_clients_can_send_little(server: LiveServer, path: str, headers: dict[str, str], status: int) -> None:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    client.request("POST", path, b"x" * (64 * 1024 + 1), {**headers, "Content-Type": "application/json"})

    assert client.getresponse().status == status
    client.close()


def test_a_large_body_arrives_whole(server: LiveServer, server_shop: Shop, token: str) -> None:
    text = json.dumps({"product": {"title": "Large", "body_html": "", "images": [{"attachment": "A" * 3_000_000}]}})
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"X-Shopify-Access-Token": token, "Content-Type": "application/json"}
    client.request("POST", "/admin/api/2026-07/products.json", text, headers)
    response = client.getresponse()

    # The error shows that the server has read the whole body: the file is not an image.
    assert response.status == 422
    assert "image" in response.read().decode().lower()
    client.close()


def test_a_body_that_does_not_come_is_408_in_time(server: LiveServer, server_shop: Shop, token: str) -> None:
    began = time.monotonic()
    reply = send_bytes(
        server, build_head(token, "Content-Type: application/json", "Content-Length: 100"), b"{", wait=20
    )

    assert parse_response(reply) == (408, "Request Timeout")
    assert 7 < time.monotonic() - began < 12
    assert get_script_tags(server_shop) == 0


HOST = b"Host: 127.0.0.1\r\n"
# Incomplete requests: partial bodies of different lengths, a partial header, and no data.
KINDS = {
    "body": b"POST /admin/api/2026-07/script_tags.json HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\n{",
    "form": b"POST /accounts/login/ HTTP/1.1\r\n" + HOST + b"Content-Length: 60000\r\n\r\nx",
    "large": b"POST /admin/api/2026-07/products.json HTTP/1.1\r\nX-Shopify-Access-Token: bko_x\r\n"
    + HOST
    + b"Content-Length: 59000000\r\n\r\n{",
    "head": b"GET /healthz HTTP/1.1\r\nHos",
    "nothing": b"",
}


def get_child_pids(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def measure_response(server: LiveServer, path: str, token: str = "") -> float:
    """Send a request over a new connection and return the seconds until the response.

    Raises:
        AssertionError: If the status is not 200.
    """
    began = time.monotonic()
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
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
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            connection.sendall(KINDS[kind])
            silent[kind].append(connection)

        alive: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            alive.append(measure_response(server, "/healthz"))
            measure_response(server, "/admin/api/2026-07/shop.json", token)
            time.sleep(0.1)

        replies = {kind: {connection.recv(12) for connection in waiting} for kind, waiting in silent.items()}
    timeout = {b"HTTP/1.1 408"}
    assert replies == {"body": timeout, "form": timeout, "large": timeout, "head": timeout, "nothing": {b""}}
    assert statistics.median(alive) < 0.1
    assert statistics.quantiles(alive, n=20)[-1] < 0.5
    assert get_child_pids(server.process.pid) == before


def test_silent_clients_do_not_block_others(server: LiveServer, server_shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(server_shop))

    check_other_clients(server, token, sockets=60, seconds=13)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_five_hundred_silent_clients_do_not_block_others(server: LiveServer, server_shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(server_shop))

    check_other_clients(server, token, sockets=500, seconds=scale_for_soak(300))


@pytest.mark.soak
def test_a_body_that_drips_ends_within_half_a_minute(server: LiveServer, server_shop: Shop) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=1) as connection:
        connection.sendall(KINDS["large"])
        began = time.monotonic()
        content = b""
        while not content and time.monotonic() - began < 60:
            connection.sendall(b" ")
            try:
                content = connection.recv(1000)
            except TimeoutError:
                continue

    assert content.startswith(b"HTTP/1.1 408 ")
    assert 28 < time.monotonic() - began < 33
