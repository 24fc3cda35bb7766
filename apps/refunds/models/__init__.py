"""Models for refunds."""

from apps.refunds.models.payments import BogusMovement, RefundPayment
from apps.refunds.models.refunds import (
    OrderAdjustment,
    Refund,
    RefundDuty,
    RefundLineItem,
    RefundReason,
    RefundShippingLine,
)

__all__ = [
    "BogusMovement",
    "OrderAdjustment",
    "Refund",
    "RefundDuty",
    "RefundLineItem",
    "RefundPayment",
    "RefundReason",
    "RefundShippingLine",
]
