"""Tests of large request bodies over real sockets. Only known senders may send more than 64 KiB."""

import http.client
import json
import os
import socket
import statistics
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from http.cookies import SimpleCookie
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from apps.core.admin.forms.idempotency import create_form_key
from apps.core.tenancy.models import AccessToken, Shop, hash_token
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.models import Import
from tests.support import factories
from tests.support.servers.live import LiveServer
from tests.support.timing import get_time_limit

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

MIB = 1024 * 1024
PRODUCTS = "/admin/api/2026-10/products.json"
SENDERS = 24
BODY_BYTES = 58 * 1000 * 1000
# The server reads at most 1 MiB after its response. The buffers of both sockets can hold several more.
MOST_SENT_BYTES = 24 * MIB


@dataclass
class Sent:
    status: int
    size: int
    headers: http.client.HTTPMessage
    body: bytes


def send_large_body(server: LiveServer, path: str, headers: dict[str, str], length: int = BODY_BYTES) -> Sent:
    """Send a body until the server closes the connection, and return the response with the number of sent bytes."""
    chunk, size = b"x" * 65536, 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        with suppress(ConnectionError):
            while size < length:
                size += connection.send(chunk[: length - size])
        response = http.client.HTTPResponse(connection)
        response.begin()
        return Sent(response.status, size, response.headers, response.read())


def measure_memory(server: LiveServer) -> int:
    """Return the memory of the web processes in bytes."""
    master = server.process.pid
    pids = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure_response(server: LiveServer, token: str) -> float:
    began = time.monotonic()
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    client.request("GET", "/admin/api/2026-10/shop.json", headers={"X-Shopify-Access-Token": token})
    assert client.getresponse().status == 200
    client.close()
    return time.monotonic() - began


@pytest.fixture
def token(server_shop: Shop) -> str:
    return factories.make_token(factories.make_installation(server_shop))


def test_made_up_tokens_open_no_large_body(server: LiveServer, token: str) -> None:
    measure_response(server, token)
    before = measure_memory(server)
    seconds: list[float] = []
    with ThreadPoolExecutor(SENDERS) as pool:
        sending: list[Future[Sent]] = [
            pool.submit(send_large_body, server, PRODUCTS, {"X-Shopify-Access-Token": f"bko_{n}"})
            for n in range(SENDERS)
        ]
        while not seconds or not all(future.done() for future in sending):
            seconds.append(measure_response(server, token))
        grown = measure_memory(server) - before
        responses = [future.result() for future in sending]

    assert {response.status for response in responses} == {401}
    assert max(response.size for response in responses) < MOST_SENT_BYTES
    assert grown < 64 * MIB
    assert statistics.median(seconds) < get_time_limit(0.5)


@pytest.mark.parametrize("kind", ["revoked", "expired", "made up", "far too long"])
def test_tokens_that_open_nothing_open_no_large_body(
    server: LiveServer, server_shop: Shop, token: str, kind: str
) -> None:
    if kind in {"revoked", "expired"}:
        changes = {f"{kind.replace('expired', 'expires')}_at": timezone.now() - timedelta(seconds=1)}
        with shop_scope(server_shop):
            assert AccessToken.objects.filter(digest=hash_token(token)).update(**changes) == 1
    else:
        token = "bko_none" if kind == "made up" else f"bko_{'x' * 500}"

    response = send_large_body(server, PRODUCTS, {"X-Shopify-Access-Token": token})

    assert (response.status, response.headers["Connection"]) == (401, "close")
    assert json.loads(response.body)["errors"].startswith("[API] Invalid API key or access token")
    assert response.size < MOST_SENT_BYTES


def test_made_up_sessions_open_no_large_body(server: LiveServer) -> None:
    page, api = (send_large_body(server, path, {"Cookie": "sessionid=x"}) for path in ("/s/shop/admin/", PRODUCTS))

    assert (page.status, page.headers["Location"]) == (302, "/accounts/login/?next=/s/shop/admin/")
    assert api.status == 401
    assert max(page.size, api.size) < MOST_SENT_BYTES


@pytest.mark.parametrize("headers", [{}, {"X-Shopify-Access-Token": "bko_none"}])
def test_bodies_beyond_all_limits_are_not_read_from_unknown_senders(
    server: LiveServer, headers: dict[str, str]
) -> None:
    response = send_large_body(server, PRODUCTS, headers, length=200 * MIB)

    assert response.status == 413
    assert response.size < MOST_SENT_BYTES


def test_an_expected_body_is_refused_before_it_is_sent(server: LiveServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(
            f"POST {PRODUCTS} HTTP/1.1\r\nHost: x\r\nX-Shopify-Access-Token: bko_none\r\n"
            f"Content-Length: {BODY_BYTES}\r\nExpect: 100-continue\r\n\r\n".encode()
        )
        content = connection.makefile("rb").read()

    assert content.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("path", [PRODUCTS, "/admin/products.json"])
def test_a_real_token_sends_a_large_body(server: LiveServer, token: str, path: str) -> None:
    headers = {"X-Shopify-Access-Token": token, "Content-Type": "application/json"}
    response = send_large_body(server, path, headers, length=50 * MIB)

    # The API itself refuses the body after the server has received it.
    assert (response.status, response.size, response.headers["Connection"]) == (413, 50 * MIB, None)


def test_staff_upload_a_large_file(server: LiveServer, server_shop: Shop) -> None:
    user = factories.make_member(server_shop, "customers")
    browser = Client()
    browser.force_login(user)
    secret = "s" * 32
    cookie = SimpleCookie({"sessionid": browser.cookies["sessionid"].value, "csrftoken": secret})
    address = f"/s/{server_shop.handle}/admin/imports_exports/import/upload/"
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Cookie": cookie.output(header="", sep=";").strip()}
    content = b"email,note\nada@example.com," + b"x" * 100 + b"\n"
    content += b"y@example.com,\n" * (50 * MIB // 15)
    form_key = create_form_key(cast("HttpRequest", SimpleNamespace(user=user)))
    parts = {"form_key": form_key.encode(), "csrfmiddlewaretoken": secret.encode()}
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
        for name, value in parts.items()
    )
    body += b'--b\r\nContent-Disposition: form-data; name="file"; filename="in.csv"\r\n\r\n%s\r\n--b--\r\n' % content
    client.request("POST", address, body, {**headers, "Content-Type": "multipart/form-data; boundary=b"})
    response = client.getresponse()
    response.read()
    client.close()

    with shop_scope(server_shop):
        page = address.replace("upload", f"{Import.objects.get().pk}/change")
    assert (response.status, response.headers["Location"]) == (302, page)
