"""Tests of the web server with raw sockets: hosts, versions of HTTP, other protocols, and offers of other protocols."""

import re
import socket

import pytest

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.servers.live import LiveServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

SHOP = "/admin/api/2026-10/shop.json"
HOST = "Host: 127.0.0.1"
CLOSE = "Connection: close"
UPGRADE = "Connection: Upgrade"
WEBSOCKET = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
H2C = ("Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAA")


def connect(server: LiveServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def exchange(server: LiveServer, content: bytes) -> bytes:
    """Send bytes and return everything that the server sends before it closes the connection."""
    with connect(server) as connection:
        connection.sendall(content)
        received: bytes = connection.makefile("rb").read()
        return received


def encode(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode()


def get_status(response: bytes) -> int:
    match = re.match(rb"HTTP/1\.[01] (\d{3}) ", response)
    assert match, response[:100]
    return int(match[1])


@pytest.fixture
def token(server_shop: Shop) -> str:
    return f"X-Shopify-Access-Token: {factories.make_token(factories.make_installation(server_shop))}"


# The target, the version, the host lines, and the expected status.
HOSTS: dict[str, tuple[str, str, list[str], int]] = {
    "1.1": (SHOP, "1.1", [HOST], 200),
    "1.1 without host": (SHOP, "1.1", [], 400),
    "1.1 with an empty host": (SHOP, "1.1", ["Host:"], 400),
    "1.1 with two hosts": (SHOP, "1.1", [HOST, HOST], 400),
    "1.1 with an unknown host": (SHOP, "1.1", ["Host: evil.example"], 400),
    "1.1 with a path as host": (SHOP, "1.1", ["Host: 127.0.0.1/x"], 400),
    "1.1 with a user in the host": (SHOP, "1.1", ["Host: a@127.0.0.1"], 400),
    "probe without host": ("/healthz", "1.1", [], 400),
    "1.0": (SHOP, "1.0", [HOST], 200),
    "1.0 without host": (SHOP, "1.0", [], 200),
    "1.0 with an empty host": (SHOP, "1.0", ["Host:"], 400),
    "absolute": (f"http://127.0.0.1{SHOP}", "1.1", [HOST], 200),
    "absolute, other scheme": (f"HTTPS://127.0.0.1{SHOP}", "1.1", [HOST], 200),
    "absolute replaces the host": (f"http://127.0.0.1{SHOP}", "1.1", ["Host: evil.example"], 200),
    "absolute with an unknown host": (f"http://evil.example{SHOP}", "1.1", [HOST], 400),
    "absolute without host": (f"http://127.0.0.1{SHOP}", "1.1", [], 400),
    "absolute with an empty host": (f"http://{SHOP}", "1.1", [HOST], 400),
    "absolute with a user": (f"http://u:p@127.0.0.1{SHOP}", "1.1", [HOST], 400),
    "absolute in 1.0": (f"http://evil.example{SHOP}", "1.0", [HOST], 400),
    "absolute without path": ("http://127.0.0.1", "1.1", [HOST], 302),
    "not HTTP": (f"ftp://127.0.0.1{SHOP}", "1.1", [HOST], 400),
    "relative": ("healthz", "1.1", [HOST], 400),
    "asterisk": ("*", "1.1", [HOST], 400),
}


@pytest.mark.parametrize("case", HOSTS)
def test_the_host_decides(server: LiveServer, token: str, case: str) -> None:
    target, version, hosts, status = HOSTS[case]
    # An accepted request must not open the way for others (the server remembers accepted hosts).
    exchange(server, encode(f"GET {SHOP} HTTP/1.0"))

    response = exchange(server, encode(f"GET {target} HTTP/{version}", *hosts, token, CLOSE))

    assert get_status(response) == status


def test_the_host_of_the_target_selects_the_shop(server: LiveServer, server_shop: Shop, token: str) -> None:
    other = factories.make_shop()

    statuses = [
        get_status(exchange(server, encode(f"GET http://{domain}{SHOP} HTTP/1.1", HOST, token, CLOSE)))
        for domain in (server_shop.domain, other.domain)
    ]

    assert statuses == [200, 401]


@pytest.mark.parametrize("method", ["CONNECT", "OPTIONS"])
def test_a_tunnel_is_refused(server: LiveServer, method: str) -> None:
    assert get_status(exchange(server, encode(f"{method} a.example:443 HTTP/1.1", "Host: a.example:443", CLOSE))) == 400


OTHER_PROTOCOLS: dict[str, bytes] = {
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/1.2": encode("GET /healthz HTTP/1.2", HOST),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/2 frames": b"\0\0\x12\x04\0\0\0\0\0",
    "HTTP/3": encode("GET /healthz HTTP/3", HOST),
    "lower case": encode("GET /healthz http/1.1", HOST),
    "RTSP": encode("OPTIONS rtsp://x/ RTSP/1.0", "CSeq: 1"),
    "SIP": encode("REGISTER sip:x SIP/2.0", "Via: x"),
    "TLS": bytes.fromhex("16030100c8010000c40303") + b"\0" * 190,
    "TLS without its end": bytes.fromhex("160301"),
    "SSH": b"SSH-2.0-OpenSSH_9\r\n",
    "SMTP": b"EHLO x\r\n",
    "PROXY": encode("PROXY TCP4 192.0.2.1 192.0.2.2 1 2", "GET /healthz HTTP/1.1", HOST),
    "PROXY 2": b"\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c" + b"\0" * 12,
    "Redis": b"*1\r\n$4\r\nPING\r\n",
    "PostgreSQL": b"\0\0\0\x08\x04\xd2\x16\x2f",
}


@pytest.mark.parametrize("case", OTHER_PROTOCOLS)
def test_other_protocols_are_refused_at_once(server: LiveServer, case: str) -> None:
    response = exchange(server, OTHER_PROTOCOLS[case])

    # A client that does not send a whole line would get 408.
    assert get_status(response) == 400
    assert response.count(b"HTTP/1.") == 1


@pytest.mark.parametrize("lines", [(CLOSE,), ("Connection: keep-alive",), (UPGRADE, *WEBSOCKET), (UPGRADE, *H2C)])
def test_old_clients_get_what_they_know(server: LiveServer, token: str, lines: tuple[str, ...]) -> None:
    response = exchange(server, encode(f"GET {SHOP} HTTP/1.0", HOST, token, *lines))

    head = response.partition(b"\r\n\r\n")[0].lower()
    assert get_status(response) == 200
    assert b"connection: close" in head
    assert b"transfer-encoding" not in head
    assert b"upgrade" not in head


def test_old_clients_are_not_asked_to_continue(server: LiveServer, token: str) -> None:
    head = [f"POST {SHOP} HTTP/1.0", HOST, token, "Content-Length: 2", "Expect: 100-continue"]

    assert get_status(exchange(server, encode(*head) + b"{}")) == 405


UPGRADES: dict[str, tuple[str, ...]] = {
    "h2c": (f"{UPGRADE}, HTTP2-Settings", *H2C),
    "TLS": (UPGRADE, "Upgrade: TLS/1.0"),
    "websocket": (UPGRADE, *WEBSOCKET),
    "websocket of another version": (UPGRADE, "Upgrade: websocket", "Sec-WebSocket-Version: 99"),
    "websocket without a key": (UPGRADE, "Upgrade: websocket"),
    "several": (UPGRADE, "Upgrade: h2c, websocket, TLS/1.3"),
    "without a connection option": WEBSOCKET,
}


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "POST"])
@pytest.mark.parametrize("case", UPGRADES)
def test_offers_of_other_protocols_are_ignored(server: LiveServer, token: str, case: str, method: str) -> None:
    body = "" if method == "GET" else "{}"
    lines = [f"{method} {SHOP} HTTP/1.1", HOST, token, *UPGRADES[case], f"Content-Length: {len(body)}"]
    plain = encode(f"GET {SHOP} HTTP/1.1", HOST, token, CLOSE)

    # The connection still speaks HTTP/1.1 after the offer.
    response = exchange(server, encode(*lines) + body.encode() + plain)

    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", response)]
    assert statuses == [200 if method == "GET" else 405, 200]
    assert b"\r\nupgrade:" not in response.lower()
