"""The streams that an import brings: their labels, groups and references, and the selection of some of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.i18n.messages import define_message
from apps.store_imports.domain.errors import SelectionRefused
from apps.store_imports.domain.streams import Stream, streams

_UNKNOWN = define_message("store_imports.unknown_streams", "Unknown: {names}. Choose from {choices}.")

_LABELS: Mapping[str, StrOrPromise] = {
    "locations": gettext_lazy("Locations"),
    "products": gettext_lazy("Products"),
    "custom_collections": gettext_lazy("Custom collections"),
    "smart_collections": gettext_lazy("Smart collections"),
    "customers": gettext_lazy("Customers"),
    "pages": gettext_lazy("Pages"),
    "redirects": gettext_lazy("URL redirects"),
    "product_metafields": gettext_lazy("Metafields of products"),
    "collection_metafields": gettext_lazy("Metafields of collections"),
    "customer_metafields": gettext_lazy("Metafields of customers"),
    "page_metafields": gettext_lazy("Metafields of pages"),
    "orders": gettext_lazy("Orders"),
    "draft_orders": gettext_lazy("Draft orders"),
    "price_rules": gettext_lazy("Discounts"),
    "discount_codes": gettext_lazy("Discount codes"),
    "gift_cards": gettext_lazy("Gift cards"),
    "blogs": gettext_lazy("Blogs"),
    "articles": gettext_lazy("Articles"),
    "comments": gettext_lazy("Comments"),
    "themes": gettext_lazy("Themes"),
    "theme_files": gettext_lazy("Theme files"),
    "script_tags": gettext_lazy("Script tags"),
    "webhooks": gettext_lazy("Webhooks"),
    "settings": gettext_lazy("Shop settings"),
    "countries": gettext_lazy("Tax rates"),
    "staff": gettext_lazy("Staff"),
    "shop_metafields": gettext_lazy("Metafields of the shop"),
    "blog_metafields": gettext_lazy("Metafields of blogs"),
    "article_metafields": gettext_lazy("Metafields of articles"),
    "order_metafields": gettext_lazy("Metafields of orders"),
    "draft_order_metafields": gettext_lazy("Metafields of draft orders"),
    "variant_metafields": gettext_lazy("Metafields of variants"),
    "product_image_metafields": gettext_lazy("Metafields of images"),
}
# The streams with the objects that the objects of a stream refer to.
_REFERENCES: Mapping[str, tuple[str, ...]] = {
    "products": ("locations",),
    "custom_collections": ("products",),
    "product_metafields": ("products",),
    "collection_metafields": ("custom_collections", "smart_collections"),
    "customer_metafields": ("customers",),
    "page_metafields": ("pages",),
    "blog_metafields": ("blogs",),
    "article_metafields": ("articles",),
    "order_metafields": ("orders",),
    "draft_order_metafields": ("draft_orders",),
    "orders": ("products", "customers", "locations", "gift_cards"),
    "draft_orders": ("products", "customers", "discount_codes"),
    "theme_files": ("themes",),
    "price_rules": ("products", "custom_collections", "customers"),
    "discount_codes": ("price_rules",),
    "gift_cards": ("customers",),
    "articles": ("blogs",),
    "comments": ("articles",),
}


@dataclass(frozen=True, slots=True)
class StreamGroup:
    """Streams that staff select together.

    Attributes:
        scopes: The access scopes that the token of the store needs.
        permissions: The Django permissions that staff need. They are those to import the objects as files, or to add
            them in the panel.
    """

    name: str
    label: StrOrPromise
    streams: tuple[str, ...]
    scopes: tuple[str, ...]
    permissions: tuple[str, ...]


# The groups have all streams except staff, whom only the command imports, because they get the permissions that the
# store names.
GROUPS = (
    StreamGroup(
        "products",
        gettext_lazy("Products, collections and locations"),
        (
            *("locations", "products", "custom_collections", "smart_collections", "product_metafields"),
            *("collection_metafields", "variant_metafields", "product_image_metafields"),
        ),
        ("read_products", "read_inventory", "read_locations"),
        ("catalog.add_product", "inventory.add_location"),
    ),
    StreamGroup(
        "customers",
        gettext_lazy("Customers"),
        ("customers", "customer_metafields"),
        ("read_customers",),
        ("customers.add_customer",),
    ),
    StreamGroup(
        "online_store",
        gettext_lazy("Pages, blogs and URL redirects"),
        (
            *("pages", "blogs", "articles", "comments", "redirects"),
            *("page_metafields", "blog_metafields", "article_metafields"),
        ),
        ("read_content",),
        ("content.add_page", "content.add_redirect"),
    ),
    StreamGroup(
        "orders",
        gettext_lazy("Orders and draft orders"),
        ("orders", "draft_orders", "order_metafields", "draft_order_metafields"),
        (
            *("read_orders", "read_all_orders", "read_draft_orders"),
            *("read_merchant_managed_fulfillment_orders", "read_third_party_fulfillment_orders"),
        ),
        ("orders.change_order", "draft_orders.add_draftorder"),
    ),
    StreamGroup(
        "discounts",
        gettext_lazy("Discounts"),
        ("price_rules", "discount_codes"),
        ("read_price_rules",),
        ("discounts.add_pricerule",),
    ),
    StreamGroup(
        "gift_cards",
        gettext_lazy("Gift cards"),
        ("gift_cards",),
        ("read_gift_cards",),
        ("gift_cards.add_giftcard",),
    ),
    StreamGroup(
        "themes",
        gettext_lazy("Themes, script tags and webhooks"),
        ("themes", "theme_files", "script_tags", "webhooks"),
        ("read_themes", "read_script_tags"),
        # Script tags and webhooks belong to an app, which the import installs.
        ("content.add_theme", "shops.add_installation"),
    ),
    StreamGroup(
        "shop",
        gettext_lazy("Shop settings and tax rates"),
        ("settings", "countries", "shop_metafields"),
        ("read_shipping",),
        ("shops.change_shop",),
    ),
)


class MissingReference(NamedTuple):
    """A selected stream, and a stream that it refers to and that is not selected."""

    stream: str
    needed: str


def get_stream_label(name: str) -> StrOrPromise:
    return _LABELS[name]


def select_streams(names: Collection[str]) -> list[Stream]:
    """Return the streams with these names, or all streams, in the order in which they are imported.

    Raises:
        SelectionRefused: There is no stream with one of the names.
    """
    if unknown := sorted(set(names) - streams.keys()):
        raise SelectionRefused(_UNKNOWN(names=", ".join(unknown), choices=", ".join(streams)))
    return [stream for stream in streams.values() if not names or stream.name in names]


def find_missing_references(selected: Iterable[Stream]) -> Iterator[MissingReference]:
    """Yield the streams that selected streams refer to, and that are not selected.

    Such an import is allowed. References to objects that no run has imported are left out and reported.
    """
    names = [stream.name for stream in selected]
    for name in names:
        for needed in _REFERENCES.get(name, ()):
            if needed in streams and needed not in names:
                yield MissingReference(name, needed)
