"""Admin pages for refunds."""

from django.utils.translation import gettext_lazy

from apps.panel.admin_base.delete_preview import hide_from_delete_page, register_delete_label
from apps.refunds.admin import order_page, refunds
from apps.refunds.models import (
    OrderAdjustment,
    Refund,
    RefundDuty,
    RefundLineItem,
    RefundPayment,
    RefundShippingLine,
)

register_delete_label(Refund, gettext_lazy("refund"), gettext_lazy("refunds"))
# These rows belong to refunds. The delete page lists only the refunds.
hide_from_delete_page(OrderAdjustment, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine)

__all__ = ["order_page", "refunds"]
