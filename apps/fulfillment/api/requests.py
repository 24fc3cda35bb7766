"""The routes by which a merchant and a fulfillment service agree: requests, cancellations, and their answers."""

from collections.abc import Callable

from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.api.requests.views import ONE
from apps.api.resources.fields import IntegerField
from apps.api.resources.members import ObjectsField
from apps.api.shapes import Attrs
from apps.fulfillment.api.access import AT_SERVICES, SERVICE_SIDE
from apps.fulfillment.api.views import MAX_LINES, MESSAGE, FulfillmentOrderViews, answer, lines, wrapped
from apps.fulfillment.domain import requests
from apps.fulfillment.domain.states import Side
from apps.fulfillment.domain.units import LINES
from apps.fulfillment.models import FulfillmentOrder
from apps.orders.api.fields import flag, string

_REQUEST = {"message": string(1000), "notify_customer": flag(), LINES: lines()}
_REJECTION = {
    "message": string(1000),
    "reason": string(255),
    "line_items": ObjectsField(
        {"fulfillment_order_line_item_id": IntegerField(min_value=1), "message": string(1000)}, most=MAX_LINES
    ),
}


class FulfillmentRequestViewSet(FulfillmentOrderViews):
    """``/fulfillment_orders/{id}/fulfillment_request``."""

    sides = {"send": AT_SERVICES, "accept": SERVICE_SIDE, "reject": SERVICE_SIDE}
    bodies = {
        "send": wrapped("fulfillment_request", _REQUEST, required=False),
        "accept": wrapped("fulfillment_request", MESSAGE, required=False),
        "reject": wrapped("fulfillment_request", _REJECTION, required=False),
    }
    answers = {
        "send": answer(
            "original_fulfillment_order",
            "submitted_fulfillment_order",
            maybe=("unsubmitted_fulfillment_order",),
        ),
        "accept": ONE,
        "reject": ONE,
    }

    def send(self, request: Request, **_: int) -> HttpResponse:
        """Send a fulfillment request for a fulfillment order, or some of its units, to who manages its location."""
        given = self.inner("fulfillment_request", _REQUEST, required=False)
        with transaction.atomic():
            row, others = requests.request_fulfillment(
                self.chosen(Side.MERCHANT),
                message=given.get("message") or "",
                notify_customer=bool(given.get("notify_customer")),
                lines=given.get(LINES),
                actor=self.actor,
                at=self.at,
            )
            return self.several(
                original_fulfillment_order=row,
                submitted_fulfillment_order=row,
                unsubmitted_fulfillment_order=others,
            )

    def accept(self, request: Request, **_: int) -> HttpResponse:
        """Accept a fulfillment request that was sent to the calling app."""
        given = self.inner("fulfillment_request", MESSAGE, required=False)
        return self._answered(requests.accept_request, given)

    def reject(self, request: Request, **_: int) -> HttpResponse:
        """Reject a fulfillment request that was sent to the calling app."""
        given = self.inner("fulfillment_request", _REJECTION, required=False)
        said = {"reason": given.get("reason") or "", "lines": given.get("line_items") or ()}
        return self._answered(requests.reject_request, given, **said)

    def _answered(self, answered: Callable[..., FulfillmentOrder], given: Attrs, **said: object) -> HttpResponse:
        with transaction.atomic():
            row = self.chosen(Side.WORKER)
            answered(row, message=given.get("message") or "", actor=self.actor, at=self.at, **said)
            return self.object_response(row.pk)


class CancellationRequestViewSet(FulfillmentOrderViews):
    """``/fulfillment_orders/{id}/cancellation_request``."""

    sides = {"send": AT_SERVICES, "accept": SERVICE_SIDE, "reject": SERVICE_SIDE}
    bodies = dict.fromkeys(("send", "accept", "reject"), wrapped("cancellation_request", MESSAGE, required=False))
    answers = {"send": ONE, "accept": ONE, "reject": ONE}

    def send(self, request: Request, **_: int) -> HttpResponse:
        """Send a cancellation request for a fulfillment order that was accepted."""
        return self._said(requests.request_cancellation, Side.MERCHANT)

    def accept(self, request: Request, **_: int) -> HttpResponse:
        """Accept a cancellation request; what was not sent goes to a new fulfillment order."""
        return self._said(requests.accept_cancellation, Side.WORKER)

    def reject(self, request: Request, **_: int) -> HttpResponse:
        """Reject a cancellation request, and go on with the work."""
        return self._said(requests.reject_cancellation, Side.WORKER)

    def _said(self, change: Callable[..., FulfillmentOrder], side: Side) -> HttpResponse:
        given = self.inner("cancellation_request", MESSAGE, required=False)
        with transaction.atomic():
            row = self.chosen(side)
            change(row, message=given.get("message") or "", actor=self.actor, at=self.at)
            return self.object_response(row.pk)
