"""The streams of a store import, in the order in which they are imported."""

from apps.store_imports.domain.streams import Stream
from apps.store_imports.resources.collections import CustomCollectionStream, SmartCollectionStream
from apps.store_imports.resources.customers import CustomerStream
from apps.store_imports.resources.locations import LocationStream
from apps.store_imports.resources.metafields import (
    CollectionMetafieldStream,
    CustomerMetafieldStream,
    PageMetafieldStream,
    ProductMetafieldStream,
)
from apps.store_imports.resources.online_store import PageStream, RedirectStream
from apps.store_imports.resources.orders.stream import OrderStream
from apps.store_imports.resources.products import ProductStream

# Objects come after the objects that they refer to. Metafields can refer to all of them.
STREAMS: tuple[Stream, ...] = (
    LocationStream(),
    ProductStream(),
    CustomCollectionStream(),
    SmartCollectionStream(),
    CustomerStream(),
    OrderStream(),
    PageStream(),
    RedirectStream(),
    ProductMetafieldStream(),
    CollectionMetafieldStream(),
    CustomerMetafieldStream(),
    PageMetafieldStream(),
)
