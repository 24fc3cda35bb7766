"""Telling a service that a request waits for it: ``POST <callback URL>fulfillment_order_notification``.

The service then asks for its assigned fulfillment orders over REST. Rule: spec part B, Callbacks.
"""

from datetime import datetime

from django.db import models

from apps.fulfillment.models import FulfillmentService
from apps.webhooks.domain import calls
from apps.webhooks.models import Delivery

PATH = "fulfillment_order_notification"


class Request(models.TextChoices):
    """What a service is asked to do."""

    FULFILLMENT = "FULFILLMENT_REQUEST", "Fulfil"
    CANCELLATION = "CANCELLATION_REQUEST", "Cancel"


def notify(service: FulfillmentService, kind: Request, *, at: datetime) -> Delivery:
    """Tell a service that a request waits, once the current transaction is committed.

    Args:
        service: Whom.
        kind: What it is asked to do.
        at: When it was asked.
    """
    return calls.send_call(_address(service), {"kind": kind.value}, topic=PATH, app=service.app, at=at)


def calls_of(service: FulfillmentService, *, most: int) -> list[Delivery]:
    """What a service was told lately, newest first."""
    return calls.recent_calls(_address(service), most=most)


def stop_notifying(service: FulfillmentService) -> None:
    """Let what waits to be told to a service go unsaid."""
    calls.cancel_calls(_address(service))


def _address(service: FulfillmentService) -> str:
    return f"{service.callback_url}{PATH}"
