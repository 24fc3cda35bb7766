"""Factories for each metafield owner type. An app that registers an owner type adds a factory here."""

from collections.abc import Callable

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from tests.support.factories.catalog import make_custom, make_image, make_product, make_smart
from tests.support.factories.content import make_article, make_blog, make_page
from tests.support.factories.customers import make_customer
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.orders import make_order


def get_only_variant() -> Variant:
    return make_product().variants.get()


# For each ``owner_resource``, a function that creates an owner in the current shop.
MAKERS: dict[str, Callable[[], ShopOwned]] = {
    "product": make_product,
    "variant": get_only_variant,
    "product_image": lambda: make_image(make_product()),
    "collection": make_custom,
    "customer": make_customer,
    "blog": make_blog,
    "article": make_article,
    "page": make_page,
    "order": make_order,
    "draft_order": make_draft_order,
}

# For owner types with several URL paths, a function for each path that creates an owner for that path.
KINDS: dict[str, Callable[[], ShopOwned]] = {
    "custom_collections": make_custom,
    "smart_collections": lambda: make_smart("Cheap", ("variant_price", "less_than", "5")),
}


def make_owner(resource: str, shop: Shop) -> ShopOwned:
    with shop_scope(shop):
        return MAKERS[resource]()
