"""Declare which fulfillment columns never contain personal data.

These columns contain service names, callback URLs, and carrier data.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "fulfillment.FulfillmentService": ("name", "handle", "callback_url"),
    "fulfillment.FulfillmentOrder": ("presented_name", "service_code", "source_reference"),
    "fulfillment.FulfillmentHold": ("actor",),
    "fulfillment.Fulfillment": ("name", "service", "tracking_company", "shipment_status"),
    "fulfillment.PullAttempt": ("outcome",),
}
