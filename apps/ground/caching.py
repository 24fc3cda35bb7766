"""The cache, which may be away: then nothing is cached, and nobody is turned away for it."""

import logging
from collections.abc import Callable
from typing import TypeVar, cast

from django.core.cache import cache

T = TypeVar("T")

logger = logging.getLogger(__name__)

# Each kind of cache has errors of its own, which have no common name: hence the wide nets below.
AWAY = "The cache does not answer"
_NONE = object()


def cached(key: str, find: Callable[[], T], seconds: int) -> T:
    """The value that is cached under a key; where there is none it is found once, and cached for so long.

    What ``find`` raises is not the cache's fault, and goes to the caller.
    """
    try:
        value = cache.get(key, _NONE)
    except Exception:
        logger.warning(AWAY, exc_info=True)
        return find()
    if value is not _NONE:
        return cast("T", value)
    found = find()
    keep(key, found, seconds)
    return found


def keep(key: str, value: object, seconds: int) -> None:
    """Cache a value under a key for so long, whatever was there."""
    try:
        cache.set(key, value, seconds)
    except Exception:
        logger.warning(AWAY, exc_info=True)


def is_first(key: str, seconds: int) -> bool:
    """Whether this is the first call with the key in so long; never, where the cache is away."""
    try:
        return bool(cache.add(key, True, seconds))
    except Exception:
        logger.warning(AWAY, exc_info=True)
        return False
