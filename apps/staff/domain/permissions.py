"""The permission names of staff, and the Django permissions that each grants in the panel.

The names come from the interface (spec part A, User), but for ``refund_orders``, which is ours; what each grants,
domains say with ``grant``. A name is held fully or for viewing only; the latter allows what reads and nothing else.
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
    """How a permission name is held."""

    NONE = 0
    VIEW = 1
    FULL = 2


Levels: TypeAlias = Mapping[str, Level]
_ACTIONS = {"v": "view", "a": "add", "c": "change", "d": "delete"}
_grants: dict[str, set[str]] = defaultdict(set)
# What of them only reads, and is left to whoever holds the name for viewing only.
_readings: dict[str, set[str]] = defaultdict(set)


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
        if "v" in actions:
            _readings[name].add(f"{app_label}.view_{model}")


def grant_custom(name: str, *permissions: str, reads: bool) -> None:
    """Let a permission name allow further permissions, such as ``customers.export_customer``.

    Args:
        name: One of ``NAMES``.
        permissions: Django permissions.
        reads: Whether they also belong to whoever holds the name for viewing only: reports and charts do. An export
            does not, though it only reads: it leaves a file with everybody's data that nobody sees any more, and
            staff who know other shop software expect exporting to be a right apart from looking.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in NAMES:
        raise ValueError(f"Unknown permission name {name!r}")
    _grants[name] |= set(permissions)
    if reads:
        _readings[name] |= set(permissions)


def granted_by(names: Iterable[str], view_only: Iterable[str] = ()) -> frozenset[str]:
    """The Django permissions that names allow, held fully and for viewing only; unknown names allow nothing."""
    fully = (_grants.get(name, ()) for name in names)
    return frozenset().union(*fully, *(_readings.get(name, ()) for name in view_only))


def names_granting(permission: str) -> list[str]:
    """The names that allow a Django permission, for the page that tells staff what they lack."""
    return [name for name in NAMES if permission in _grants.get(name, ())]
