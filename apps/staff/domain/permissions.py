"""The permission names of staff, and the Django permissions that each grants in the panel.

The names come from the interface (spec part A, User), but for ``refund_orders``, which is ours; what each grants,
domains say with ``grant``.
"""

from collections import defaultdict
from collections.abc import Iterable

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

_ACTIONS = {"v": "view", "a": "add", "c": "change", "d": "delete"}
_grants: dict[str, set[str]] = defaultdict(set)


def grant(name: str, actions: str, *models: str) -> None:
    """Let a permission name allow actions on models.

    Args:
        name: One of ``NAMES``.
        actions: Letters of ``vacd`` (view, add, change, delete).
        models: Labels such as ``content.scripttag``.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in NAMES:
        raise ValueError(f"Unknown permission name {name!r}")
    for label in models:
        app_label, model = label.split(".")
        _grants[name] |= {f"{app_label}.{_ACTIONS[letter]}_{model}" for letter in actions}


def grant_custom(name: str, *permissions: str) -> None:
    """Let a permission name allow further permissions, such as ``customers.export_customer``."""
    if name not in NAMES:
        raise ValueError(f"Unknown permission name {name!r}")
    _grants[name] |= set(permissions)


def granted_by(names: Iterable[str]) -> frozenset[str]:
    """The Django permissions that a set of names allows; unknown names allow nothing."""
    return frozenset().union(*(_grants.get(name, ()) for name in names))


def names_granting(permission: str) -> list[str]:
    """The names that allow a Django permission, for the page that tells staff what they lack."""
    return [name for name in NAMES if permission in _grants.get(name, ())]
