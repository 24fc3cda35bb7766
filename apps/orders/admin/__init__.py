"""Admin pages for orders."""

from django.utils.translation import gettext_lazy

from apps.orders.admin import dashboard_cards, orders
from apps.orders.models import Comment, LineItem, ShippingLine, Transaction
from apps.panel.admin_base.delete_preview import register_delete_label

register_delete_label(LineItem, gettext_lazy("ordered item"), gettext_lazy("ordered items"))
register_delete_label(ShippingLine, gettext_lazy("shipping charge"), gettext_lazy("shipping charges"))
register_delete_label(Transaction, gettext_lazy("recorded payment"), gettext_lazy("recorded payments"))
register_delete_label(Comment, gettext_lazy("comment"), gettext_lazy("comments"))

__all__ = ["dashboard_cards", "orders"]
