"""The cache as a memory that may be away: then nothing is remembered, and nobody is turned away for it."""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache import cache

logger = logging.getLogger(__name__)

# Each kind of cache has errors of its own, which have no common name: hence the wide nets below.
AWAY = "The cache does not answer"


def remembered(key: str, find: Callable[[], Any], seconds: int) -> Any:
    """What is remembered under a key; found out, and remembered for so long, where nothing is."""
    try:
        return cache.get_or_set(key, find, seconds)
    except Exception:
        logger.warning(AWAY, exc_info=True)
        return find()


def is_first(key: str, seconds: int) -> bool:
    """Whether this is the first call with the key in so long; never, where the cache is away."""
    try:
        return bool(cache.add(key, True, seconds))
    except Exception:
        logger.warning(AWAY, exc_info=True)
        return False
