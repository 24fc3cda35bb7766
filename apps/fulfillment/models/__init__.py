"""Models for fulfillment."""

from apps.fulfillment.models.fulfillments import Fulfillment, FulfillmentEvent, FulfillmentLine
from apps.fulfillment.models.orders import (
    STATES,
    FulfillmentHold,
    FulfillmentOrder,
    FulfillmentOrderLine,
    MerchantRequest,
)
from apps.fulfillment.models.services import FulfillmentService, Pull, PullAttempt
