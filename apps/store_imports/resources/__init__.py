"""The streams of a store import, in the order in which they are imported."""

from apps.store_imports.domain.streams import Stream
from apps.store_imports.resources.app_data import ScriptTagStream, WebhookStream
from apps.store_imports.resources.collections import CustomCollectionStream, SmartCollectionStream
from apps.store_imports.resources.content.articles import ArticleStream
from apps.store_imports.resources.content.blogs import BlogStream
from apps.store_imports.resources.content.comments import CommentStream
from apps.store_imports.resources.content.themes import ThemeFileStream, ThemeStream
from apps.store_imports.resources.customers import CustomerStream
from apps.store_imports.resources.locations import LocationStream
from apps.store_imports.resources.metafields import (
    OptionalMetafieldStream,
    ShopMetafieldStream,
    create_metafield_stream,
)
from apps.store_imports.resources.online_store import PageStream, RedirectStream
from apps.store_imports.resources.orders.stream import OrderStream
from apps.store_imports.resources.products import ProductStream
from apps.store_imports.resources.sales.draft_orders import DraftOrderStream
from apps.store_imports.resources.sales.gift_cards import GiftCardStream
from apps.store_imports.resources.sales.price_rules import DiscountCodeStream, PriceRuleStream
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
    # Orders come after gift cards, which can pay them. Draft orders come after discount codes and the orders that
    # complete them.
    PriceRuleStream(),
    DiscountCodeStream(),
    GiftCardStream(),
    OrderStream(),
    DraftOrderStream(),
    PageStream(),
    BlogStream(),
    ArticleStream(),
    CommentStream(),
    RedirectStream(),
    ThemeStream(),
    ThemeFileStream(),
    ScriptTagStream(),
    WebhookStream(),
    create_metafield_stream("shop", ShopMetafieldStream),
    *map(
        create_metafield_stream,
        ("product", "collection", "customer", "page", "blog", "article", "order", "draft_order"),
    ),
    create_metafield_stream("variant", OptionalMetafieldStream),
    create_metafield_stream("product_image", OptionalMetafieldStream),
    StaffStream(),
)
