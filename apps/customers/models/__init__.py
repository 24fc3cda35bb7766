"""The tables of customers."""

from apps.customers.models.addresses import Address
from apps.customers.models.consents import ConsentChange, ConsentState, OptInLevel
from apps.customers.models.customers import NEVER, Customer, Invitation

__all__ = ["NEVER", "Address", "ConsentChange", "ConsentState", "Customer", "Invitation", "OptInLevel"]
