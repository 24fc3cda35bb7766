from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels
from apps.draft_orders.admin import customer_page, draft_orders, order_page
from apps.draft_orders.models import DraftOrderLine

delete_labels.add(DeleteLabel(DraftOrderLine, gettext_lazy("draft order line"), gettext_lazy("draft order lines")))
