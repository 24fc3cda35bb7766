from apps.core.cache import get_or_compute
from apps.core.db.row_locks import get_for_update
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop


def lock_shop() -> Shop:
    """Lock and return the current shop. Other transactions can still insert rows that refer to the shop."""
    return get_for_update(Shop, get_current_shop().pk, no_key=True)


def is_shop_domain(host: str) -> bool:
    # Cache the result for ten seconds to save queries.
    return bool(get_or_compute(f"is-shop-domain:{host}", lambda: Shop.objects.filter(domain=host).exists(), 10))
