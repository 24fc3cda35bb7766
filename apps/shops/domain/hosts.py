"""Which hosts are shops of ours."""

from apps.ground.remembering import remembered
from apps.shops.models import Shop

_REMEMBER_SECONDS = 10


def is_shop_domain(host: str) -> bool:
    """Whether a shop has this domain; remembered for a few seconds, so that strange hosts cost no queries."""
    return bool(
        remembered(f"is-shop-domain:{host}", lambda: Shop.objects.filter(domain=host).exists(), _REMEMBER_SECONDS)
    )
