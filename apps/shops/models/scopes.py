"""Access scopes: which exist, what they say in words, and what one brings along.

Rule: spec part A, Authentication; decisions, Access.
"""

from collections.abc import Iterable

from django.utils.translation import gettext_noop

from apps.ground.retelling import tells

# word -> what staff read when they grant it
RESOURCES = {
    "script_tags": gettext_noop("scripts on storefront pages"),
    "products": gettext_noop("products, variants, images and collections"),
    "inventory": gettext_noop("stock levels"),
    "content": gettext_noop("blogs and articles"),
    "themes": gettext_noop("themes and their files"),
    "locations": gettext_noop("locations"),
    "mobile_platform_applications": gettext_noop("mobile app registrations"),
    "customers": gettext_noop("customers and their addresses"),
    "orders": gettext_noop("orders, transactions and refunds"),
    "payment_handlers": gettext_noop("payment handlers of the checkout"),
    "marketplace_orders": gettext_noop("refunds of marketplace orders"),
    "fulfillments": gettext_noop("fulfillment services"),
    "merchant_managed_fulfillment_orders": gettext_noop("fulfillment orders at the shop's own locations"),
    "assigned_fulfillment_orders": gettext_noop("fulfillment orders at the app's own services"),
    "third_party_fulfillment_orders": gettext_noop("fulfillment orders at other services"),
}

SCOPES: dict[str, str] = {
    **{f"read_{word}": f"See {label}" for word, label in RESOURCES.items()},
    **{f"write_{word}": f"See and change {label}" for word, label in RESOURCES.items()},
    "read_users": "See " + gettext_noop("the staff of the shop"),
    "write_metafields": gettext_noop("Change the shop's own metafields"),
    "write_past_refunds": gettext_noop("Import refunds that were made earlier, as an app from the marketplace"),
    "write_theme_code": gettext_noop("Change theme files as a marketplace app"),
}

_UNKNOWN = tells(gettext_noop("Unknown scope: {scopes}"))


class UnknownScope(ValueError):
    """A word that names no scope."""


def parse_scopes(text: str | Iterable[str]) -> list[str]:
    """Read scopes from a comma-separated text or a list: known ones, once each, sorted.

    Raises:
        UnknownScope: A word names no scope; the message names it.
    """
    words = text.split(",") if isinstance(text, str) else text
    wanted = {word.strip() for word in words} - {""}
    if unknown := sorted(wanted - SCOPES.keys()):
        raise UnknownScope(_UNKNOWN.format(scopes=", ".join(unknown)))
    return sorted(wanted)


def expand(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes and what they bring: ``write_x`` also reads ``x``."""
    granted = set(scopes)
    granted |= {
        f"read_{scope.removeprefix('write_')}" for scope in granted if scope.startswith("write_")
    } & SCOPES.keys()
    return frozenset(granted)
