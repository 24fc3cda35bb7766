"""The product tables of other systems. To add a system, add a module here and an entry in ``FORMATS``."""

from apps.imports_exports.resources.products.foreign_tables.bigcommerce import BIGCOMMERCE
from apps.imports_exports.resources.products.foreign_tables.magento import MAGENTO
from apps.imports_exports.resources.products.foreign_tables.prestashop import PRESTASHOP
from apps.imports_exports.resources.products.foreign_tables.woocommerce import WOOCOMMERCE

FORMATS = (WOOCOMMERCE, MAGENTO, BIGCOMMERCE, PRESTASHOP)
