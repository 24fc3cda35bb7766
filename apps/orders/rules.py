"""What an order's contact details must be, whichever face they come through."""

from collections.abc import Mapping
from typing import Any

from apps.customers.contacts import NotAnEmail, NotAPhone, canonical_email, canonical_phone
from apps.shops.tenancy import current_shop

Errors = dict[str, list[str]]
TEXTS = ("email", "phone", "note", "tags", "po_number")


def clean(attrs: Mapping[str, Any]) -> tuple[dict[str, Any], Errors]:
    """The values as they are stored, and what is wrong with them.

    Args:
        attrs: Columns of ``Order``; null stands for blank in texts.
    """
    cleaned = {name: ("" if value is None and name in TEXTS else value) for name, value in attrs.items()}
    errors: Errors = {}
    try:
        if cleaned.get("email"):
            cleaned["email"] = canonical_email(cleaned["email"])
    except NotAnEmail:
        errors["email"] = ["is invalid"]
    try:
        if cleaned.get("phone"):
            cleaned["phone"] = canonical_phone(cleaned["phone"], current_shop().country_code)
    except NotAPhone:
        errors["phone"] = ["is invalid"]
    return cleaned, errors
