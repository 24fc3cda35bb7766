"""Columns that hold no words of customers: what warehouses are called and where they are reached, and what carriers do.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "fulfillment.FulfillmentService": ("name", "handle", "callback_url"),
    "fulfillment.FulfillmentOrder": ("presented_name", "service_code", "source_reference"),
    "fulfillment.FulfillmentHold": ("actor",),
    "fulfillment.Fulfillment": ("name", "service", "tracking_company", "shipment_status"),
    "fulfillment.PullAttempt": ("outcome",),
}
