"""The limits of store imports, and the settings of the store that differ from those of the shop."""

from collections.abc import Iterator

from apps.core.i18n.messages import define_message, define_text
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.domain.source_client import SourceObject

# What an import leaves out, with the reason. docs/moving-a-store.md explains what to do.
NOT_IMPORTED = (
    ("passwords of customers", "the API does not return them. Customers set a new password"),
    ("codes of gift cards", "the API only returns the last characters. Set the codes, or import a file with them"),
    ("card data and payment settings", "the API does not return them"),
    ("data of apps, except metafields", "only the app can read it"),
    ("metafields of variants and images", "each needs a request. Use --with-variant-metafields"),
    ("the manual order of smart collections", "sort them again"),
    ("creation times of products, collections, pages, discounts, draft orders", "they get the time of the import"),
    ("settings of a shop with data", "compare them with the list of different settings"),
    ("risks and comments of orders, and tracking events", "each order would need more requests"),
    ("which customers used a discount code", "the API only returns the number of uses"),
    ("completed draft orders", "their orders have all data"),
    ("script tags and webhooks of other apps", "the API only returns those of the app that reads. Install the apps"),
    ("deletions in the store", "only --follow and --final delete objects here"),
)
# The notes about objects that the store has deleted.
KEPT_CHANGED = define_text(
    "store_imports.kept_changed", "The store has deleted this object. It was kept, because it was changed in this shop."
)
KEPT_REFUSED = define_message("store_imports.kept_refused", "The store has deleted this object. It was kept: {reason}")
# The settings that are imported: the members of the shop object in the REST API, with the columns of ``Shop``.
SETTING_COLUMNS = {
    "name": "name",
    "email": "email",
    "customer_email": "customer_email",
    "shop_owner": "owner_name",
    "phone": "phone",
    "address1": "address1",
    "address2": "address2",
    "city": "city",
    "zip": "zip",
    "province": "province",
    "province_code": "province_code",
    "country_code": "country_code",
    "iana_timezone": "timezone",
    "primary_locale": "primary_locale",
    "weight_unit": "weight_unit",
    "taxes_included": "taxes_included",
    "tax_shipping": "shipping_taxed",
}
# The columns that the API returns if the column of a member is blank.
_FALLBACKS = {"customer_email": "email", "shop_owner": "name"}


def get_source_settings(shop: SourceObject) -> SourceObject:
    """Return the members of a store's shop object that are imported or compared."""
    return {name: shop[name] for name in SETTING_COLUMNS if shop.get(name) is not None}


def get_own_settings(shop: Shop) -> SourceObject:
    """Return the settings of a shop of this installation as the API returns them."""
    values = {name: getattr(shop, column) for name, column in SETTING_COLUMNS.items()}
    return values | {name: values[name] or getattr(shop, column) for name, column in _FALLBACKS.items()}


def compare_settings(shop: SourceObject) -> Iterator[tuple[str, object, object]]:
    """Yield the settings that differ, with the values in the store and in this shop."""
    ours = get_own_settings(get_current_shop())
    for name, value in get_source_settings(shop).items():
        if value != ours[name]:
            yield name, value, ours[name]
