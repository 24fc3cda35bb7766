from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels
from apps.discounts.admin import report
from apps.discounts.models import PriceRuleItem

delete_labels.add(
    DeleteLabel(PriceRuleItem, gettext_lazy("condition of a discount"), gettext_lazy("conditions of discounts"))
)
