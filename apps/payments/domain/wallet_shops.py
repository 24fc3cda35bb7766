"""Which shop the wallet knows by which id: an id is one shop's, from its first use to its last.

The wallet gives it at registration, so two shops that name the same one cannot both be right. It is public.
"""

from apps.ground.errors import DomainError
from apps.ground.phrases import TAKEN
from apps.ground.tenancy import current_shop
from apps.payments.models import PaymentHandlerConfig, WalletShop

_ATTEMPTS = 3


class WalletShopTaken(DomainError):
    """Another shop has the id."""

    code = "wallet_shop_taken"
    field = "config.shop_id"


def claim(known_as: str) -> None:
    """Make an id this shop's, and hold it until the transaction ends.

    The insert waits for a shop that is taking the same id at this moment, so of two one gets it.

    Raises:
        WalletShopTaken: It is another shop's.
    """
    for _ in range(_ATTEMPTS):
        WalletShop.objects.bulk_create([WalletShop(shop=current_shop(), known_as=known_as)], ignore_conflicts=True)
        if known_as in {row.known_as for row in _held()}:
            return
        # It is another shop's, or this one's that was let go of between the two statements.
    raise WalletShopTaken(TAKEN)


def release_unused() -> None:
    """Let go of the ids that none of this shop's handlers names any more."""
    held = _held()
    named = {config.get("shop_id") for config in PaymentHandlerConfig.rows().values_list("config", flat=True)}
    for row in held:
        if row.known_as not in named:
            row.delete()


def _held() -> list[WalletShop]:
    """This shop's ids, held in the order of locks; there are one or two."""
    return list(WalletShop.rows().select_for_update().order_by("pk"))
