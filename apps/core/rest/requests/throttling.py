"""Limit the request rate with a leaky bucket per app and shop, shared by all web processes.

A bucket of ``size`` calls leaks ``leak`` calls per second. With ``CACHE_URL``, the buckets are in Redis, where one
script updates a bucket atomically. Otherwise the buckets are in a file that the processes on this machine share
(``file_buckets``). If the store is down, calls are admitted and the failure is logged, because a failing rate limiter
must not block the API.
"""

import time
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from apps.core.cache import log_outage
from apps.core.rest.requests.file_buckets import FileBucketStore
from apps.core.tenancy.models import Shop

PREMIUM_FACTOR = 10
# GraphQL has separate buckets. Their size in points is the REST bucket size in calls times this factor.
POINTS_PER_CALL = 50
RETRY_AFTER = 2.0


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """The state of a bucket after a call: its level, its size, and whether the call was admitted."""

    used: int
    size: int
    admitted: bool

    @property
    def header(self) -> str:
        return f"{self.used}/{self.size}"


@dataclass(frozen=True, slots=True)
class PointsState:
    """The state of a GraphQL bucket after charging a document, in points and in points per second."""

    available: float
    size: int
    restore_rate: float
    admitted: bool


class RedisBucketStore:
    """Leaky buckets in Redis, each updated by one atomic script, by the clock of Redis.

    The clocks of machines can differ. With their times, a fast machine would empty the buckets of a slow one.
    """

    _SCRIPT = """
local level = 0
local kept = redis.call('HMGET', KEYS[1], 'level', 'at')
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
if kept[1] then
  level = math.max(0, tonumber(kept[1]) - math.max(0, now - tonumber(kept[2])) * tonumber(ARGV[2]))
end
local admitted = 0
local amount = tonumber(ARGV[3])
if level + amount <= tonumber(ARGV[1]) then
  level = math.max(0, level + amount)
  admitted = 1
end
redis.call('HSET', KEYS[1], 'level', tostring(level), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(tonumber(ARGV[1]) / tonumber(ARGV[2])) + 1)
return {tostring(level), admitted}
"""

    def __init__(self, url: str) -> None:
        from apps.core.cache.redis_client import connect

        self._redis = connect(url)
        self._pour = self._redis.register_script(self._SCRIPT)

    def consume(self, key: str, *, size: float, leak: float, now: float, amount: float = 1) -> tuple[float, bool]:
        """Add calls to a bucket like ``FileBucketStore``, but ignore ``now``."""
        level, admitted = self._pour(keys=[f"backoffice:bucket:{key}"], args=[size, leak, amount])
        return float(level), bool(admitted)


@cache
def _buckets() -> RedisBucketStore | FileBucketStore:
    if settings.CACHE_URL:
        return RedisBucketStore(settings.CACHE_URL)
    return FileBucketStore(settings.DATA_DIR / "rate-limit")


def get_bucket_size(shop: Shop) -> int:
    return int(settings.RATE_LIMIT_BURST) * (PREMIUM_FACTOR if shop.plan == Shop.Plan.PREMIUM else 1)


def count_call(*, app_id: int, shop: Shop, calls: int = 1) -> RateLimitState:
    """Count an app's calls to a shop; with ``calls=0``, only return the state of the bucket."""
    if not settings.RATE_LIMIT:
        return RateLimitState(1, settings.RATE_LIMIT_BURST, admitted=True)
    size = get_bucket_size(shop)
    leak = settings.RATE_LIMIT_PER_SECOND * (size / settings.RATE_LIMIT_BURST)
    level, admitted = consume_bucket(f"{app_id}:{shop.pk}", size, leak, calls)
    return RateLimitState(min(size, int(level + 0.999)), size, admitted)


def spend_points(points: int, *, app_id: int, shop: Shop) -> PointsState:
    """Deduct the points of a GraphQL document from the app's bucket for the shop; negative points are restored."""
    calls = get_bucket_size(shop)
    size = calls * POINTS_PER_CALL
    leak = settings.RATE_LIMIT_PER_SECOND * (calls / settings.RATE_LIMIT_BURST) * POINTS_PER_CALL
    level, admitted = 0.0, True
    if settings.RATE_LIMIT:
        level, admitted = consume_bucket(f"points:{app_id}:{shop.pk}", size, leak, points)
    return PointsState(max(0, int(size - level)), size, leak, admitted)


def consume_bucket(key: str, size: int, leak: float, amount: int) -> tuple[float, bool]:
    """Add an amount to a bucket; return its level, and True if the amount was accepted or the store is down."""
    try:
        return _buckets().consume(key, size=size, leak=leak, now=time.time(), amount=amount)
    except Exception as error:
        log_outage(error, "The rate limiter's store is down; calls are not counted")
        return float(min(amount, 1)), True
