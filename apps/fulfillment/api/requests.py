from collections.abc import Callable

from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import IntegerField
from apps.core.rest.resources.nested_objects import ObjectListField
from apps.fulfillment.api.fulfillment_order_views import (
    MAX_LINES,
    MESSAGE,
    FulfillmentOrderBaseViewSet,
    create_body_schema,
    create_lines_field,
    create_response_schema,
)
from apps.fulfillment.api.permissions import MERCHANT_SIDE_AT_SERVICES, SERVICE_SIDE
from apps.fulfillment.domain.fulfillment_orders import requests
from apps.fulfillment.domain.fulfillment_orders.quantities import LINES
from apps.fulfillment.domain.fulfillment_orders.states import Side
from apps.orders.api.fields import nullable_bool, nullable_text

_REQUEST = {"message": nullable_text(1000), "notify_customer": nullable_bool(), LINES: create_lines_field()}
_REJECTION = {
    "message": nullable_text(1000),
    "reason": nullable_text(255),
    "line_items": ObjectListField(
        {"fulfillment_order_line_item_id": IntegerField(min_value=1), "message": nullable_text(1000)}, most=MAX_LINES
    ),
}


class FulfillmentRequestViewSet(FulfillmentOrderBaseViewSet):
    sides = {"send": MERCHANT_SIDE_AT_SERVICES, "accept": SERVICE_SIDE, "reject": SERVICE_SIDE}
    request_bodies = {
        "send": create_body_schema("fulfillment_request", _REQUEST, required=False),
        "accept": create_body_schema("fulfillment_request", MESSAGE, required=False),
        "reject": create_body_schema("fulfillment_request", _REJECTION, required=False),
    }
    responses = {
        "send": create_response_schema(
            "original_fulfillment_order",
            "submitted_fulfillment_order",
            maybe=("unsubmitted_fulfillment_order",),
        ),
        "accept": ONE,
        "reject": ONE,
    }

    def send(self, request: Request, **_: int) -> HttpResponse:
        """Send the fulfillment service a request for a fulfillment order, or for some of its items."""
        attrs = self.read_body_members("fulfillment_request", _REQUEST, required=False)
        with transaction.atomic():
            row, unsubmitted = requests.request_fulfillment(
                self.get_for_side(Side.MERCHANT),
                message=attrs.get("message") or "",
                notify_customer=bool(attrs.get("notify_customer")),
                lines=attrs.get(LINES),
                actor=self.actor,
                at=self.at,
            )
            return self.render_several(
                original_fulfillment_order=row,
                submitted_fulfillment_order=row,
                unsubmitted_fulfillment_order=unsubmitted,
            )

    def accept(self, request: Request, **_: int) -> HttpResponse:
        """Accept a fulfillment request that was sent to the calling app."""
        attrs = self.read_body_members("fulfillment_request", MESSAGE, required=False)
        return self.change(Side.WORKER, requests.accept_request, message=attrs.get("message") or "")

    def reject(self, request: Request, **_: int) -> HttpResponse:
        """Reject a fulfillment request that was sent to the calling app."""
        attrs = self.read_body_members("fulfillment_request", _REJECTION, required=False)
        return self.change(
            Side.WORKER,
            requests.reject_request,
            message=attrs.get("message") or "",
            reason=attrs.get("reason") or "",
            lines=attrs.get("line_items") or (),
        )


class CancellationRequestViewSet(FulfillmentOrderBaseViewSet):
    sides = {"send": MERCHANT_SIDE_AT_SERVICES, "accept": SERVICE_SIDE, "reject": SERVICE_SIDE}
    request_bodies = dict.fromkeys(
        ("send", "accept", "reject"), create_body_schema("cancellation_request", MESSAGE, required=False)
    )
    responses = {"send": ONE, "accept": ONE, "reject": ONE}

    def send(self, request: Request, **_: int) -> HttpResponse:
        """Send the fulfillment service a cancellation request for an accepted fulfillment order."""
        return self._change_with_message(Side.MERCHANT, requests.request_cancellation)

    def accept(self, request: Request, **_: int) -> HttpResponse:
        """Accept a cancellation request and move the unfulfilled items to a new fulfillment order."""
        return self._change_with_message(Side.WORKER, requests.accept_cancellation)

    def reject(self, request: Request, **_: int) -> HttpResponse:
        """Reject a cancellation request, so that the fulfillment order remains in progress."""
        return self._change_with_message(Side.WORKER, requests.reject_cancellation)

    def _change_with_message(self, side: Side, transition: Callable[..., object]) -> HttpResponse:
        attrs = self.read_body_members("cancellation_request", MESSAGE, required=False)
        return self.change(side, transition, message=attrs.get("message") or "")
