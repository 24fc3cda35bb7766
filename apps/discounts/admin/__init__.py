from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels, hidden_models
from apps.core.tenancy.permissions import allow, grants
from apps.discounts.admin import customer_page, discounts, event_subjects, order_page, report
from apps.discounts.models import CodeBatch, DiscountCode, DiscountUse, PriceRuleItem

grants.add(allow("marketing", "vacd", "discounts.pricerule", "discounts.discountcode"))
delete_labels.add(
    DeleteLabel(DiscountCode, gettext_lazy("discount code"), gettext_lazy("discount codes")),
    DeleteLabel(
        DiscountUse,
        gettext_lazy("use of a code (the order keeps its discount)"),
        gettext_lazy("uses of codes (the orders keep their discounts)"),
    ),
    DeleteLabel(PriceRuleItem, gettext_lazy("condition of a discount"), gettext_lazy("conditions of discounts")),
)
hidden_models.add(CodeBatch)
