"""Models for customers."""

from apps.customers.models.addresses import Address
from apps.customers.models.consents import ConsentChange, ConsentState, OptInLevel
from apps.customers.models.customers import (
    EDITABLE_FIELDS,
    NEVER_ORDERED,
    PERSONAL_FIELDS,
    SEARCH_COLUMNS,
    Customer,
    Invitation,
)
from apps.customers.models.ranks import CustomerProfile, CustomerRank, CustomerWords

__all__ = [
    "EDITABLE_FIELDS",
    "NEVER_ORDERED",
    "PERSONAL_FIELDS",
    "SEARCH_COLUMNS",
    "Address",
    "ConsentChange",
    "ConsentState",
    "Customer",
    "CustomerProfile",
    "CustomerRank",
    "CustomerWords",
    "Invitation",
    "OptInLevel",
]
