"""Cache access that tolerates an outage: if the cache is down, values are computed and no request fails."""

import logging
from collections.abc import Callable
from typing import TypeVar, cast

from django.core.cache import cache

T = TypeVar("T")

logger = logging.getLogger(__name__)

# The functions catch all exceptions, because the exceptions of cache backends have no common base class.
CACHE_DOWN = "The cache is down"
_NONE = object()


def get_or_compute(key: str, compute: Callable[[], T], seconds: int) -> T:
    """Return the cached value of a key, or compute and cache the value. Exceptions of ``compute`` propagate."""
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
    try:
        cache.set(key, value, seconds)
    except Exception:
        logger.warning(CACHE_DOWN, exc_info=True)


def is_first_call(key: str, seconds: int) -> bool:
    """Return True for the first call with a key within ``seconds``. Return False if the cache is down."""
    try:
        return bool(cache.add(key, True, seconds))
    except Exception:
        logger.warning(CACHE_DOWN, exc_info=True)
        return False
