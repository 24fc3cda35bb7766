"""Requests as client libraries in other languages send them, over a real connection."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import NamedTuple

import pytest

from apps.core.tenancy.models import Installation, Shop
from tests.support import factories
from tests.support.servers.live import LiveServer
from tests.support.types import Json

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

ROOT = "/admin/api/2026-10"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    status: int
    body: Json


class RawClient:
    """A client that sends exactly the given headers and bytes."""

    def __init__(self, server: LiveServer, installation: Installation) -> None:
        self.installation = installation
        self.token = factories.make_token(installation)
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)

    def send(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str) -> Answer:
        """Send a request. The body is chunked if it is an iterator."""
        named = {"X-Shopify-Access-Token": self.token} | {k.replace("_", "-"): v for k, v in headers.items()}
        names = {name: value for name, value in named.items() if value}
        self._connection.request(method, f"{ROOT}/{path}", body, names, encode_chunked=not isinstance(body, bytes))
        response: HTTPResponse = self._connection.getresponse()
        return Answer(response.status, json.loads(response.read()))

    def close(self) -> None:
        self._connection.close()

    def send_basic(self, path: str, credentials: str) -> Answer:
        header = f"Basic {b64encode(credentials.encode()).decode()}"
        return self.send("GET", path, X_Shopify_Access_Token="", Authorization=header)


@pytest.fixture
def raw(server: LiveServer, server_shop: Shop) -> Iterator[RawClient]:
    client = RawClient(server, factories.make_installation(server_shop))
    yield client
    client.close()


@pytest.fixture
def make_order(raw: RawClient) -> Callable[[], int]:
    def make() -> int:
        order = {"line_items": [{"title": "Socks", "quantity": 1, "price": "5.00"}]}
        answer = raw.send("POST", "orders.json", json.dumps({"order": order}).encode(), **JSON)
        assert answer.status == 201, answer
        return int(answer.body["order"]["id"])

    return make


def test_actions_without_a_body_are_chunked_by_go(raw: RawClient, make_order: Callable[[], int]) -> None:
    """The Go library sends every POST without a body chunked, with a JSON content type."""
    chunked = {**JSON, "Transfer-Encoding": "chunked"}
    pk = make_order()

    closed, opened = (
        raw.send("POST", f"orders/{pk}/{action}.json", iter(()), **chunked) for action in ("close", "open")
    )
    created = raw.send("POST", "blogs.json", iter([b'{"blog": {"ti', b'tle": "News"}}']), **chunked)

    assert (closed.status, opened.status, created.status) == (200, 200, 201)
    assert closed.body["order"]["closed_at"]
    assert opened.body["order"]["closed_at"] is None
    assert created.body["blog"]["title"] == "News"


@pytest.mark.parametrize("headers", [FORM, JSON, {}])
@pytest.mark.parametrize("body", [b"[]", b"{}", b""])
def test_empty_bodies_of_actions_are_no_bodies(
    raw: RawClient, make_order: Callable[[], int], headers: dict[str, str], body: bytes
) -> None:
    """The PHP library sends ``[]`` for actions without arguments."""
    pk = make_order()

    statuses = [
        raw.send("POST", f"orders/{pk}/{action}.json", body, **headers).status for action in ("close", "open", "cancel")
    ]
    create = raw.send("POST", "blogs.json", body, **headers)

    assert statuses == [200, 200, 200]
    assert create == (400, {"errors": {"blog": "Required parameter missing or invalid"}})


def test_synchronization_tools_read_all_orders_by_time(raw: RawClient, make_order: Callable[[], int]) -> None:
    """dlt and airbyte sort by ``updated_at`` and continue with the URLs of the Link header."""
    first, second, third = (make_order() for _ in range(3))
    raw.send("PUT", f"orders/{first}.json", json.dumps({"order": {"id": first, "note": "changed"}}).encode(), **JSON)

    query = "status=any&updated_at_min=2000-01-01T00:00:00%2B00:00&order=updated_at+asc"
    copied = raw.send("GET", f"orders.json?{query}&limit=250")
    newest = raw.send("GET", f"orders.json?{query.replace('asc', 'desc')}&limit=1")
    counted = raw.send("GET", "orders.json?page=2")

    rows = copied.body["orders"]
    assert {row["id"] for row in rows} == {first, second, third}
    assert [row["updated_at"] for row in rows] == sorted(row["updated_at"] for row in rows)
    assert [row["id"] for row in newest.body["orders"]] == [first]
    assert (counted.status, list(counted.body["errors"])) == (400, ["page"])


def test_forms_with_values_are_refused(raw: RawClient) -> None:
    assert raw.send("POST", "blogs.json", b"blog[title]=News", **FORM).status == 415


def test_key_and_token_are_valid_basic_credentials(raw: RawClient, server: LiveServer, server_shop: Shop) -> None:
    other = factories.make_installation(server_shop)
    key = raw.installation.app.api_key

    good = raw.send_basic("shop.json", f"{key}:{raw.token}")
    refused = [
        raw.send_basic("shop.json", credentials).status
        for credentials in (
            f"{other.app.api_key}:{raw.token}",
            f":{raw.token}",
            raw.token,
            f"{key}:{raw.installation.app.api_secret}",
            f"{key}:",
            f"{key}:{raw.token}x",
            f"{key}ü:{raw.token}",
            "x" * 10_000,
        )
    ]
    malformed = [
        raw.send("GET", "shop.json", X_Shopify_Access_Token="", Authorization=header).status
        for header in ("Basic", "Basic %%%", "Basic /w==", f"Bearer {raw.token}", f"Basic {key}:{raw.token}")
    ]

    assert (good.status, good.body["shop"]["id"]) == (200, server_shop.pk)
    assert [*refused, *malformed] == [401] * 13
