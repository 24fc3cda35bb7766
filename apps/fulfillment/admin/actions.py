"""Labels, forms and functions for fulfillment order actions. The state table defines when an action is allowed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

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
from apps.fulfillment.domain import fulfillment_requests, location_moves, transitions
from apps.fulfillment.domain.states import Action
from apps.fulfillment.models import FulfillmentOrder
from apps.panel.staff_request import EventKwargs

Values = dict[str, Any]
Run = Callable[[FulfillmentOrder, ActionForm, Values, EventKwargs], object]


@dataclass(frozen=True, slots=True)
class FulfillmentAction:
    """A fulfillment order action in the panel.

    Attributes:
        label: The button's label.
        description: The explanation above the form.
        success_message: The message shown after the action.
        form: The form class.
        run: Calls the domain function with the form and its cleaned data.
        kind: The button's style: ``primary``, ``danger``, or blank for a plain button.
    """

    label: StrOrPromise
    description: StrOrPromise
    success_message: StrOrPromise
    form: type[ActionForm]
    run: Run
    kind: str = ""


def _request(row: FulfillmentOrder, form: ActionForm, values: Values, by: EventKwargs) -> object:
    return fulfillment_requests.request_fulfillment(
        row, message=values["message"], notify_customer=values["notify_customer"], lines=form.selected_lines, **by
    )


def _reject(row: FulfillmentOrder, _form: ActionForm, values: Values, by: EventKwargs) -> object:
    return fulfillment_requests.reject_request(row, message=values["message"], reason=values["reason"], **by)


def _hold(row: FulfillmentOrder, form: ActionForm, values: Values, by: EventKwargs) -> object:
    return transitions.hold_fulfillment_order(
        row, reason=values["reason"], notes=values["notes"], lines=form.selected_lines, **by
    )


def _move(row: FulfillmentOrder, form: ActionForm, values: Values, by: EventKwargs) -> object:
    return location_moves.move_to_location(row, values["location"], lines=form.selected_lines, **by)


def _reschedule(row: FulfillmentOrder, _form: ActionForm, values: Values, by: EventKwargs) -> object:
    return transitions.reschedule_fulfillment_order(row, fulfill_at=values["new_fulfill_at"], **by)


def _set_deadline(row: FulfillmentOrder, _form: ActionForm, values: Values, by: EventKwargs) -> object:
    rows = FulfillmentOrder.rows()
    return transitions.set_deadlines(rows, [row.pk], fulfill_by=values["fulfill_by"], **by)


def _with_message(transition: Callable[..., object]) -> Run:
    def run(row: FulfillmentOrder, _form: ActionForm, values: Values, by: EventKwargs) -> object:
        return transition(row, message=values["message"], **by)

    return run


def _without_message(transition: Callable[..., object]) -> Run:
    def run(row: FulfillmentOrder, _form: ActionForm, _values: Values, by: EventKwargs) -> object:
        return transition(row, **by)

    return run


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
        _request,
        "primary",
    ),
    Action.ACCEPT_FULFILLMENT_REQUEST: FulfillmentAction(
        gettext_lazy("Accept request…"),
        gettext_lazy(
            "Accepts the request on behalf of the fulfillment service. After that, you can only request a cancellation."
        ),
        gettext_lazy("Request accepted."),
        MessageForm,
        _with_message(fulfillment_requests.accept_request),
    ),
    Action.REJECT_FULFILLMENT_REQUEST: FulfillmentAction(
        gettext_lazy("Reject request…"),
        gettext_lazy(
            "Rejects the request on behalf of the fulfillment service. After that, you can request "
            "fulfillment again or move the items to another location."
        ),
        gettext_lazy("Request rejected."),
        RejectForm,
        _reject,
        "danger",
    ),
    Action.REQUEST_CANCELLATION: FulfillmentAction(
        gettext_lazy("Request cancellation…"),
        gettext_lazy(
            "Asks the fulfillment service to cancel all unfulfilled items. The service can reject the request."
        ),
        gettext_lazy("Cancellation requested."),
        MessageForm,
        _with_message(fulfillment_requests.request_cancellation),
    ),
    Action.ACCEPT_CANCELLATION_REQUEST: FulfillmentAction(
        gettext_lazy("Accept cancellation…"),
        gettext_lazy(
            "Accepts the cancellation on behalf of the fulfillment service. Unfulfilled items will be moved to a new "
            "fulfillment order."
        ),
        gettext_lazy("Cancellation accepted."),
        MessageForm,
        _with_message(fulfillment_requests.accept_cancellation),
    ),
    Action.REJECT_CANCELLATION_REQUEST: FulfillmentAction(
        gettext_lazy("Reject cancellation…"),
        gettext_lazy(
            "Rejects the cancellation on behalf of the fulfillment service. The service will continue to fulfill the "
            "items."
        ),
        gettext_lazy("Cancellation rejected."),
        MessageForm,
        _with_message(fulfillment_requests.reject_cancellation),
        "danger",
    ),
    Action.CANCEL: FulfillmentAction(
        gettext_lazy("Cancel fulfillment order…"),
        gettext_lazy(
            "Closes this fulfillment order, cancels any request, and moves the items to a new fulfillment order."
        ),
        gettext_lazy("Fulfillment order canceled. The items were moved to a new fulfillment order."),
        ActionForm,
        _without_message(transitions.cancel_fulfillment_order),
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
        _with_message(transitions.close_fulfillment_order),
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
        _move,
    ),
    Action.HOLD: FulfillmentAction(
        gettext_lazy("Hold fulfillment…"),
        gettext_lazy(
            "These items can't be fulfilled until you release the hold. Items you don't select will not be put on hold."
        ),
        gettext_lazy("Fulfillment order placed on hold."),
        HoldForm,
        _hold,
    ),
    Action.RELEASE_HOLD: FulfillmentAction(
        gettext_lazy("Release hold…"),
        gettext_lazy("Releases all holds, so that the items can be fulfilled."),
        gettext_lazy("Hold released."),
        ActionForm,
        _without_message(transitions.release_hold),
        "primary",
    ),
    Action.MARK_AS_OPEN: FulfillmentAction(
        gettext_lazy("Open now…"),
        gettext_lazy("Opens this fulfillment order before its scheduled date, so that it can be fulfilled now."),
        gettext_lazy("Fulfillment order opened."),
        ActionForm,
        _without_message(transitions.mark_as_open),
    ),
    Action.RESCHEDULE: FulfillmentAction(
        gettext_lazy("Reschedule…"),
        gettext_lazy("The fulfillment order will open automatically at this time."),
        gettext_lazy("Fulfillment order rescheduled."),
        RescheduleForm,
        _reschedule,
    ),
    Action.SET_DEADLINE: FulfillmentAction(
        gettext_lazy("Set deadline…"),
        gettext_lazy("Items that are not fulfilled by this time will be marked as late and listed first."),
        gettext_lazy("Deadline set."),
        DeadlineForm,
        _set_deadline,
    ),
}
