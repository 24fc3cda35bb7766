"""What each action of the table of states looks like to staff, and which workflow it calls; the table says when."""

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
from apps.fulfillment.domain import moving, requests, transitions
from apps.fulfillment.domain.states import Action
from apps.fulfillment.models import FulfillmentOrder
from apps.panel.requests import By

Values = dict[str, Any]
Run = Callable[[FulfillmentOrder, ActionForm, Values, By], object]


@dataclass(frozen=True, slots=True)
class Doing:
    """An action for people.

    Attributes:
        label: On its button.
        says: What it does, above its form.
        done: What is said when it is done.
        form: What is asked.
        run: Calls the workflow, with the form and its values.
        kind: How its button looks: ``primary``, ``danger`` or plain.
    """

    label: StrOrPromise
    says: StrOrPromise
    done: StrOrPromise
    form: type[ActionForm]
    run: Run
    kind: str = ""


def _request(row: FulfillmentOrder, form: ActionForm, given: Values, by: By) -> object:
    return requests.request_fulfillment(
        row, message=given["message"], notify_customer=given["notify_customer"], lines=form.units, **by
    )


def _reject(row: FulfillmentOrder, _form: ActionForm, given: Values, by: By) -> object:
    return requests.reject_request(row, message=given["message"], reason=given["reason"], **by)


def _hold(row: FulfillmentOrder, form: ActionForm, given: Values, by: By) -> object:
    return transitions.hold(row, reason=given["reason"], notes=given["notes"], lines=form.units, **by)


def _move(row: FulfillmentOrder, form: ActionForm, given: Values, by: By) -> object:
    return moving.move(row, given["location"], lines=form.units, **by)


def _reschedule(row: FulfillmentOrder, _form: ActionForm, given: Values, by: By) -> object:
    return transitions.reschedule(row, fulfill_at=given["new_fulfill_at"], **by)


def _set_deadline(row: FulfillmentOrder, _form: ActionForm, given: Values, by: By) -> object:
    rows = FulfillmentOrder.rows()
    return transitions.set_deadlines(rows, [row.pk], fulfill_by=given["fulfill_by"], **by)


def _with_message(move: Callable[..., object]) -> Run:
    def run(row: FulfillmentOrder, _form: ActionForm, given: Values, by: By) -> object:
        return move(row, message=given["message"], **by)

    return run


def _plain(move: Callable[..., object]) -> Run:
    def run(row: FulfillmentOrder, _form: ActionForm, _given: Values, by: By) -> object:
        return move(row, **by)

    return run


# All but sending, which has a screen of its own.
DOINGS: dict[Action, Doing] = {
    Action.REQUEST_FULFILLMENT: Doing(
        gettext_lazy("Request fulfillment…"),
        gettext_lazy(
            "The service is asked to send these units. Units that you leave out go to a fulfillment order of their own."
        ),
        gettext_lazy("The fulfillment is requested."),
        RequestForm,
        _request,
        "primary",
    ),
    Action.ACCEPT_FULFILLMENT_REQUEST: Doing(
        gettext_lazy("Accept the request…"),
        gettext_lazy(
            "In the service's stead: it takes the work on. From then on you can only ask for its cancellation."
        ),
        gettext_lazy("The request is accepted."),
        MessageForm,
        _with_message(requests.accept_request),
    ),
    Action.REJECT_FULFILLMENT_REQUEST: Doing(
        gettext_lazy("Reject the request…"),
        gettext_lazy(
            "In the service's stead: it does not take the work on. You can request it again, or move it elsewhere."
        ),
        gettext_lazy("The request is rejected."),
        RejectForm,
        _reject,
        "danger",
    ),
    Action.REQUEST_CANCELLATION: Doing(
        gettext_lazy("Request cancellation…"),
        gettext_lazy("The service is asked to give back what it has not sent. It may refuse."),
        gettext_lazy("The cancellation is requested."),
        MessageForm,
        _with_message(requests.request_cancellation),
    ),
    Action.ACCEPT_CANCELLATION_REQUEST: Doing(
        gettext_lazy("Accept the cancellation…"),
        gettext_lazy("In the service's stead: what was not sent goes back, to a new fulfillment order."),
        gettext_lazy("The cancellation is accepted."),
        MessageForm,
        _with_message(requests.accept_cancellation),
    ),
    Action.REJECT_CANCELLATION_REQUEST: Doing(
        gettext_lazy("Reject the cancellation…"),
        gettext_lazy("In the service's stead: it keeps the work and goes on."),
        gettext_lazy("The cancellation is rejected."),
        MessageForm,
        _with_message(requests.reject_cancellation),
        "danger",
    ),
    Action.CANCEL: Doing(
        gettext_lazy("Start over…"),
        gettext_lazy("This fulfillment order is closed, with its request if there is one; its units go to a new one."),
        gettext_lazy("It is closed; its units are in a new fulfillment order."),
        ActionForm,
        _plain(transitions.cancel),
        "danger",
    ),
    Action.CLOSE: Doing(
        gettext_lazy("Close unfinished…"),
        gettext_lazy("The work ends here, unfinished; what was not sent goes to a new fulfillment order."),
        gettext_lazy("It is closed; what was not sent is in a new fulfillment order."),
        MessageForm,
        _with_message(transitions.close),
        "danger",
    ),
    Action.MOVE: Doing(
        gettext_lazy("Move…"),
        gettext_lazy(
            "Another location sends these units, and they are taken from its stock. Units that you leave out stay."
        ),
        gettext_lazy("The units are moved."),
        MoveForm,
        _move,
    ),
    Action.HOLD: Doing(
        gettext_lazy("Hold…"),
        gettext_lazy("Nobody prepares these units until the hold is released. Units that you leave out do not wait."),
        gettext_lazy("It is on hold."),
        HoldForm,
        _hold,
    ),
    Action.RELEASE_HOLD: Doing(
        gettext_lazy("Release the hold…"),
        gettext_lazy("It waits no longer, for any of the reasons."),
        gettext_lazy("The hold is released."),
        ActionForm,
        _plain(transitions.release_hold),
        "primary",
    ),
    Action.MARK_AS_OPEN: Doing(
        gettext_lazy("Send now…"),
        gettext_lazy("It is opened before its time, so that it can be sent."),
        gettext_lazy("It is open."),
        ActionForm,
        _plain(transitions.mark_as_open),
    ),
    Action.RESCHEDULE: Doing(
        gettext_lazy("Reschedule…"),
        gettext_lazy("It opens by itself at that moment."),
        gettext_lazy("It is rescheduled."),
        RescheduleForm,
        _reschedule,
    ),
    Action.SET_DEADLINE: Doing(
        gettext_lazy("Deadline…"),
        gettext_lazy("What is not sent by then is late, and stands first in the work list."),
        gettext_lazy("The deadline is set."),
        DeadlineForm,
        _set_deadline,
    ),
}
