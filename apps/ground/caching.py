"""Access to the cache that tolerates an outage: without a cache nothing is cached, and no request fails."""

import logging
from collections.abc import Callable
from typing import TypeVar, cast

from django.core.cache import cache

T = TypeVar("T")

logger = logging.getLogger(__name__)

# Each cache backend raises its own exceptions without a common base class, so the handlers below are broad.
CACHE_DOWN = "The cache is down"
_NONE = object()


def get_or_compute(key: str, compute: Callable[[], T], seconds: int) -> T:
    """Return the cached value of a key; if there is none, compute and cache the value.

    Exceptions of ``compute`` propagate to the caller.
    """
    try:
        value = cache.get(key, _NONE)
    except Exception:
        logger.warning(CACHE_DOWN, exc_info=True)
        return compute()
    if value is not _NONE:
        return cast("T", value)
    computed = compute()
    set_cached(key, computed, seconds)
    return computed


def set_cached(key: str, value: object, seconds: int) -> None:
    """Cache a value, replacing any previous value."""
    try:
        cache.set(key, value, seconds)
    except Exception:
        logger.warning(CACHE_DOWN, exc_info=True)


def is_first_call(key: str, seconds: int) -> bool:
    """Return True for the first call with a key within the given time, and False if the cache is down."""
    try:
        return bool(cache.add(key, True, seconds))
    except Exception:
        logger.warning(CACHE_DOWN, exc_info=True)
        return False
