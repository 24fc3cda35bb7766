from collections.abc import Iterable

from django.utils.translation import gettext_noop

from apps.core.i18n.messages import define_message

# Labels of the resources that have a scope for reading and a scope for writing.
_RESOURCES = {
    "script_tags": gettext_noop("scripts in the online store"),
    "products": gettext_noop("products, variants, images and collections"),
    "product_listings": gettext_noop("products and collections in the app's sales channel"),
    "inventory": gettext_noop("inventory levels"),
    "content": gettext_noop("pages, redirects, blogs, articles and comments"),
    "themes": gettext_noop("themes and their files"),
    "resource_feedbacks": gettext_noop("messages to staff about the setup of the app"),
    "marketing_events": gettext_noop("marketing events of the app"),
    "locations": gettext_noop("locations"),
    "shipping": gettext_noop("countries, their tax rates and shipping zones"),
    "mobile_platform_applications": gettext_noop("mobile app registrations"),
    "customers": gettext_noop("customers and their addresses"),
    "orders": gettext_noop("orders, transactions and refunds"),
    "draft_orders": gettext_noop("draft orders and their invoices"),
    "gift_cards": gettext_noop("gift cards and their balances"),
    "price_rules": gettext_noop("price rules and their discount codes"),
    "discounts": gettext_noop("discount codes"),
    "payment_handlers": gettext_noop("checkout payment handlers"),
    "marketplace_orders": gettext_noop("refunds of marketplace orders"),
    "fulfillments": gettext_noop("fulfillment services"),
    "merchant_managed_fulfillment_orders": gettext_noop("fulfillment orders at the shop's own locations"),
    "assigned_fulfillment_orders": gettext_noop("fulfillment orders at the app's own fulfillment services"),
    "third_party_fulfillment_orders": gettext_noop("fulfillment orders at other fulfillment services"),
}

# Scopes that stand alone: the verb of the description, and the label of the resource.
_SINGLE_SCOPES = {
    "read_payment_gateways": ("See", gettext_noop("payment gateways")),
    "read_store_imports": ("See", gettext_noop("imports of stores, and the new IDs of their objects")),
    "read_users": ("See", gettext_noop("staff members")),
    "write_metafields": ("Change", gettext_noop("shop metafields")),
    "write_past_refunds": ("Import", gettext_noop("past refunds (marketplace apps only)")),
    "write_theme_code": ("Change", gettext_noop("theme files (marketplace apps only)")),
}

# Other names of scopes, which existing apps request.
_OTHER_NAMES = {
    f"{verb}_{resource}": f"{verb}_content"
    for verb in ("read", "write")
    for resource in ("online_store_pages", "online_store_navigation")
}

# Labels of resources by the part of the scope after ``read_`` or ``write_``. Pages translate the labels.
RESOURCE_LABELS: dict[str, str] = {
    **_RESOURCES,
    **{scope.split("_", 1)[1]: label for scope, (_, label) in _SINGLE_SCOPES.items()},
}

# Every scope with its description for the API reference.
SCOPES: dict[str, str] = {
    **{f"read_{word}": f"See {label}" for word, label in _RESOURCES.items()},
    **{f"write_{word}": f"See and change {label}" for word, label in _RESOURCES.items()},
    **{scope: f"{verb} {label}" for scope, (verb, label) in _SINGLE_SCOPES.items()},
}

_UNKNOWN = define_message("scopes.unknown", "Unknown scope: {scopes}")


class UnknownScope(ValueError):
    """Raised when a scope name is unknown."""


def parse_scopes(text: str | Iterable[str]) -> list[str]:
    """Return the deduplicated and sorted scopes of a list or a comma-separated string, or raise ``UnknownScope``."""
    parts = text.split(",") if isinstance(text, str) else text
    words = {word.strip() for word in parts} - {""}
    names = {_OTHER_NAMES.get(word, word) for word in words}
    if unknown := sorted(names - SCOPES.keys()):
        raise UnknownScope(_UNKNOWN(scopes=", ".join(unknown)))
    return sorted(names)


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return the scopes together with the scopes that they imply: ``write_x`` includes ``read_x``."""
    granted = set(scopes)
    granted |= {
        f"read_{scope.removeprefix('write_')}" for scope in granted if scope.startswith("write_")
    } & SCOPES.keys()
    return frozenset(granted)


def drop_implied_scopes(scopes: Iterable[str]) -> list[str]:
    """Return the scopes, omitting ``read_`` scopes that are implied by a ``write_`` scope."""
    all_scopes = set(scopes)
    return sorted(
        scope for scope in all_scopes if not (scope.startswith("read_") and f"write_{scope[5:]}" in all_scopes)
    )
