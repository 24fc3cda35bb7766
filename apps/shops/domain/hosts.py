"""Lookup of shop domains."""

from apps.ground.caching import get_or_compute
from apps.shops.models import Shop

_CACHE_SECONDS = 10


def is_shop_domain(host: str) -> bool:
    """Return True if a shop has this domain. The result is cached for a few seconds to save queries."""
    return bool(
        get_or_compute(f"is-shop-domain:{host}", lambda: Shop.objects.filter(domain=host).exists(), _CACHE_SECONDS)
    )
