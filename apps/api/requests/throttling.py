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


class Buckets(Protocol):
    """A store of leaky buckets."""

    def pour(self, key: str, *, size: float, leak: float, now: float) -> tuple[float, bool]:
        """Pour one call into a bucket; returns its level and whether the call went in."""
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
if level + 1 <= tonumber(ARGV[1]) then
  level = level + 1
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

    def pour(self, key: str, *, size: float, leak: float, now: float) -> tuple[float, bool]:
        """Pour one call into a bucket."""
        level, admitted = self._pour(keys=[f"backoffice:bucket:{key}"], args=[size, leak, repr(now)])
        return float(level), bool(admitted)


@cache
def _buckets() -> Buckets:
    if settings.CACHE_URL:
        return RedisBuckets(settings.CACHE_URL)
    return FileBuckets(settings.DATA_DIR / "rate-limit")


def size_for(shop: Shop) -> int:
    """How many calls a bucket of this shop holds."""
    return int(settings.RATE_LIMIT_SIZE) * (PREMIUM_FACTOR if shop.plan == Shop.Plan.PREMIUM else 1)


def pour(*, app_id: int, shop: Shop) -> Level:
    """Count one call of an app on a shop."""
    if not settings.RATE_LIMIT:
        return Level(1, settings.RATE_LIMIT_SIZE, admitted=True)
    size = size_for(shop)
    leak = settings.RATE_LIMIT_LEAK * (size / settings.RATE_LIMIT_SIZE)
    try:
        level, admitted = _buckets().pour(f"{app_id}:{shop.pk}", size=size, leak=leak, now=time.time())
    except Exception:
        logger.exception("The rate limiter's store is away; calls pass uncounted")
        return Level(1, size, admitted=True)
    return Level(min(size, int(level + 0.999)), size, admitted)
