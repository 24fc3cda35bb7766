"""The staff face of orders."""

from apps.orders.admin import orders, sales
from apps.orders.models import Comment, LineItem, ShippingLine, Transaction
from apps.panel.screens.deleting import tell_as

tell_as(LineItem, "item that was bought", "items that were bought")
tell_as(ShippingLine, "charge for shipping", "charges for shipping")
tell_as(Transaction, "payment that is noted", "payments that are noted")
tell_as(Comment, "comment", "comments")

__all__ = ["orders", "sales"]
