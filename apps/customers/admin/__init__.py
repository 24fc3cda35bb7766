"""Customers as staff see them."""

from django.utils.translation import gettext_lazy

from apps.customers.admin.customers import CustomerAdmin
from apps.customers.models import Address, ConsentChange, Invitation
from apps.panel.screens.deleting import tell_as

tell_as(Address, gettext_lazy("address"), gettext_lazy("addresses"))
tell_as(
    ConsentChange, gettext_lazy("entry about consent to marketing"), gettext_lazy("entries about consent to marketing")
)
tell_as(Invitation, gettext_lazy("invitation"), gettext_lazy("invitations"))

__all__ = ["CustomerAdmin"]
