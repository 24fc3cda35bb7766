"""Whoever has written reads what they wrote: reads of a token go to a replica once that has replayed its last write."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db import Error
from django.http import Http404

from apps.api.requests.authentication import Access
from apps.ground import replica
from apps.ground.caching import AWAY

T = TypeVar("T")

logger = logging.getLogger(__name__)

# No replica has replayed as much: reads go to the primary.
_ALL = 2**63


def read(access: Access, work: Callable[[], T]) -> T:
    """Do work that only reads for a token, on a replica where the installation has one that will do."""
    if not replica.is_there():
        return work()
    shop = access.shop
    seen = _seen(access.token_id)
    return replica.read(work, shop_id=shop.pk, shop_version=shop.version, seen=seen, not_found=Http404)


def note_write(access: Access) -> None:
    """Note how far a replica must be before the token reads from it, after whatever the token wrote.

    The note is kept for longer than a replica may lag. Where the cache is away no other process hears of it, and reads
    go to the primary for as long as it is.
    """
    if not replica.is_there():
        return
    try:
        position = replica.written()
    except Error:
        position = _ALL
    try:
        cache.set(_key(access.token_id), position, settings.REPLICA_LAG_SECONDS + 10)
    except Exception:
        logger.warning(AWAY, exc_info=True)


def _seen(token_id: int) -> int:
    try:
        return int(cache.get(_key(token_id), 0))
    except Exception:
        logger.warning(AWAY, exc_info=True)
        return _ALL


def _key(token_id: int) -> str:
    return f"written:{token_id}"
