"""The fulfillment pages of the panel."""

from django.utils.translation import gettext_lazy

from apps.fulfillment.admin import fulfillment_queue, order_page, services, uninstall_preview
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentLine,
    FulfillmentOrder,
    FulfillmentOrderLine,
    MerchantRequest,
)
from apps.panel.admin_base.delete_preview import hide_from_delete_page, register_delete_label

register_delete_label(FulfillmentOrder, gettext_lazy("fulfillment order"), gettext_lazy("fulfillment orders"))
register_delete_label(Fulfillment, gettext_lazy("fulfillment"), gettext_lazy("fulfillments"))
register_delete_label(FulfillmentEvent, gettext_lazy("tracking event"), gettext_lazy("tracking events"))
register_delete_label(FulfillmentHold, gettext_lazy("hold"), gettext_lazy("holds"))
register_delete_label(
    MerchantRequest, gettext_lazy("request to a fulfillment service"), gettext_lazy("requests to fulfillment services")
)
# The delete page already lists the order's line items, so listing the rows that refer to line items would be redundant.
hide_from_delete_page(FulfillmentLine, FulfillmentOrderLine)

__all__ = ["fulfillment_queue", "order_page", "services", "uninstall_preview"]
