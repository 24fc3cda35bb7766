"""What is changed in bulk; a further kind is a module here and its name below."""

from apps.bulk.domain.kinds import register
from apps.bulk.kinds.customers import CUSTOMERS
from apps.bulk.kinds.orders import ORDERS
from apps.bulk.kinds.products import PRODUCTS
from apps.bulk.kinds.variants import VARIANTS
from apps.staff.domain.permissions import grant, grant_custom

KINDS = (PRODUCTS, VARIANTS, CUSTOMERS, ORDERS)


def register_all() -> None:
    """Register the kinds, and let the permissions of staff open their edits."""
    for kind in KINDS:
        register(kind)
        grant(kind.granted_by, "v", "bulk.bulkedit")
        grant_custom(kind.granted_by, kind.view_permission, reads=True)
