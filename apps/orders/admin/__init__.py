"""The staff face of orders."""

from django.utils.translation import gettext_lazy

from apps.orders.admin import orders, sales
from apps.orders.models import Comment, LineItem, ShippingLine, Transaction
from apps.panel.screens.deleting import tell_as

tell_as(LineItem, gettext_lazy("item that was bought"), gettext_lazy("items that were bought"))
tell_as(ShippingLine, gettext_lazy("charge for shipping"), gettext_lazy("charges for shipping"))
tell_as(Transaction, gettext_lazy("payment that is noted"), gettext_lazy("payments that are noted"))
tell_as(Comment, gettext_lazy("comment"), gettext_lazy("comments"))

__all__ = ["orders", "sales"]
