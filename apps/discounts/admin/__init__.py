from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels
from apps.core.tenancy.permissions import allow, grants
from apps.discounts.admin import customer_page, discounts, event_subjects, order_page, report
from apps.discounts.models import PriceRuleItem

grants.add(allow("marketing", "vacd", "discounts.pricerule", "discounts.discountcode"))
delete_labels.add(
    DeleteLabel(PriceRuleItem, gettext_lazy("condition of a discount"), gettext_lazy("conditions of discounts"))
)
