"""Which hosts are shops of ours."""

from apps.ground.caching import cached
from apps.shops.models import Shop

_CACHE_SECONDS = 10


def is_shop_domain(host: str) -> bool:
    """Whether a shop has this domain; cached for a few seconds, so that strange hosts cost no queries."""
    return bool(cached(f"is-shop-domain:{host}", lambda: Shop.objects.filter(domain=host).exists(), _CACHE_SECONDS))
