"""Notify a service about a new request: ``POST <callback URL>fulfillment_order_notification``.

The service then reads its assigned fulfillment orders over REST.
"""

from datetime import datetime

from django.db import models

from apps.fulfillment.models import FulfillmentService
from apps.webhooks.domain import app_callbacks
from apps.webhooks.models import Delivery

PATH = "fulfillment_order_notification"


class RequestKind(models.TextChoices):
    """The kind of request that a notification announces."""

    FULFILLMENT = "FULFILLMENT_REQUEST", "Fulfil"
    CANCELLATION = "CANCELLATION_REQUEST", "Cancel"


def notify_service(service: FulfillmentService, kind: RequestKind, *, at: datetime) -> Delivery:
    """Notify a service about a request, after the current transaction commits.

    Args:
        service: The service.
        kind: The kind of request.
        at: The time of the request.
    """
    return app_callbacks.send_call(_get_url(service), {"kind": kind.value}, topic=PATH, app=service.app, at=at)


def get_recent_notifications(service: FulfillmentService, *, most: int) -> list[Delivery]:
    """List the latest notifications to a service, newest first."""
    return app_callbacks.get_recent_calls(_get_url(service), limit=most)


def cancel_notifications(service: FulfillmentService) -> None:
    """Cancel the undelivered notifications to a service."""
    app_callbacks.cancel_calls(_get_url(service))


def _get_url(service: FulfillmentService) -> str:
    return f"{service.callback_url}{PATH}"
