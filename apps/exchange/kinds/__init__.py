"""What can be exported and imported; a further kind is a module here and its name below."""

from apps.exchange.domain.kinds import register
from apps.exchange.kinds.audit_log import AUDIT_LOG
from apps.exchange.kinds.customers import CUSTOMERS
from apps.exchange.kinds.orders import ORDERS
from apps.exchange.kinds.person import PERSON
from apps.exchange.kinds.products.kind import PRODUCTS
from apps.staff.domain.permissions import grant, grant_custom

# In the order in which people are offered them.
KINDS = (ORDERS, PRODUCTS, CUSTOMERS, AUDIT_LOG, PERSON)


def register_all() -> None:
    """Register the kinds, and let the permissions of staff open their files."""
    for kind in KINDS:
        register(kind)
        if kind.exporter is not None:
            grant_custom(kind.exporter.granted_by, kind.exporter.permission, reads=False)
            grant(kind.exporter.granted_by, "v", "exchange.export")
        if kind.importer is not None:
            grant(kind.importer.granted_by, "va", "exchange.import")
            grant(kind.importer.granted_by, "v", "exchange.importedrow")
