from apps.refunds.models.refunds import (
    BogusMovement,
    OrderAdjustment,
    Refund,
    RefundDuty,
    RefundLineItem,
    RefundPayment,
    RefundReason,
    RefundShippingLine,
)
