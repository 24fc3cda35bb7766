"""Customers as staff see them."""

from apps.customers.admin.customers import CustomerAdmin
from apps.customers.models import Address, ConsentChange, Invitation
from apps.panel.screens.deleting import tell_as

tell_as(Address, "address", "addresses")
tell_as(ConsentChange, "entry about consent to marketing", "entries about consent to marketing")
tell_as(Invitation, "invitation", "invitations")

__all__ = ["CustomerAdmin"]
