"""Test the rate limit in real time over real connections: only the client that exceeds the limit is rejected.

See check L1 in docs/reliability.md.
"""

import os
import time
from pathlib import Path

import pytest

from tests.support import factories
from tests.support.servers.concurrent_clients import (
    ApiRequest,
    PersistentClient,
    RequestStatistics,
    send_at_rate,
    send_concurrently,
)
from tests.support.servers.live import get_database_url, run_server
from tests.support.timing import scale_for_soak

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0), pytest.mark.django_db(transaction=True)]

SECONDS = float(os.environ.get("SOAK_RATE_SECONDS") or scale_for_soak(60))
SHOP = ApiRequest("GET", "shop.json")


@pytest.mark.parametrize("processes", [1, 4])
def test_eighty_at_once_and_then_two_per_second(transactional_db: None, tmp_path: Path, processes: int) -> None:
    shop, other = factories.make_shop(), factories.make_shop(domain="other.example", name="Other")
    tokens = [factories.make_token(factories.make_installation(owner)) for owner in (shop, shop, other)]
    environment = {"BACKOFFICE_RATE_LIMIT": "on", "WEB_PROCESSES": str(processes)}
    with run_server(get_database_url(), tmp_path, **environment) as server:
        # Warm up every process before the measurement, without filling the first token's bucket.
        send_at_rate(server.port, tokens[1:], lambda *_: SHOP, rate=8, seconds=5, callers=8)

        burst = send_concurrently(server.port, tokens[0], SHOP, 80)
        other_statistics = RequestStatistics()
        for token in tokens[1:]:
            caller = PersistentClient(server.port, token, other_statistics)
            caller.call(SHOP)
            caller.close()
        time.sleep(max(float(headers["Retry-After"]) for headers in burst.headers))
        after = send_at_rate(server.port, tokens[:1], lambda *_: SHOP, rate=2, seconds=SECONDS, callers=2)

    # The bucket leaks while the eighty requests arrive, so a few more than 40 requests succeed.
    assert set(burst.statuses) == {200, 429}
    assert 40 <= burst.statuses[200] <= 50
    assert {headers["X-Platform-Shop-Api-Call-Limit"] for headers in burst.headers} == {"40/40"}
    assert all(0 < float(headers["Retry-After"]) <= 2 for headers in burst.headers)
    assert other_statistics.statuses == {200: 2}
    assert set(after.statuses) == {200}
