"""Labels, forms and functions for fulfillment order actions. The state table defines when an action is allowed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.staff_request import EventKwargs
from apps.fulfillment.admin.forms import (
    ActionForm,
    DeadlineForm,
    HoldForm,
    MessageForm,
    MoveForm,
    RejectForm,
    RequestForm,
    RescheduleForm,
)
from apps.fulfillment.domain.fulfillment_orders import moves, requests, transitions
from apps.fulfillment.domain.fulfillment_orders.states import Action
from apps.fulfillment.models import FulfillmentOrder

# Calls the domain function with the fulfillment order or fulfillment, the valid form, the actor and the time.
Run = Callable[[Any, Any, EventKwargs], object]


@dataclass(frozen=True, slots=True)
class FulfillmentAction:
    """An action on a fulfillment order or a fulfillment. ``kind`` is the button's style (``primary``, ``danger``)."""

    label: StrOrPromise
    description: StrOrPromise
    success_message: StrOrPromise
    form: Callable[..., Any]
    run: Run
    kind: str = ""


def _set_deadline(row: FulfillmentOrder, form: ActionForm, by: EventKwargs) -> object:
    fulfill_by = form.cleaned_data["fulfill_by"]
    return transitions.set_deadlines(FulfillmentOrder.rows(), [row.pk], fulfill_by=fulfill_by, **by)


def _run(transition: Callable[..., object], **fields: str) -> Run:
    """Return a function that passes form fields to a domain function. ``fields`` maps arguments to form fields."""

    def run(row: FulfillmentOrder, form: ActionForm, by: EventKwargs) -> object:
        values = {name: form.cleaned_data[field] for name, field in fields.items()}
        if form.allows_partial:
            values["lines"] = form.selected_lines
        return transition(row, **values, **by)

    return run


# Actions that answer a request of the shop.
ANSWERS = frozenset(
    {
        Action.ACCEPT_FULFILLMENT_REQUEST,
        Action.REJECT_FULFILLMENT_REQUEST,
        Action.ACCEPT_CANCELLATION_REQUEST,
        Action.REJECT_CANCELLATION_REQUEST,
    }
)
# This table has all actions except creating a fulfillment, which has its own page.
ACTIONS: dict[Action, FulfillmentAction] = {
    Action.REQUEST_FULFILLMENT: FulfillmentAction(
        gettext_lazy("Request fulfillment…"),
        gettext_lazy(
            "Asks the fulfillment service to fulfill these items. Items you don't select will be moved to a "
            "new fulfillment order."
        ),
        gettext_lazy("Fulfillment requested."),
        RequestForm,
        _run(requests.request_fulfillment, message="message", notify_customer="notify_customer"),
        "primary",
    ),
    Action.ACCEPT_FULFILLMENT_REQUEST: FulfillmentAction(
        gettext_lazy("Accept request…"),
        gettext_lazy(
            "Accepts the request on behalf of the fulfillment service. After that, you can only request a cancellation."
        ),
        gettext_lazy("Request accepted."),
        MessageForm,
        _run(requests.accept_request, message="message"),
    ),
    Action.REJECT_FULFILLMENT_REQUEST: FulfillmentAction(
        gettext_lazy("Reject request…"),
        gettext_lazy(
            "Rejects the request on behalf of the fulfillment service. After that, you can request "
            "fulfillment again or move the items to another location."
        ),
        gettext_lazy("Request rejected."),
        RejectForm,
        _run(requests.reject_request, message="message", reason="reason"),
    ),
    Action.REQUEST_CANCELLATION: FulfillmentAction(
        gettext_lazy("Request cancellation…"),
        gettext_lazy(
            "Asks the fulfillment service to cancel all unfulfilled items. The service can reject the request."
        ),
        gettext_lazy("Cancellation requested."),
        MessageForm,
        _run(requests.request_cancellation, message="message"),
    ),
    Action.ACCEPT_CANCELLATION_REQUEST: FulfillmentAction(
        gettext_lazy("Accept cancellation…"),
        gettext_lazy(
            "Accepts the cancellation on behalf of the fulfillment service. Unfulfilled items will be moved to a new "
            "fulfillment order."
        ),
        gettext_lazy("Cancellation accepted."),
        MessageForm,
        _run(requests.accept_cancellation, message="message"),
    ),
    Action.REJECT_CANCELLATION_REQUEST: FulfillmentAction(
        gettext_lazy("Reject cancellation…"),
        gettext_lazy(
            "Rejects the cancellation on behalf of the fulfillment service. The service will continue to fulfill the "
            "items."
        ),
        gettext_lazy("Cancellation rejected."),
        MessageForm,
        _run(requests.reject_cancellation, message="message"),
    ),
    Action.CANCEL: FulfillmentAction(
        gettext_lazy("Cancel fulfillment order…"),
        gettext_lazy(
            "Closes this fulfillment order, cancels any request, and moves the items to a new fulfillment order."
        ),
        gettext_lazy("Fulfillment order canceled. The items were moved to a new fulfillment order."),
        ActionForm,
        _run(transitions.cancel_fulfillment_order),
        "danger",
    ),
    Action.CLOSE: FulfillmentAction(
        gettext_lazy("Mark as incomplete…"),
        gettext_lazy(
            "Closes this fulfillment order before all items are fulfilled. Unfulfilled items will be moved to a new "
            "fulfillment order."
        ),
        gettext_lazy("Fulfillment order closed. Unfulfilled items were moved to a new fulfillment order."),
        MessageForm,
        _run(transitions.close_fulfillment_order, message="message"),
        "danger",
    ),
    Action.MOVE: FulfillmentAction(
        gettext_lazy("Change location…"),
        gettext_lazy(
            "Another location will fulfill these items from its inventory. Items you don't select will stay at this "
            "location."
        ),
        gettext_lazy("Items moved."),
        MoveForm,
        _run(moves.move_to_location, location_id="location"),
    ),
    Action.HOLD: FulfillmentAction(
        gettext_lazy("Hold fulfillment…"),
        gettext_lazy(
            "These items can't be fulfilled until you release the hold. Items you don't select will not be put on hold."
        ),
        gettext_lazy("Fulfillment order placed on hold."),
        HoldForm,
        _run(transitions.hold_fulfillment_order, reason="reason", notes="notes"),
    ),
    Action.RELEASE_HOLD: FulfillmentAction(
        gettext_lazy("Release hold…"),
        gettext_lazy("Releases all holds, so that the items can be fulfilled."),
        gettext_lazy("Hold released."),
        ActionForm,
        _run(transitions.release_hold),
        "primary",
    ),
    Action.MARK_AS_OPEN: FulfillmentAction(
        gettext_lazy("Open now…"),
        gettext_lazy("Opens this fulfillment order before its scheduled date, so that it can be fulfilled now."),
        gettext_lazy("Fulfillment order opened."),
        ActionForm,
        _run(transitions.mark_as_open),
    ),
    Action.RESCHEDULE: FulfillmentAction(
        gettext_lazy("Reschedule…"),
        gettext_lazy("The fulfillment order will open automatically at this time."),
        gettext_lazy("Fulfillment order rescheduled."),
        RescheduleForm,
        _run(transitions.reschedule_fulfillment_order, fulfill_at="new_fulfill_at"),
    ),
    Action.SET_DEADLINE: FulfillmentAction(
        gettext_lazy("Set deadline…"),
        gettext_lazy("Items that are not fulfilled by this time will be marked as late and listed first."),
        gettext_lazy("Deadline set."),
        DeadlineForm,
        _set_deadline,
    ),
}
