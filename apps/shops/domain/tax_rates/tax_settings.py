"""Change the tax rates of a shop's countries and provinces, and the settings that apply to all of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.shops.domain.shop_countries import update_country, update_province
from apps.shops.models import ShopCountry, ShopProvince

# The columns of ``Shop`` that apply to the taxes of all countries.
SHOP_SETTINGS = ("taxes_included", "shipping_taxed")
RateChange = tuple[ShopCountry | ShopProvince, Attrs]


@transaction.atomic
def change_taxes(settings: Mapping[str, bool], changes: Sequence[RateChange], *, actor: str, at: datetime) -> None:
    """Save columns of ``SHOP_SETTINGS`` of the current shop, and changes of its countries and provinces."""
    if settings:
        shop = Shop.objects.get(pk=get_current_shop().pk)
        refresh_for_update(shop)
        if changed := apply_changes(shop, settings):
            shop.save(update_fields=[*changed, "version"])
            record_event("shop/update", shop, actor=actor, at=at, changes=changed)
    for row, attrs in sorted(changes, key=lambda change: change[0].pk):
        if isinstance(row, ShopCountry):
            update_country(row, attrs, actor=actor, at=at)
        else:
            update_province(row, attrs, actor=actor, at=at)
