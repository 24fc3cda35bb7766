import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.servers.live import LiveServer

TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}


@dataclass(frozen=True)
class TimedResponse:
    status: int
    seconds: float
    headers: Message


class ServerClient:
    def __init__(self, server: LiveServer, shop: Shop) -> None:
        self.server, self.shop = server, shop
        self.token = factories.make_token(factories.make_installation(shop))

    def __call__(self, path: str, body: object = None, **headers: str) -> TimedResponse:
        request = Request(
            f"{self.server.url}/admin/api/2026-07/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-Shopify-Access-Token": self.token, "Content-Type": "application/json", **headers},
        )
        began = time.monotonic()
        try:
            with urlopen(request, timeout=60) as response:
                response.read()
                return TimedResponse(response.status, time.monotonic() - began, response.headers)
        except HTTPError as error:
            return TimedResponse(error.code, time.monotonic() - began, error.headers)


Start = Callable[..., LiveServer]
