"""Permission names for staff, and the Django permissions that they grant in the panel.

All names except ``refund_orders`` also exist in the API. Apps call ``grant_permissions`` to define which Django
permissions a name grants. Full access grants all of these Django permissions. View-only access grants only the Django
permissions for reading.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TypeAlias

NAMES = (
    "applications",
    "billing_application_charges",
    "billing_charges",
    "billing_invoices_view",
    "billing_payment_methods_view",
    "customers",
    "dashboard",
    "domains",
    "draft_orders",
    "edit_orders",
    "edit_private_apps",
    "export_customers",
    "export_draft_orders",
    "export_products",
    "export_orders",
    "gift_cards",
    "links",
    "locations",
    "marketing",
    "marketing_section",
    "orders",
    "overviews",
    "pages",
    "preferences",
    "products",
    "reports",
    "platform_payments_accounts",
    "platform_payments_transfers",
    "refund_orders",
    "staff_audit_log_view",
    "staff_management_activation",
    "staff_management_create",
    "staff_management_delete",
    "staff_management_update",
    "themes",
    "view_private_apps",
)


class Level(IntEnum):
    """The level of access for a permission name."""

    NONE = 0
    VIEW = 1
    FULL = 2


Levels: TypeAlias = Mapping[str, Level]
_ACTIONS = {"v": "view", "a": "add", "c": "change", "d": "delete"}
_grants: dict[str, set[str]] = defaultdict(set)
# The Django permissions that view-only access grants, by permission name.
_readings: dict[str, set[str]] = defaultdict(set)


def grant_permissions(name: str, actions: str, *models: str) -> None:
    """Define actions on models that a permission name grants.

    Args:
        name: One of ``NAMES``.
        actions: One or more of the letters ``v``, ``a``, ``c`` and ``d`` for view, add, change and delete.
        models: Model labels such as ``content.scripttag``.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in NAMES:
        raise ValueError(f"Unknown permission name {name!r}")
    for label in models:
        app_label, model = label.split(".")
        _grants[name] |= {f"{app_label}.{_ACTIONS[action]}_{model}" for action in actions}
        if "v" in actions:
            _readings[name].add(f"{app_label}.view_{model}")


def grant_custom_permissions(name: str, *permissions: str, reads: bool) -> None:
    """Define custom permissions that a permission name grants, such as ``customers.export_customer``.

    Args:
        name: One of ``NAMES``.
        permissions: Django permissions.
        reads: True if view-only access also grants these permissions, as for reports and charts. Exports only read data
            but need full access, because an exported file leaves the shop's control. Other shop software also has a
            separate permission for exports.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in NAMES:
        raise ValueError(f"Unknown permission name {name!r}")
    _grants[name] |= set(permissions)
    if reads:
        _readings[name] |= set(permissions)


def get_granted_permissions(names: Iterable[str], view_only: Iterable[str] = ()) -> frozenset[str]:
    """Return the Django permissions that these permission names grant. Unknown names grant no permissions."""
    full_permissions = (_grants.get(name, ()) for name in names)
    return frozenset().union(*full_permissions, *(_readings.get(name, ()) for name in view_only))


def get_granting_names(permission: str) -> list[str]:
    """Return the permission names that grant a Django permission."""
    return [name for name in NAMES if permission in _grants.get(name, ())]
