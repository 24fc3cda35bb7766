"""The streams of a store import, in the order in which they are imported."""

from apps.store_imports.domain.streams import Stream
from apps.store_imports.resources.collections import CustomCollectionStream, SmartCollectionStream
from apps.store_imports.resources.customers import CustomerStream
from apps.store_imports.resources.draft_orders import DraftOrderStream
from apps.store_imports.resources.gift_cards import GiftCardStream
from apps.store_imports.resources.locations import LocationStream
from apps.store_imports.resources.metafields import (
    CollectionMetafieldStream,
    CustomerMetafieldStream,
    DraftOrderMetafieldStream,
    PageMetafieldStream,
    ProductMetafieldStream,
)
from apps.store_imports.resources.online_store import PageStream, RedirectStream
from apps.store_imports.resources.price_rules import DiscountCodeStream, PriceRuleStream
from apps.store_imports.resources.products import ProductStream
from apps.store_imports.resources.settings import CountryStream, SettingsStream
from apps.store_imports.resources.staff import StaffStream

# Objects come after the objects that they refer to. Metafields can refer to all of them.
STREAMS: tuple[Stream, ...] = (
    SettingsStream(),
    LocationStream(),
    CountryStream(),
    ProductStream(),
    CustomCollectionStream(),
    SmartCollectionStream(),
    CustomerStream(),
    # Draft orders come after discount codes, and after the orders that complete them.
    PriceRuleStream(),
    DiscountCodeStream(),
    GiftCardStream(),
    DraftOrderStream(),
    PageStream(),
    RedirectStream(),
    ProductMetafieldStream(),
    CollectionMetafieldStream(),
    CustomerMetafieldStream(),
    PageMetafieldStream(),
    DraftOrderMetafieldStream(),
    StaffStream(),
)
