"""The rate limit: a leaky bucket per app and shop, shared by all processes (L1 in docs/reliability.md)."""

import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.cache import redis_client
from apps.core.rest.requests import throttling
from apps.core.rest.requests.file_buckets import FileBucketStore
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from tests.support.api_client import ApiClient, ClientWith
from tests.support.servers.ports import find_free_port

pytestmark = pytest.mark.usefixtures("rate_limited")


def test_forty_calls_pass_and_the_next_must_wait(api: ApiClient) -> None:
    responses = [api.get("shop.json") for _ in range(45)]

    assert [response.status_code for response in responses] == [200] * 40 + [429] * 5
    assert [responses[n]["X-Platform-Shop-Api-Call-Limit"] for n in (0, 39)] == ["1/40", "40/40"]
    assert responses[40]["Retry-After"] == "2.0"
    assert responses[40].json() == {"errors": "Call limit exceeded"}


def test_two_calls_leak_per_second(api: ApiClient, rate_limited: TimeMachineFixture) -> None:
    for _ in range(40):
        api.get("shop.json")
    rate_limited.move_to("2026-03-02T12:00:01Z", tick=False)

    assert [api.get("shop.json").status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_change_neither_stops_clients_nor_lets_more_calls_pass(
    api: ApiClient, rate_limited: TimeMachineFixture, hours: int
) -> None:
    statuses = [api.get("shop.json").status_code for _ in range(41)]
    rate_limited.shift(hours * 3600)
    jumped = [api.get("shop.json").status_code for _ in range(41)]
    rate_limited.shift(20)
    later = [api.get("shop.json").status_code for _ in range(41)]

    assert statuses == [200] * 40 + [429]
    assert jumped == ([200] * 40 if hours > 0 else [429] * 40) + [429]
    assert later == [200] * 40 + [429]


def test_other_apps_and_shops_have_buckets_of_their_own(
    api: ApiClient, client_with: ClientWith, other_shop_api: ApiClient
) -> None:
    for _ in range(41):
        api.get("shop.json")

    assert client_with("read_products").get("shop.json").status_code == 200
    assert other_shop_api.get("shop.json").status_code == 200


def test_premium_shops_have_ten_times_the_size(api: ApiClient, shop: Shop) -> None:
    with all_shops_scope():
        Shop.objects.filter(pk=shop.pk).update(plan="premium")

    assert api.get("shop.json")["X-Platform-Shop-Api-Call-Limit"] == "1/400"


def test_the_header_says_one_of_forty_without_a_limit(api: ApiClient, settings: Settings) -> None:
    settings.RATE_LIMIT = False

    assert {api.get("shop.json")["X-Platform-Shop-Api-Call-Limit"] for _ in range(50)} == {"1/40"}


def test_a_store_that_is_away_lets_calls_pass(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"redis://127.0.0.1:{find_free_port()}"
    monkeypatch.setattr(throttling, "_buckets", lambda: throttling.RedisBucketStore(url))

    assert api.get("shop.json").status_code == 200
    assert "calls are not counted" in caplog.text


_POUR_100 = """
import sys
from pathlib import Path
from apps.core.rest.requests.file_buckets import FileBucketStore
buckets = FileBucketStore(Path(sys.argv[1]))
print(sum(buckets.consume("a", size=40, leak=2, now=1000.0)[1] for _ in range(100)))
"""


def test_processes_share_the_buckets(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _POUR_100, str(tmp_path / "shared")]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]

    admitted = [int(worker.communicate(timeout=60)[0]) for worker in workers]

    assert sum(admitted) == 40


def test_a_full_neighbourhood_gives_up_its_oldest_bucket(tmp_path: Path) -> None:
    buckets = FileBucketStore(tmp_path / "small")

    levels = [buckets.consume(f"key-{n}", size=5, leak=1, now=1000.0 + n)[0] for n in range(100_000)]

    assert set(levels) == {1.0}


@pytest.mark.broker
def test_redis_counts_by_its_own_clock(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_client, "TIMEOUTS", {"socket_timeout": 5, "socket_connect_timeout": 5})
    buckets = throttling.RedisBucketStore(redis_url)
    key = f"test-of-the-bucket-{uuid.uuid4().hex}"
    hour, now = 3600, time.time()

    # The clocks of two machines differ by two hours. The buckets leak by the clock of Redis.
    admitted = [buckets.consume(key, size=40, leak=1e-6, now=now + side * hour)[1] for side in (-1, 1) * 25]
    buckets._redis.hincrbyfloat(f"backoffice:bucket:{key}", "at", -1)
    later = [buckets.consume(key, size=40, leak=2, now=now)[1] for _ in range(2)]

    assert admitted == [True] * 40 + [False] * 10
    assert later == [True, True]
