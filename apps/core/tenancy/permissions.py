"""Permission names for staff with labels and descriptions, and the Django permissions that they grant in the panel.

All names except ``refund_orders`` also exist in the API. Apps register ``grants`` in their ``admin`` module to define
which Django permissions a name grants. Full access grants all of these Django permissions. View-only access grants only
the Django permissions for reading. Names without a grant belong to features that do not exist yet, so the panel does
not offer them (``get_offered_names``).
"""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.core.registry import Registry

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
    NONE = 0
    VIEW = 1
    FULL = 2


Levels: TypeAlias = Mapping[str, Level]
_ACTIONS = {"v": "view", "a": "add", "c": "change", "d": "delete"}


@dataclass(frozen=True, slots=True)
class Grant:
    """Django permissions that one of ``NAMES`` grants. ``view_only`` is the part that view-only access grants."""

    name: str
    permissions: frozenset[str]
    view_only: frozenset[str]

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"Unknown permission name {self.name!r}")


grants = Registry[str, Grant](
    "permission grants", get_key=lambda grant: f"{grant.name}: {', '.join(sorted(grant.permissions))}"
)


def allow(name: str, actions: str, *models: str) -> Grant:
    """Return a grant of actions on models such as ``content.scripttag``.

    ``actions`` contains the letters ``v``, ``a``, ``c`` and ``d`` for view, add, change and delete.
    """
    labels = [label.split(".") for label in models]
    permissions = {f"{app_label}.{_ACTIONS[action]}_{model}" for app_label, model in labels for action in actions}
    view_only = {f"{app_label}.view_{model}" for app_label, model in labels if "v" in actions}
    return Grant(name, frozenset(permissions), frozenset(view_only))


def allow_custom(name: str, *permissions: str, reads: bool) -> Grant:
    """Return a grant of custom permissions, such as ``customers.export_customer``.

    With ``reads``, view-only access also grants the permissions, as for reports and charts. Exports only read data but
    need full access, because an exported file leaves the shop's control. Other shop software also has a separate
    permission for exports.
    """
    return Grant(name, frozenset(permissions), frozenset(permissions if reads else ()))


def get_granted_permissions(names: Collection[str], view_only: Collection[str] = ()) -> frozenset[str]:
    """Return the Django permissions that these permission names grant. Unknown names grant no permissions."""
    full_permissions = [grant.permissions for grant in grants.values() if grant.name in names]
    return frozenset().union(
        *full_permissions, *[grant.view_only for grant in grants.values() if grant.name in view_only]
    )


def get_granting_names(permission: str) -> list[str]:
    names = {grant.name for grant in grants.values() if permission in grant.permissions}
    return [name for name in NAMES if name in names]


def get_offered_names() -> list[str]:
    """Return the permission names that grant something. Staff can only be given these names."""
    granting = {grant.name for grant in grants.values()}
    return [name for name in NAMES if name in granting]


# Maps each group to its permission names with their labels.
GROUPS: dict[str, dict[str, str]] = {
    gettext_noop("Home"): {
        "dashboard": gettext_noop("View sales on the home page"),
        "overviews": gettext_noop("View charts and overviews"),
        "reports": gettext_noop("View reports"),
    },
    gettext_noop("Orders"): {
        "orders": gettext_noop("View orders and comment on them"),
        "edit_orders": gettext_noop("Fulfill, edit and cancel orders"),
        "refund_orders": gettext_noop("Refund orders"),
        "export_orders": gettext_noop("Export orders"),
        "draft_orders": gettext_noop("Manage draft orders"),
        "export_draft_orders": gettext_noop("Export draft orders"),
    },
    gettext_noop("Products"): {
        "products": gettext_noop("Manage products, collections and inventory"),
        "export_products": gettext_noop("Export products"),
        "gift_cards": gettext_noop("Manage gift cards"),
        "locations": gettext_noop("Manage locations"),
    },
    gettext_noop("Customers"): {
        "customers": gettext_noop("Manage customers and their addresses"),
        "export_customers": gettext_noop("Export customers"),
    },
    gettext_noop("Marketing"): {
        "marketing": gettext_noop("Manage discounts and marketing campaigns"),
        "marketing_section": gettext_noop("Open the marketing section"),
    },
    gettext_noop("Online store"): {
        "themes": gettext_noop("Manage themes and view script tags"),
        "pages": gettext_noop("Manage pages, blogs, articles and comments"),
        "links": gettext_noop("Manage URL redirects"),
        "domains": gettext_noop("Manage domains"),
    },
    gettext_noop("Apps"): {
        "applications": gettext_noop("Install and uninstall apps"),
        "view_private_apps": gettext_noop("View apps and token prefixes"),
        "edit_private_apps": gettext_noop("Create and revoke tokens, and change app access"),
    },
    gettext_noop("Settings"): {
        "preferences": gettext_noop("Change shop settings and view background jobs"),
        "billing_application_charges": gettext_noop("Approve app charges"),
        "billing_charges": gettext_noop("View charges"),
        "billing_invoices_view": gettext_noop("View invoices"),
        "billing_payment_methods_view": gettext_noop("View payment methods"),
        "platform_payments_accounts": gettext_noop("Manage payment handlers and payout accounts"),
        "platform_payments_transfers": gettext_noop("View payouts"),
    },
    gettext_noop("Staff"): {
        "staff_management_create": gettext_noop("Invite staff"),
        "staff_management_update": gettext_noop("Change staff permissions"),
        "staff_management_delete": gettext_noop("Remove staff"),
        "staff_management_activation": gettext_noop("Activate and deactivate staff"),
        "staff_audit_log_view": gettext_noop("View the audit log"),
    },
}

LABELS = {name: label for names in GROUPS.values() for name, label in names.items()}
VIEW_ONLY_SUFFIX = ":view"

# Maps each permission name to a sentence that says what full access allows.
DESCRIPTIONS: dict[str, str] = {
    "dashboard": gettext_noop("Sees the sales of today and of the last 7, 30 or 90 days on the home page."),
    "overviews": gettext_noop("Sees the sales chart on the home page."),
    "reports": gettext_noop("Opens the reports of sales, taxes, refunds, discounts and gift cards."),
    "orders": gettext_noop("Opens orders, fulfillments and documents, and writes comments."),
    "edit_orders": gettext_noop("Fulfills, edits, cancels and deletes orders, records payments and issues invoices."),
    "refund_orders": gettext_noop("Pays money back to customers, also when an order is canceled."),
    "export_orders": gettext_noop("Downloads files with orders and the data of their customers."),
    "draft_orders": gettext_noop("Creates, edits and completes draft orders."),
    "export_draft_orders": gettext_noop("Downloads files with draft orders."),
    "products": gettext_noop("Creates, edits, imports and deletes products and collections, and changes stock."),
    "export_products": gettext_noop("Downloads files with products, stock and metafields."),
    "gift_cards": gettext_noop("Issues gift cards, adjusts their balances and disables them."),
    "locations": gettext_noop("Adds and edits the places that keep and ship stock."),
    "customers": gettext_noop("Creates, edits, imports, merges and deletes customers, and sees their contact data."),
    "export_customers": gettext_noop("Downloads files with customers, addresses and consent to marketing."),
    "marketing": gettext_noop("Creates and edits discounts, their codes and marketing campaigns."),
    "marketing_section": gettext_noop("Opens the pages about marketing."),
    "themes": gettext_noop("Uploads, edits and publishes themes, and sees the scripts that apps add to the store."),
    "pages": gettext_noop("Writes and publishes pages and blog articles, and moderates comments."),
    "links": gettext_noop("Redirects old addresses of the online store to new ones."),
    "domains": gettext_noop("Adds and removes the domains of the shop."),
    "applications": gettext_noop("Installs and removes apps, and adds, tests and resumes webhooks."),
    "view_private_apps": gettext_noop("Sees apps, what each app may access, and the beginnings of tokens."),
    "edit_private_apps": gettext_noop("Registers apps, creates and revokes tokens, and changes what apps may access."),
    "preferences": gettext_noop("Changes settings, policies, documents and metafields, and retries background jobs."),
    "billing_application_charges": gettext_noop("Accepts or declines what apps charge the shop."),
    "billing_charges": gettext_noop("Sees what the shop is charged."),
    "billing_invoices_view": gettext_noop("Sees the invoices that the shop receives."),
    "billing_payment_methods_view": gettext_noop("Sees how the shop pays its invoices."),
    "platform_payments_accounts": gettext_noop("Sets up the payment providers that charge customers."),
    "platform_payments_transfers": gettext_noop("Sees the money that payment providers paid out."),
    "staff_management_create": gettext_noop("Invites staff members and gives them permissions."),
    "staff_management_update": gettext_noop("Changes what other staff members may do."),
    "staff_management_delete": gettext_noop("Removes staff members from this shop and ends their access."),
    "staff_management_activation": gettext_noop("Stops staff members from logging in, or lets them log in again."),
    "staff_audit_log_view": gettext_noop("Sees who changed what and when, for all of the shop."),
}

# Presets for common staff roles. A preset only fills in the form and is not stored.
PRESETS: dict[str, tuple[str, ...]] = {
    gettext_noop("Fulfillment"): ("orders", "edit_orders", "products:view", "locations:view"),
    gettext_noop("Support"): ("orders", "customers", "products:view"),
    gettext_noop("Content"): ("pages", "links", "themes", "products"),
    gettext_noop("Accounting"): (
        "dashboard",
        "overviews",
        "reports",
        "orders:view",
        "export_orders",
        "customers:view",
        "billing_charges",
        "billing_invoices_view",
        "billing_payment_methods_view",
        "platform_payments_transfers",
    ),
    gettext_noop("Developer"): ("applications", "view_private_apps", "edit_private_apps", "themes"),
    gettext_noop("Manager"): tuple(name for name in NAMES if not name.startswith(("billing_", "platform_"))),
    gettext_noop("Viewer"): tuple(f"{name}{VIEW_ONLY_SUFFIX}" for name in NAMES),
}
# Permissions with at most this many differences from a preset are called a changed preset.
_MAX_CHANGES = 2


def find_preset(permissions: Collection[str], view_only: Collection[str]) -> tuple[str, bool]:
    """Return the title of the most similar preset and whether the permissions differ, or a blank title."""
    held = {*permissions, *(f"{name}{VIEW_ONLY_SUFFIX}" for name in view_only)}
    changes, title = min((len(held.symmetric_difference(names)), title) for title, names in PRESETS.items())
    return (title, bool(changes)) if changes <= min(_MAX_CHANGES, len(held) - 1) else ("", True)


def get_permission_labels(names: Iterable[str]) -> list[str]:
    """Return the labels of permission names. Unknown names are returned unchanged."""
    return [_(LABELS[name]) if name in LABELS else name for name in names]


def get_granting_labels(permissions: Iterable[str], *, view_only: Container[str] = ()) -> list[str]:
    """Return the labels of permissions that would grant one of these Django permissions.

    If the user has view-only access for a permission, the label says that full access is required.
    """
    names = list(dict.fromkeys(name for permission in permissions for name in get_granting_names(permission)))
    return [
        _("{permission} (full access instead of view-only access)").format(permission=label)
        if name in view_only
        else label
        for name, label in zip(names, get_permission_labels(names), strict=True)
    ]
