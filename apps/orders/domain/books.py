"""Orders are books in the shop's currency, so while there are any, the shop keeps it."""

from apps.ground.errors import DomainError
from apps.orders.models import Order, OrderCounter
from apps.shops.models import Shop


class CurrencyChanged(DomainError):
    """The shop's currency changed while the order came in."""

    code = "currency_changed"
    field = "currency"
    status = 409


def object_to_currency(shop: Shop, currency: str) -> str | None:
    """Why the currency cannot change; new orders wait until the change is decided, and then see it."""
    OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
    OrderCounter.objects.select_for_update().get(shop=shop)
    return "the shop has orders" if Order.objects.exists() else None
