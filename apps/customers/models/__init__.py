"""The tables of customers."""

from apps.customers.models.customers import (
    NEVER,
    Address,
    ConsentChange,
    ConsentState,
    Customer,
    Invitation,
    OptInLevel,
)

__all__ = ["NEVER", "Address", "ConsentChange", "ConsentState", "Customer", "Invitation", "OptInLevel"]
