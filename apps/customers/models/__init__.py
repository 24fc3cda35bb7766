"""The tables of customers."""

from apps.customers.models.addresses import Address
from apps.customers.models.consents import ConsentChange, ConsentState, OptInLevel
from apps.customers.models.customers import EDITABLE, NEVER, PERSONAL, SEARCHED, Customer, Invitation
from apps.customers.models.ranks import CustomerProfile, CustomerRank, CustomerWords

__all__ = [
    "EDITABLE",
    "NEVER",
    "PERSONAL",
    "SEARCHED",
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
