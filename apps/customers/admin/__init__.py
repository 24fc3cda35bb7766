"""The customer pages of the panel."""

from django.utils.translation import gettext_lazy

from apps.customers.admin.customers import CustomerAdmin
from apps.customers.models import Address, ConsentChange, Invitation
from apps.panel.admin_base.delete_preview import register_delete_label

register_delete_label(Address, gettext_lazy("address"), gettext_lazy("addresses"))
register_delete_label(ConsentChange, gettext_lazy("marketing consent entry"), gettext_lazy("marketing consent entries"))
register_delete_label(Invitation, gettext_lazy("invitation"), gettext_lazy("invitations"))

__all__ = ["CustomerAdmin"]
