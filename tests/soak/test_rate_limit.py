"""The rate limit over real time and real connections: who asks too much is told so, and nobody else notices.

Rule: reliability, L1.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import factories
from tests.client.conftest import Server, database_url
from tests.machine import soaked
from tests.soak.calls import Call, Caller, Fates, all_at_once, steadily

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0), pytest.mark.django_db(transaction=True)]

SECONDS = float(os.environ.get("SOAK_RATE_SECONDS") or soaked(60))
SHOP = Call("GET", "shop.json")


@pytest.fixture
def serve(transactional_db: None, tmp_path: Path) -> Iterator[Callable[[int], Server]]:
    """``serve(processes)``: a server with the limit as it is by default."""
    started: list[Server] = []

    def start(processes: int) -> Server:
        server = Server(
            database_url(),
            tmp_path,
            BACKOFFICE_BRAND="platform",
            BACKOFFICE_RATE_LIMIT="on",
            WEB_PROCESSES=str(processes),
        )
        started.append(server)
        server.wait()
        return server

    yield start
    for server in started:
        server.stop()


@pytest.mark.parametrize("processes", [1, 4])
def test_eighty_at_once_and_then_two_per_second(serve: Callable[[int], Server], processes: int) -> None:
    shop, other = factories.make_shop(), factories.make_shop(domain="other.example", name="Other")
    tokens = [factories.make_token(factories.make_installation(owner)) for owner in (shop, shop, other)]
    server = serve(processes)
    # Every process has answered once, so that none is slow at the moment that counts; the bucket is empty again after.
    steadily(server.port, tokens[1:], lambda *_: SHOP, rate=8, seconds=5, callers=8)

    burst = all_at_once(server.port, tokens[0], SHOP, 80)
    others = Fates()
    for token in tokens[1:]:
        caller = Caller(server.port, token, others)
        caller.call(SHOP)
        caller.close()
    time.sleep(max(float(headers["Retry-After"]) for headers in burst.headers))
    after = steadily(server.port, tokens[:1], lambda *_: SHOP, rate=2, seconds=SECONDS, callers=2)

    # What leaks while eighty calls arrive lets a few more pass.
    assert set(burst.statuses) == {200, 429}
    assert 40 <= burst.statuses[200] <= 50
    assert {headers["X-Platform-Shop-Api-Call-Limit"] for headers in burst.headers} == {"40/40"}
    assert all(0 < float(headers["Retry-After"]) <= 2 for headers in burst.headers)
    assert others.statuses == {200: 2}
    assert set(after.statuses) == {200}
