"""The shop as the root of what it may have only so many of, or only one."""

from apps.ground.locks import locked
from apps.ground.tenancy import current_shop
from apps.shops.models import Shop


def lock_shop() -> Shop:
    """The current shop as it is now, held until the transaction ends; rows that refer to it may still be added."""
    return locked(Shop, current_shop().pk, no_key=True)
