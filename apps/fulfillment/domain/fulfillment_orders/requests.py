"""Fulfillment requests and cancellation requests, and the fulfillment service's responses.

After the commit, each request is sent once as a notification to the service's callback URL.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID
from apps.core.types import Errors, ReadOnlyAttrs
from apps.fulfillment.domain.fulfillment_orders import quantities
from apps.fulfillment.domain.fulfillment_orders.states import Action
from apps.fulfillment.domain.fulfillment_orders.transitions import STATUS_FIELDS, apply_transition, record_split
from apps.fulfillment.domain.services import changes
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine, MerchantRequest

Kind = MerchantRequest.Kind
Answer = MerchantRequest.Answer


class UnknownLines(DomainError):
    field = "line_items"


@transaction.atomic
def request_fulfillment(
    fulfillment_order: FulfillmentOrder,
    *,
    actor: str,
    at: datetime,
    message: str = "",
    notify_customer: bool = False,
    lines: Sequence[ReadOnlyAttrs] | None = None,
) -> tuple[FulfillmentOrder, FulfillmentOrder | None]:
    """Request fulfillment from the fulfillment service at the fulfillment order's location.

    With ``lines``, the other items move to a new fulfillment order, which is returned as well. ``notify_customer`` asks
    the service to notify the customer when the items ship.
    """
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.REQUEST_FULFILLMENT)
    _requested, others = quantities.split_quantities(row, lines)
    remaining = quantities.move_to_new_fulfillment_order(row, others, at=at)
    row.save(update_fields=STATUS_FIELDS)
    _create_request(row, Kind.FULFILLMENT, message=message, notify_customer=notify_customer, at=at)
    if remaining is not None:
        record_split(row, remaining, actor=actor, at=at)
    record_event("fulfillment_orders/fulfillment_request_submitted", row, actor=actor, at=at)
    return row, remaining


@transaction.atomic
def accept_request(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Accept a fulfillment request. Afterwards, the shop can only request a cancellation."""
    row = _respond(fulfillment_order, Action.ACCEPT_FULFILLMENT_REQUEST, Answer.ACCEPTED, message)
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
    lines: Sequence[ReadOnlyAttrs] = (),
) -> FulfillmentOrder:
    """Reject a fulfillment request. ``lines`` has messages, as ``fulfillment_order_line_item_id`` and ``message``."""
    row = _respond(
        fulfillment_order, Action.REJECT_FULFILLMENT_REQUEST, Answer.REJECTED, message, reason=reason, lines=lines
    )
    record_event("fulfillment_orders/fulfillment_request_rejected", row, actor=actor, at=at)
    return row


@transaction.atomic
def request_cancellation(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, Action.REQUEST_CANCELLATION)
    row.save(update_fields=STATUS_FIELDS)
    _create_request(row, Kind.CANCELLATION, message=message, notify_customer=False, at=at)
    record_event("fulfillment_orders/cancellation_request_submitted", row, actor=actor, at=at)
    return row


@transaction.atomic
def accept_cancellation(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    """Accept a cancellation request. Unfulfilled items move to a new fulfillment order."""
    row = _respond(fulfillment_order, Action.ACCEPT_CANCELLATION_REQUEST, Answer.ACCEPTED, message)
    quantities.move_to_new_fulfillment_order(row, quantities.get_remaining(row), at=at)
    record_event("fulfillment_orders/cancellation_request_accepted", row, actor=actor, at=at)
    return row


@transaction.atomic
def reject_cancellation(
    fulfillment_order: FulfillmentOrder, *, actor: str, at: datetime, message: str = ""
) -> FulfillmentOrder:
    row = _respond(fulfillment_order, Action.REJECT_CANCELLATION_REQUEST, Answer.REJECTED, message)
    record_event("fulfillment_orders/cancellation_request_rejected", row, actor=actor, at=at)
    return row


def _create_request(row: FulfillmentOrder, kind: Kind, *, message: str, notify_customer: bool, at: datetime) -> None:
    MerchantRequest.objects.create(
        shop_id=row.shop_id,
        fulfillment_order=row,
        kind=kind,
        message=message,
        notify_customer=notify_customer,
        sent_at=at,
        created_at=at,
    )
    changes.notify_service(row.assigned_location.service, kind, at=at)


def _respond(
    fulfillment_order: FulfillmentOrder,
    action: Action,
    response: Answer,
    message: str,
    *,
    reason: str = "",
    lines: Sequence[ReadOnlyAttrs] = (),
) -> FulfillmentOrder:
    """Store the response to the latest request and return the locked fulfillment order."""
    row = quantities.lock_fulfillment_order(fulfillment_order)
    apply_transition(row, action)
    line_messages = _get_line_messages(row, lines)
    row.save(update_fields=STATUS_FIELDS)
    last = MerchantRequest.objects.filter(fulfillment_order=row, answer=Answer.NONE).order_by("-pk").first()
    if last is not None:
        last.answer, last.answer_message = response, message
        last.answer_reason, last.line_messages = reason, line_messages
        last.save(update_fields=["answer", "answer_message", "answer_reason", "line_messages"])
    return row


def _get_line_messages(row: FulfillmentOrder, lines: Sequence[ReadOnlyAttrs]) -> list[dict[str, object]]:
    line_ids = set(FulfillmentOrderLine.objects.filter(fulfillment_order=row).values_list("pk", flat=True))
    errors: Errors = {
        f"line_items.{index}.fulfillment_order_line_item_id": [INVALID]
        for index, line in enumerate(lines)
        if line["fulfillment_order_line_item_id"] not in line_ids
    }
    if errors:
        raise UnknownLines(errors)
    return [{"id": line["fulfillment_order_line_item_id"], "message": line.get("message") or ""} for line in lines]
