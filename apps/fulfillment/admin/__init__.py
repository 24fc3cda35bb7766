"""The fulfillment pages of the panel."""

from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels, hidden_models
from apps.fulfillment.admin import event_subjects, fulfillment_queue, order_page, services
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentLine,
    FulfillmentOrder,
    FulfillmentOrderLine,
    MerchantRequest,
)

delete_labels.add(
    DeleteLabel(FulfillmentOrder, gettext_lazy("fulfillment order"), gettext_lazy("fulfillment orders")),
    DeleteLabel(Fulfillment, gettext_lazy("fulfillment"), gettext_lazy("fulfillments")),
    DeleteLabel(FulfillmentEvent, gettext_lazy("tracking event"), gettext_lazy("tracking events")),
    DeleteLabel(FulfillmentHold, gettext_lazy("hold"), gettext_lazy("holds")),
    DeleteLabel(
        MerchantRequest,
        gettext_lazy("request to a fulfillment service"),
        gettext_lazy("requests to fulfillment services"),
    ),
)
# The delete page already lists the order's line items, so listing the rows that refer to line items would be redundant.
hidden_models.add(FulfillmentLine, FulfillmentOrderLine)
