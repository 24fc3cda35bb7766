"""Registry of the wallet's shop IDs: an ID belongs to one shop as long as the shop uses it.

The wallet assigns the ID at registration, so two shops with the same ID cannot both be right. The ID is public.
"""

from apps.ground.error_messages import TAKEN
from apps.ground.exceptions import DomainError
from apps.ground.tenancy import get_current_shop
from apps.payments.models import PaymentHandlerConfig, WalletShop

_ATTEMPTS = 3


class WalletShopTaken(DomainError):
    """Raised when the ID belongs to another shop."""

    code = "wallet_shop_taken"
    field = "config.shop_id"


def claim_wallet_id(known_as: str) -> None:
    """Claim an ID for this shop, and lock it until the transaction ends.

    The insert waits for a concurrent claim of the same ID, so only one shop succeeds.

    Raises:
        WalletShopTaken: The ID belongs to another shop.
    """
    for _ in range(_ATTEMPTS):
        WalletShop.objects.bulk_create([WalletShop(shop=get_current_shop(), known_as=known_as)], ignore_conflicts=True)
        if known_as in {row.known_as for row in _lock_rows()}:
            return
        # The ID belongs to another shop, or this shop released it between the two statements.
    raise WalletShopTaken(TAKEN)


def release_unused_wallet_ids() -> None:
    """Release the IDs that no handler of this shop uses."""
    locked_rows = _lock_rows()
    used_ids = {config.get("shop_id") for config in PaymentHandlerConfig.rows().values_list("config", flat=True)}
    for row in locked_rows:
        if row.known_as not in used_ids:
            row.delete()


def _lock_rows() -> list[WalletShop]:
    """Lock and return this shop's IDs, usually one or two, in lock order."""
    return list(WalletShop.rows().select_for_update().order_by("pk"))
