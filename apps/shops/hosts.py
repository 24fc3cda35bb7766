"""Which hosts are shops of ours."""

from contextlib import suppress

from django.core.cache import cache
from redis import RedisError

from apps.shops.models import Shop

_REMEMBER_SECONDS = 10


def is_shop_domain(host: str) -> bool:
    """Whether a shop has this domain; remembered for a few seconds, so that strange hosts cost no queries."""
    key = f"is-shop-domain:{host}"
    known: bool | None = None
    # A cache that is away costs a query and closes no shop.
    with suppress(RedisError):
        known = cache.get(key)
    if known is None:
        known = Shop.objects.filter(domain=host).exists()
        with suppress(RedisError):
            cache.set(key, known, _REMEMBER_SECONDS)
    return known
