from apps.draft_orders.models.draft_orders import DraftOrder, DraftOrderCounter
from apps.draft_orders.models.invoices import DraftOrderInvoice
from apps.draft_orders.models.lines import DraftOrderLine

__all__ = ["DraftOrder", "DraftOrderCounter", "DraftOrderInvoice", "DraftOrderLine"]
