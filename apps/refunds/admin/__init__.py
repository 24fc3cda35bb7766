"""The staff face of refunds."""

from django.utils.translation import gettext_lazy

from apps.panel.screens.deleting import tell_as, tell_nothing_of
from apps.refunds.admin import on_orders, refunds
from apps.refunds.models import (
    OrderAdjustment,
    Refund,
    RefundDuty,
    RefundLineItem,
    RefundPayment,
    RefundShippingLine,
)

tell_as(Refund, gettext_lazy("refund"), gettext_lazy("refunds"))
# Parts of refunds, and of the payments that are noted.
tell_nothing_of(OrderAdjustment, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine)

__all__ = ["on_orders", "refunds"]
