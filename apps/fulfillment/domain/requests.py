"""The dialogue between a merchant and a fulfillment service: requests, and requests to cancel, each with an answer.

The service is told of each request by its callback, once, after the commit.
Rule: spec part B, States and transitions; decisions, Fulfillment.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.events.domain.recording import record_event
from apps.fulfillment.domain import notifying, units
from apps.fulfillment.domain.states import Action
from apps.fulfillment.domain.transitions import STATES, step, tell_of_split
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine, MerchantRequest
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError
from apps.ground.phrases import INVALID

Kind = MerchantRequest.Kind
Answer = MerchantRequest.Answer
_TOLD = {
    Kind.FULFILLMENT: notifying.Request.FULFILLMENT,
    Kind.CANCELLATION: notifying.Request.CANCELLATION,
}


class UnknownLines(DomainError):
    """A rejection speaks of lines that the fulfillment order does not have."""

    code = "unknown_lines"
    field = "line_items"


@transaction.atomic
def request_fulfillment(
    fulfillment_order: FulfillmentOrder,
    *,
    actor: str,
    at: datetime,
    message: str = "",
    notify_customer: bool = False,
    lines: Sequence[Given] | None = None,
) -> tuple[FulfillmentOrder, FulfillmentOrder | None]:
    """Ask the service at whose location a fulfillment order is to send its units.

    Args:
        fulfillment_order: Read again.
        actor: Who.
        at: When.
        message: To the service.
        notify_customer: Whether the buyer is to be told once the units are sent.
        lines: The units that are asked for; the others go to a new fulfillment order. All where omitted.

    Returns:
        What was asked for, and what was not.

    Raises:
        NotPossible: It is not open, was asked for already, or its location is not a service's.
        UnitsRefused: Units are named that are not there.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.REQUEST_FULFILLMENT)
    wanted = units.named(row, lines)
    others = units.hand_on(row, units.rest(row, wanted), at=at)
    row.save(update_fields=STATES)
    _send(row, Kind.FULFILLMENT, message=message, notify_customer=notify_customer, at=at)
    if others is not None:
        tell_of_split(row, others, actor=actor, at=at)
    record_event("fulfillment_orders/fulfillment_request_submitted", row, actor=actor, at=at)
    return row, others


@transaction.atomic
def accept_request(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Take the work on; from then on the merchant can only ask for its cancellation.

    Raises:
        NotPossible: Nothing was asked for.
    """
    row = _answered(fulfillment_order, Action.ACCEPT_FULFILLMENT_REQUEST, Answer.ACCEPTED, message)
    record_event("fulfillment_orders/fulfillment_request_accepted", row, actor=actor, at=at)
    return row


@transaction.atomic
def reject_request(
    fulfillment_order: FulfillmentOrder,
    *,
    actor: str,
    at: datetime,
    message: str = "",
    reason: str = "",
    lines: Sequence[Given] = (),
) -> FulfillmentOrder:
    """Refuse the work.

    Args:
        fulfillment_order: Read again.
        actor: Who.
        at: When.
        message: Why, in words.
        reason: Why, in one word.
        lines: What is said of single lines: ``fulfillment_order_line_item_id`` and ``message``.

    Raises:
        NotPossible: Nothing was asked for.
        UnknownLines: A line is none of its.
    """
    row = _answered(
        fulfillment_order, Action.REJECT_FULFILLMENT_REQUEST, Answer.REJECTED, message, reason=reason, lines=lines
    )
    record_event("fulfillment_orders/fulfillment_request_rejected", row, actor=actor, at=at)
    return row


@transaction.atomic
def request_cancellation(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Ask a service to give work back that it has taken on.

    Raises:
        NotPossible: It has not taken it on, or was asked already.
    """
    row = units.hold(fulfillment_order)
    step(row, Action.REQUEST_CANCELLATION)
    row.save(update_fields=STATES)
    _send(row, Kind.CANCELLATION, message=message, notify_customer=False, at=at)
    record_event("fulfillment_orders/cancellation_request_submitted", row, actor=actor, at=at)
    return row


@transaction.atomic
def accept_cancellation(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Give work back; what was not sent goes to a new fulfillment order.

    Raises:
        NotPossible: Nobody asked for it.
    """
    row = _answered(fulfillment_order, Action.ACCEPT_CANCELLATION_REQUEST, Answer.ACCEPTED, message)
    units.hand_on(row, units.remaining(row), at=at)
    record_event("fulfillment_orders/cancellation_request_accepted", row, actor=actor, at=at)
    return row


@transaction.atomic
def reject_cancellation(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Keep the work.

    Raises:
        NotPossible: Nobody asked for it back.
    """
    row = _answered(fulfillment_order, Action.REJECT_CANCELLATION_REQUEST, Answer.REJECTED, message)
    record_event("fulfillment_orders/cancellation_request_rejected", row, actor=actor, at=at)
    return row


def _send(row: FulfillmentOrder, kind: Kind, *, message: str, notify_customer: bool, at: datetime) -> None:
    MerchantRequest.objects.create(
        shop_id=row.shop_id,
        fulfillment_order=row,
        kind=kind,
        message=message,
        notify_customer=notify_customer,
        sent_at=at,
        created_at=at,
    )
    notifying.notify(row.assigned_location.service, _TOLD[kind], at=at)


def _answered(
    fulfillment_order: FulfillmentOrder,
    action: Action,
    answer: Answer,
    message: str,
    *,
    reason: str = "",
    lines: Sequence[Given] = (),
) -> FulfillmentOrder:
    """The fulfillment order with the answer to its last request."""
    row = units.hold(fulfillment_order)
    step(row, action)
    said = _said(row, lines)
    row.save(update_fields=STATES)
    last = MerchantRequest.objects.filter(fulfillment_order=row, answer=Answer.NONE).order_by("-pk").first()
    if last is not None:
        last.answer, last.answer_message, last.answer_reason, last.line_messages = answer, message, reason, said
        last.save(update_fields=["answer", "answer_message", "answer_reason", "line_messages"])
    return row


def _said(row: FulfillmentOrder, lines: Sequence[Given]) -> list[dict[str, object]]:
    """What a rejection says of lines, as it is kept."""
    known = set(FulfillmentOrderLine.objects.filter(fulfillment_order=row).values_list("pk", flat=True))
    errors: Errors = {
        f"line_items.{index}.fulfillment_order_line_item_id": [INVALID]
        for index, line in enumerate(lines)
        if line["fulfillment_order_line_item_id"] not in known
    }
    if errors:
        raise UnknownLines(errors)
    return [{"id": line["fulfillment_order_line_item_id"], "message": line.get("message") or ""} for line in lines]
