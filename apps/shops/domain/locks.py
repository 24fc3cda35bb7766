"""Lock the shop to serialize checks of per-shop limits and uniqueness."""

from apps.ground.row_locks import get_for_update
from apps.ground.tenancy import get_current_shop
from apps.shops.models import Shop


def lock_shop() -> Shop:
    """Lock and return the current shop. Other transactions can still insert rows that refer to the shop."""
    return get_for_update(Shop, get_current_shop().pk, no_key=True)
