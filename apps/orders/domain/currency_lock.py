"""Lock the shop currency as soon as the shop has orders."""

from apps.ground.exceptions import DomainError
from apps.orders.models import Order, OrderCounter
from apps.shops.models import Shop


class CurrencyChanged(DomainError):
    """Raised when the shop currency changed while an order was created."""

    code = "currency_changed"
    field = "currency"
    status = 409


def get_currency_objection(shop: Shop, currency: str) -> str | None:
    """Lock the order counter so that new orders wait, and return the reason why the currency cannot change, if any."""
    OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
    OrderCounter.objects.select_for_update().get(shop=shop)
    return "the shop has orders" if Order.objects.exists() else None
