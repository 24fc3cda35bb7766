"""The bulk edit targets. To add a target, add a module here and an entry in ``TARGETS``."""

from apps.bulk_edits.targets.customers import CUSTOMERS
from apps.bulk_edits.targets.orders import ORDERS
from apps.bulk_edits.targets.products import PRODUCTS
from apps.bulk_edits.targets.variants import VARIANTS

TARGETS = (PRODUCTS, VARIANTS, CUSTOMERS, ORDERS)
