"""The importable and exportable resources. To add a resource, add a module here and an entry in ``RESOURCES``."""

from apps.imports_exports.resources.audit_log import AUDIT_LOG
from apps.imports_exports.resources.customers import CUSTOMERS
from apps.imports_exports.resources.discounts.resource import DISCOUNTS
from apps.imports_exports.resources.draft_orders.resource import DRAFT_ORDERS
from apps.imports_exports.resources.gift_cards.resource import GIFT_CARDS
from apps.imports_exports.resources.inventory.resource import INVENTORY
from apps.imports_exports.resources.metafields.resource import METAFIELDS
from apps.imports_exports.resources.orders import ORDERS
from apps.imports_exports.resources.pages import PAGES
from apps.imports_exports.resources.privacy import PERSONAL_DATA
from apps.imports_exports.resources.products.resource import PRODUCTS
from apps.imports_exports.resources.redirects import REDIRECTS
from apps.imports_exports.resources.refunds import REFUNDS

# Resources in the order shown to staff.
RESOURCES = (
    ORDERS,
    DRAFT_ORDERS,
    REFUNDS,
    PRODUCTS,
    INVENTORY,
    PAGES,
    REDIRECTS,
    GIFT_CARDS,
    DISCOUNTS,
    CUSTOMERS,
    METAFIELDS,
    AUDIT_LOG,
    PERSONAL_DATA,
)
