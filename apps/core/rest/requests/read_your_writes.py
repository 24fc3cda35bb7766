"""Ensure that an app can read its own writes: a token uses a replica only if the replica has the token's last write."""

from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db import Error
from django.http import Http404

from apps.core.cache import log_outage
from apps.core.db.postgresql import replica
from apps.core.rest.requests.authentication import Access

T = TypeVar("T")

# A position that no replica can reach, so all reads use the primary.
_UNREACHABLE = 2**63


def read_from_replica(access: Access, work: Callable[[], T]) -> T:
    """Run read-only work on a replica that has the token's last write, otherwise on the primary."""
    if not replica.has_replica():
        return work()
    shop = access.shop
    position = _get_write_position(access.token_id)
    return replica.read_on_replica(
        work, shop_id=shop.pk, shop_version=shop.version, required_position=position, not_found=Http404
    )


def record_write(access: Access) -> None:
    """Store the position that a replica must reach before the token reads from the replica.

    The cache stores the position for longer than a replica may lag. While the cache is down, other processes cannot
    read the position, so all reads use the primary.
    """
    if not replica.has_replica():
        return
    try:
        position = replica.get_write_position()
    except Error:
        position = _UNREACHABLE
    try:
        cache.set(_key(access.token_id), position, settings.REPLICA_LAG_SECONDS + 10)
    except Exception as error:
        log_outage(error)


def _get_write_position(token_id: int) -> int:
    try:
        return int(cache.get(_key(token_id), 0))
    except Exception as error:
        log_outage(error)
        return _UNREACHABLE


def _key(token_id: int) -> str:
    return f"written:{token_id}"
