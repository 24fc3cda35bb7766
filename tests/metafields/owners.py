"""A row of each metafield owner type; an app that registers an owner adds its factory here."""

from collections.abc import Callable

from apps.catalog.models import Variant
from apps.ground.base_models import ShopOwned
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.catalog.factories import make_custom, make_image, make_product, make_smart
from tests.content.factories import make_article, make_blog
from tests.customers.factories import make_customer
from tests.orders.factories import make_order


def get_only_variant() -> Variant:
    return make_product().variants.get()


# By ``owner_resource``, a row of the current shop.
MAKERS: dict[str, Callable[[], ShopOwned]] = {
    "product": make_product,
    "variant": get_only_variant,
    "product_image": lambda: make_image(make_product()),
    "collection": make_custom,
    "customer": make_customer,
    "blog": make_blog,
    "article": make_article,
    "order": make_order,
}

# By an additional path, a row that this path leads to.
KINDS: dict[str, Callable[[], ShopOwned]] = {
    "custom_collections": make_custom,
    "smart_collections": lambda: make_smart("Cheap", ("variant_price", "less_than", "5")),
}


def make_owner(resource: str, shop: Shop) -> ShopOwned:
    """Return a row that can own metafields."""
    with shop_scope(shop):
        return MAKERS[resource]()
