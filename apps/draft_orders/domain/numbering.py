"""Number draft orders from 1 in each shop, and keep the shop currency while a shop has draft orders."""

from django.db.models import F

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.draft_orders.models import DraftOrder, DraftOrderCounter
from apps.orders.domain.create.numbering import CurrencyChanged


def assign_number(draft: DraftOrder) -> None:
    """Assign the next number and name to an unsaved draft order. The counter stays locked until the transaction ends.

    Raises:
        CurrencyChanged: The shop currency is no longer the currency of the draft order.
    """
    counter = DraftOrderCounter.objects.filter(shop=get_current_shop())
    if not counter.update(last_number=F("last_number") + 1):
        DraftOrderCounter.objects.bulk_create([DraftOrderCounter(shop=get_current_shop())], ignore_conflicts=True)
        counter.update(last_number=F("last_number") + 1)
    draft.number, currency = counter.values_list("last_number", "shop__currency").get()
    if currency != draft.currency:
        raise CurrencyChanged("has just changed in the shop's settings; send the draft order again")
    draft.name = f"#D{draft.number}"


def find_currency_objection(shop: Shop, currency: str) -> str | None:
    """Lock the counter so that new draft orders wait, and return why the currency cannot change, if it cannot."""
    DraftOrderCounter.objects.bulk_create([DraftOrderCounter(shop=shop)], ignore_conflicts=True)
    DraftOrderCounter.objects.select_for_update().get(shop=shop)
    return "the shop has draft orders" if DraftOrder.objects.exists() else None
