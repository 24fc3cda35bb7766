"""The bulk edit targets. To add a target, add a module here and an entry in ``TARGETS``."""

from apps.bulk.domain.targets import register_target
from apps.bulk.targets.customers import CUSTOMERS
from apps.bulk.targets.orders import ORDERS
from apps.bulk.targets.products import PRODUCTS
from apps.bulk.targets.variants import VARIANTS
from apps.staff.domain.permissions import grant_custom_permissions, grant_permissions

TARGETS = (PRODUCTS, VARIANTS, CUSTOMERS, ORDERS)


def register_targets() -> None:
    """Register the targets, and let staff with the matching permissions view the edits."""
    for kind in TARGETS:
        register_target(kind)
        grant_permissions(kind.granted_by, "v", "bulk.bulkedit")
        grant_custom_permissions(kind.granted_by, kind.view_permission, reads=True)
