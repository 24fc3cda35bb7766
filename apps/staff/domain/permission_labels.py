"""The permission names in words, grouped as the panel shows them."""

from collections.abc import Iterable

from apps.staff.domain.permissions import NAMES, names_granting

# group -> name -> what staff read
GROUPS: dict[str, dict[str, str]] = {
    "Home": {
        "dashboard": "See sales on the home page",
        "overviews": "See charts and overviews",
        "reports": "See reports",
    },
    "Orders": {
        "orders": "See orders and comment on them",
        "edit_orders": "Fulfil, change and cancel orders",
        "refund_orders": "Refund orders",
        "export_orders": "Export orders",
        "draft_orders": "Draft orders",
        "export_draft_orders": "Export draft orders",
    },
    "Products": {
        "products": "Manage products, collections and stock",
        "export_products": "Export products",
        "gift_cards": "Gift cards",
        "locations": "Manage locations",
    },
    "Customers": {
        "customers": "Manage customers and their addresses",
        "export_customers": "Export customers",
    },
    "Marketing": {
        "marketing": "Marketing campaigns",
        "marketing_section": "Open the marketing section",
    },
    "Online store": {
        "themes": "Manage themes, see script tags",
        "pages": "Manage blogs and articles",
        "links": "Navigation",
        "domains": "Domains",
    },
    "Apps": {
        "applications": "Install and uninstall apps",
        "view_private_apps": "See apps and the beginnings of their tokens",
        "edit_private_apps": "Make and revoke tokens, change what apps may do",
    },
    "Settings": {
        "preferences": "Change the shop's settings, see background jobs",
        "billing_application_charges": "Approve charges of apps",
        "billing_charges": "See charges",
        "billing_invoices_view": "See invoices",
        "billing_payment_methods_view": "See payment methods",
        "platform_payments_accounts": "Manage payment handlers and payout accounts",
        "platform_payments_transfers": "See payouts",
    },
    "Staff": {
        "staff_management_create": "Invite staff",
        "staff_management_update": "Change what staff may do",
        "staff_management_delete": "Remove staff",
        "staff_management_activation": "Activate and deactivate staff",
        "staff_audit_log_view": "See the audit log",
    },
}

LABELS = {name: label for names in GROUPS.values() for name, label in names.items()}

# A start for common jobs; the form fills the boxes in, nothing is stored of the preset itself.
PRESETS: dict[str, tuple[str, ...]] = {
    "Support": ("orders", "customers"),
    "Shipping": ("orders", "edit_orders", "locations"),
    "Editor": ("pages", "themes", "products"),
    "Developer": ("applications", "view_private_apps", "edit_private_apps", "themes"),
    "Manager": tuple(name for name in NAMES if not name.startswith(("billing_", "platform_"))),
}


def in_words(names: Iterable[str]) -> list[str]:
    """The labels of permission names; unknown names as they are."""
    return [LABELS.get(name, name) for name in names]


def granting_in_words(permissions: Iterable[str]) -> list[str]:
    """What to ask the owner for, to be allowed one of these Django permissions."""
    names = (name for permission in permissions for name in names_granting(permission))
    return in_words(dict.fromkeys(names))
