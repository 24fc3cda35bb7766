"""Cache access that tolerates an outage: if the cache is down, values are computed and no request fails."""

import logging
from collections.abc import Callable
from typing import TypeVar, cast

from django.core.cache import cache

from apps.core.circuit_breaker import CircuitOpen

T = TypeVar("T")

logger = logging.getLogger(__name__)

_NONE = object()


# The functions catch all exceptions, because the exceptions of cache backends have no common base class.
def log_outage(error: Exception, message: str = "The cache is down") -> None:
    """Log an error of the cache, but not each call that the circuit breaker refuses afterwards."""
    if not isinstance(error, CircuitOpen):
        logger.warning(message, exc_info=error)


def get_or_compute(key: str, compute: Callable[[], T], seconds: int) -> T:
    """Return the cached value of a key, or compute and cache the value. Exceptions of ``compute`` propagate."""
    try:
        value = cache.get(key, _NONE)
    except Exception as error:
        log_outage(error)
        return compute()
    if value is not _NONE:
        return cast("T", value)
    computed = compute()
    set_cached(key, computed, seconds)
    return computed


def set_cached(key: str, value: object, seconds: int) -> None:
    try:
        cache.set(key, value, seconds)
    except Exception as error:
        log_outage(error)


def is_first_call(key: str, seconds: int) -> bool:
    """Return True for the first call with a key within ``seconds``. Return False if the cache is down."""
    try:
        return bool(cache.add(key, True, seconds))
    except Exception as error:
        log_outage(error)
        return False
