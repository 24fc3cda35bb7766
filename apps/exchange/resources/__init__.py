"""The importable and exportable resources. To add a resource, add a module here and an entry in ``RESOURCES``."""

from apps.exchange.domain.resources import register_resource_type
from apps.exchange.resources.audit_log import AUDIT_LOG
from apps.exchange.resources.customers import CUSTOMERS
from apps.exchange.resources.orders import ORDERS
from apps.exchange.resources.personal_data import PERSONAL_DATA
from apps.exchange.resources.products.resource import PRODUCTS
from apps.staff.domain.permissions import grant_custom_permissions, grant_permissions

# Resources in the order shown to staff.
RESOURCES = (ORDERS, PRODUCTS, CUSTOMERS, AUDIT_LOG, PERSONAL_DATA)


def register_resources() -> None:
    """Register the resources, and grant staff the permissions to export and import them."""
    for kind in RESOURCES:
        register_resource_type(kind)
        if kind.exporter is not None:
            grant_custom_permissions(kind.exporter.granted_by, kind.exporter.permission, reads=False)
            grant_permissions(kind.exporter.granted_by, "v", "exchange.export")
        if kind.importer is not None:
            grant_permissions(kind.importer.granted_by, "va", "exchange.import")
            grant_permissions(kind.importer.granted_by, "v", "exchange.importedrow")
