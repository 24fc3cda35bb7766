"""Manage the shop IDs that the wallet assigns. An ID belongs to one shop as long as a handler of the shop uses it.

The wallet assigns one ID to each shop, so if two shops enter the same ID, one of the entries is wrong.
"""

from apps.ground.error_messages import TAKEN
from apps.ground.exceptions import DomainError
from apps.ground.tenancy import get_current_shop
from apps.payments.models import PaymentHandlerConfig, WalletShop

_ATTEMPTS = 3


class WalletShopTaken(DomainError):
    """Raised when a wallet ID belongs to another shop."""

    code = "wallet_shop_taken"
    field = "config.shop_id"


def claim_wallet_id(known_as: str) -> None:
    """Claim a wallet ID for the current shop, and lock it until the transaction ends.

    If two shops claim the same ID at the same time, the second insert waits, and only one shop succeeds.

    Raises:
        WalletShopTaken: The ID belongs to another shop.
    """
    for _ in range(_ATTEMPTS):
        WalletShop.objects.bulk_create([WalletShop(shop=get_current_shop(), known_as=known_as)], ignore_conflicts=True)
        if known_as in {row.known_as for row in _lock_rows()}:
            return
        # Either the ID belongs to another shop, or this shop released it between the two statements. Try again.
    raise WalletShopTaken(TAKEN)


def release_unused_wallet_ids() -> None:
    """Release the wallet IDs that no handler of the current shop uses."""
    locked_rows = _lock_rows()
    used_ids = {config.get("shop_id") for config in PaymentHandlerConfig.rows().values_list("config", flat=True)}
    for row in locked_rows:
        if row.known_as not in used_ids:
            row.delete()


def _lock_rows() -> list[WalletShop]:
    """Lock and return the wallet IDs of the current shop, in a fixed order to prevent deadlocks."""
    return list(WalletShop.rows().select_for_update().order_by("pk"))
