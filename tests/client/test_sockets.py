"""Requests as bytes on a socket: what the server in front and the guard make of lengths and methods that lie.

Rule: reliability, B6, B7, B13, B26, B28.
"""

import socket
from typing import Any

import pytest

from apps.content.models import ScriptTag
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

TAG = b'{"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}'


def ask(server: Server, head: str, body: bytes = b"", wait: float = 10) -> bytes:
    """Send bytes, and read until the server has no more to say."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
                if b"\r\n\r\n" in answer and b"onnection: close" not in answer:
                    break
        except TimeoutError:
            return answer or b"closed"
    return answer


@pytest.fixture
def token(client_shop: Shop) -> str:
    return factories.make_token(factories.make_installation(client_shop))


def head(token: str, *lines: str, method: str = "POST") -> str:
    start = f"{method} /admin/api/2026-07/script_tags.json?limit=1 HTTP/1.1"
    return "\n".join([start, "Host: 127.0.0.1", f"X-Shopify-Access-Token: {token}", *lines])


def tags(shop: Shop) -> int:
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
    ],
    ids=["good", "chunked", "zlib", "rot13", "too short", "negative", "both lengths"],
)
def test_bodies_on_the_wire(server: Server, client_shop: Shop, token: str, case: Any) -> None:
    lines, body, statuses = case
    answer = ask(server, head(token, *lines), body)

    status = int(answer.split()[1])
    assert status in statuses, answer[:300]
    assert tags(client_shop) == (1 if status == 201 else 0)


@pytest.mark.parametrize(
    ("method", "statuses"), [("TRACE", {405}), ("CONNECT", {400, 405}), ("PATCH", {405}), ("OPTIONS", {405})]
)
def test_methods_on_the_wire(server: Server, token: str, method: str, statuses: set[int]) -> None:
    answer = ask(server, head(token, "Content-Length: 0", method=method))

    assert answer == b"" or int(answer.split()[1]) in statuses, answer[:300]


def test_headers_and_paths_that_are_too_long_are_refused(server: Server, token: str) -> None:
    long_header = ask(server, head(token, f"X-Long: {'x' * 600_000}", method="GET"))
    many_headers = ask(server, head(token, *(f"X-H{n}: 1" for n in range(300)), method="GET"))

    assert long_header == b"" or int(long_header.split()[1]) in {400, 414, 431}, long_header[:200]
    assert many_headers == b"" or int(many_headers.split()[1]) in {200, 400, 431}, many_headers[:200]
