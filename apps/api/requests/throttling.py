"""The rate limit: a leaky bucket per app and shop, shared by all web processes.

A bucket of ``size`` calls leaks ``leak`` calls per second. With ``CACHE_URL`` the buckets live in Redis and one script
pours atomically; otherwise in a file that the processes of this machine share (``.buckets``). A store that is
away lets calls pass and logs it: a limiter must not take the shop down.
Rule: decisions, Rate limit.
"""

import logging
import time
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from django.conf import settings

from apps.api.requests.buckets import FileBuckets
from apps.shops.models import Shop

logger = logging.getLogger(__name__)

PREMIUM_FACTOR = 10
# GraphQL has buckets of its own, as large in points as those of REST in calls, times this.
POINTS_PER_CALL = 50
RETRY_AFTER = 2.0


@dataclass(frozen=True, slots=True)
class Level:
    """A bucket after a call: how full it is, how large, and whether the call went in."""

    used: int
    size: int
    admitted: bool

    @property
    def header(self) -> str:
        """``used/size``."""
        return f"{self.used}/{self.size}"


@dataclass(frozen=True, slots=True)
class Points:
    """A bucket of GraphQL after a document: how many points are left of how many, how many come back per second."""

    available: float
    size: int
    restored: float
    admitted: bool


class Buckets(Protocol):
    """A store of leaky buckets."""

    def pour(self, key: str, *, size: float, leak: float, now: float, amount: float = 1) -> tuple[float, bool]:
        """Pour so much into a bucket, or take it out where it is negative; its level, and whether that went in."""
        ...


class RedisBuckets:
    """Buckets in Redis; one script reads, leaks and pours."""

    _SCRIPT = """
local level = 0
local kept = redis.call('HMGET', KEYS[1], 'level', 'at')
local now = tonumber(ARGV[3])
if kept[1] then
  level = math.max(0, tonumber(kept[1]) - math.max(0, now - tonumber(kept[2])) * tonumber(ARGV[2]))
end
local admitted = 0
local amount = tonumber(ARGV[4])
if level + amount <= tonumber(ARGV[1]) then
  level = math.max(0, level + amount)
  admitted = 1
end
redis.call('HSET', KEYS[1], 'level', tostring(level), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(tonumber(ARGV[1]) / tonumber(ARGV[2])) + 1)
return {tostring(level), admitted}
"""

    def __init__(self, url: str) -> None:
        """Connect lazily to the Redis of ``CACHE_URL``."""
        from redis import Redis

        self._redis = Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)
        self._pour = self._redis.register_script(self._SCRIPT)

    def pour(self, key: str, *, size: float, leak: float, now: float, amount: float = 1) -> tuple[float, bool]:
        """Pour so much into a bucket."""
        level, admitted = self._pour(keys=[f"backoffice:bucket:{key}"], args=[size, leak, repr(now), amount])
        return float(level), bool(admitted)


@cache
def _buckets() -> Buckets:
    if settings.CACHE_URL:
        return RedisBuckets(settings.CACHE_URL)
    return FileBuckets(settings.DATA_DIR / "rate-limit")


def size_for(shop: Shop) -> int:
    """How many calls a bucket of this shop holds."""
    return int(settings.RATE_LIMIT_SIZE) * (PREMIUM_FACTOR if shop.plan == Shop.Plan.PREMIUM else 1)


def pour(*, app_id: int, shop: Shop, calls: int = 1) -> Level:
    """Count a call of an app on a shop; with 0 calls, only see how full its bucket is."""
    if not settings.RATE_LIMIT:
        return Level(1, settings.RATE_LIMIT_SIZE, admitted=True)
    size = size_for(shop)
    leak = settings.RATE_LIMIT_LEAK * (size / settings.RATE_LIMIT_SIZE)
    level, admitted = poured(f"{app_id}:{shop.pk}", size, leak, calls)
    return Level(min(size, int(level + 0.999)), size, admitted)


def spend(points: int, *, app_id: int, shop: Shop) -> Points:
    """Take points of an app on a shop for a GraphQL document; negative ones are given back."""
    calls = size_for(shop)
    size = calls * POINTS_PER_CALL
    leak = settings.RATE_LIMIT_LEAK * (calls / settings.RATE_LIMIT_SIZE) * POINTS_PER_CALL
    level, admitted = 0.0, True
    if settings.RATE_LIMIT:
        level, admitted = poured(f"points:{app_id}:{shop.pk}", size, leak, points)
    return Points(max(0, int(size - level)), size, leak, admitted)


def poured(key: str, size: int, leak: float, amount: int) -> tuple[float, bool]:
    """A bucket's level and whether it took the amount; without a store, everything passes."""
    try:
        return _buckets().pour(key, size=size, leak=leak, now=time.time(), amount=amount)
    except Exception:
        logger.exception("The rate limiter's store is away; calls pass uncounted")
        return float(min(amount, 1)), True
