from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels
from apps.orders.admin import dashboard_cards, event_subjects, orders, risks
from apps.orders.models import Comment, LineItem, OrderRisk, ShippingLine, Transaction

delete_labels.add(
    DeleteLabel(LineItem, gettext_lazy("ordered item"), gettext_lazy("ordered items")),
    DeleteLabel(ShippingLine, gettext_lazy("shipping charge"), gettext_lazy("shipping charges")),
    DeleteLabel(Transaction, gettext_lazy("recorded payment"), gettext_lazy("recorded payments")),
    DeleteLabel(OrderRisk, gettext_lazy("risk assessment"), gettext_lazy("risk assessments")),
    DeleteLabel(Comment, gettext_lazy("comment"), gettext_lazy("comments")),
)
