"""Models for webhooks."""

from apps.webhooks.models.deliveries import Attempt, Delivery, Endpoint, Host, Payload, Pending
from apps.webhooks.models.runs import DeliveryRun
from apps.webhooks.models.subscriptions import Health, Subscription
