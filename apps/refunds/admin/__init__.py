from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels, hidden_models
from apps.refunds.admin import event_subjects, order_page, refunds
from apps.refunds.models import (
    OrderAdjustment,
    Refund,
    RefundDuty,
    RefundLineItem,
    RefundPayment,
    RefundShippingLine,
)

delete_labels.add(DeleteLabel(Refund, gettext_lazy("refund"), gettext_lazy("refunds")))
# These rows belong to refunds. The delete page lists only the refunds.
hidden_models.add(OrderAdjustment, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine)
