"""Create refunds: update the order, restock items and create refund transactions, in one database transaction.

If a gateway moves the money, this module only reserves it: the refund transaction is pending until the gateway responds
(see ``gateways``). Pending amounts count as refunded and cannot be refunded twice.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import EventInput, record_event, record_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import LIMIT_EXCEEDED
from apps.core.i18n.messages import define_text
from apps.core.jobs.queue import enqueue
from apps.core.money import ZERO
from apps.core.tenancy.actor_names import get_actor_id
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.staff_access import find_member
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.inventory.domain import movements
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import StockMovement
from apps.orders.domain import customer_totals, hooks, payments
from apps.orders.domain.pricing import totals
from apps.orders.domain.selectors import lock_order
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain import payment_allocation, refunded_parts, restocking
from apps.refunds.domain.calculation import RefundCalculation, Settlement
from apps.refunds.domain.gateways import PROCESS_TASK
from apps.refunds.domain.refunded_parts import RefundedDuty, RefundedShipping
from apps.refunds.domain.validation import (
    OrderSnapshot,
    RefundDutyInput,
    RefundLine,
    RefundLineInput,
    RefundRefused,
    RefundRequest,
    RefundTransactionInput,
    resolve_and_calculate,
)
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine

MAX_PER_MINUTE = 5
MINUTE = timedelta(seconds=60)
LIMITED_PLANS = frozenset({Shop.Plan.DEVELOPMENT, Shop.Plan.TRIAL})
Kind = OrderAdjustment.Kind
_DUTY_COLUMNS = ("refunded_duty", "refunded_duty_tax", "duties")
_EMPTY = define_text("refunds.empty", "must include an item, a duty, shipping or a payment to refund")


class RefundNotPermitted(DomainError):
    status = 403


def check_may_refund(actor: str) -> None:
    """Check that a staff member may refund orders. The access scopes of apps are checked elsewhere."""
    if not actor.startswith("staff:"):
        return
    user_id = get_actor_id(actor, "staff")
    member = find_member(user_id, get_current_shop()) if user_id is not None else None
    if member is None or not member.may_refund:
        raise RefundNotPermitted(_("You do not have permission to refund orders"))


class TooManyRefunds(RefundRefused):
    status = 429


class NotBackdatable(RefundRefused):
    """Raised when ``processed_at`` is in the future, or is in the past and the caller may not backdate refunds."""

    field = "processed_at"


def calculate_refund(
    order: Order, refund_request: RefundRequest
) -> tuple[list[RefundLine], RefundCalculation, OrderSnapshot]:
    """Calculate a refund without saving it."""
    snapshot = OrderSnapshot.load(order)
    return *resolve_and_calculate(snapshot, replace(refund_request, transaction_inputs=())), snapshot


@transaction.atomic
def create_refund(
    order: Order,
    refund_request: RefundRequest,
    *,
    actor: str,
    at: datetime,
    user_id: int | None = None,
    source_name: str = "",
    may_backdate: bool = False,
) -> Refund:
    """Refund items, shipping and money of an order, which is locked and reloaded.

    Raises:
        RefundNotPermitted: The actor is a staff member without permission to refund.
        RefundRefused: The refund is not possible; the errors are ``{field: [messages]}``.
        AcceptedByService: A fulfillment service has accepted items that the refund cancels.
        TooManyRefunds: A development or trial shop exceeds the limit of five refunds per minute.
    """
    check_may_refund(actor)
    if refund_request.processed_at is not None:
        if refund_request.processed_at > at:
            raise NotBackdatable(_("cannot be in the future"))
        if not may_backdate:
            raise NotBackdatable(_("cannot be in the past without permission to import refunds"))
    _check_rate_limit(at)
    order = lock_order(order)
    customer_totals.lock_order_customer(order.customer_id)
    snapshot = OrderSnapshot.load(order)
    refund, moves, rows, items = _save_refund(
        snapshot, refund_request, actor=actor, at=at, user_id=user_id, source_name=source_name
    )
    if moves:
        reason = StockMovement.Reason.RESTOCK
        movements.apply_stock_changes(moves, reason=reason, actor=actor, at=at, reference=order.name)
    totals.set_current_totals(order, snapshot.lines, snapshot.shipping)
    _record_events(refund, rows, actor=actor, at=at)
    payments.recalculate_order(
        order,
        snapshot.lines,
        [*snapshot.transactions, *rows],
        actor=actor,
        at=at,
        message=payment_allocation.describe_refund(rows, items),
        columns=[*totals.CURRENT_TOTAL_COLUMNS, "refund_discrepancy"],
    )
    return refund


def _check_rate_limit(at: datetime) -> None:
    """Limit the refunds per minute. The shop's row is locked, so that concurrent refunds are checked in turn."""
    if get_current_shop().plan not in LIMITED_PLANS:
        return
    get_for_update(Shop, get_current_shop().pk, no_key=True)
    # If the clock was wrong and is set back, do not count refunds of the future until their time comes.
    recent = Refund.objects.filter(created_at__gt=at - MINUTE, created_at__lt=at + MINUTE).order_by("-created_at")
    recent_times = list(recent.values_list("created_at", flat=True)[:MAX_PER_MINUTE])
    if len(recent_times) == MAX_PER_MINUTE:
        wait = max(math.ceil((recent_times[-1] + MINUTE - at).total_seconds()), 1)
        raise TooManyRefunds(LIMIT_EXCEEDED, retry_after=wait)


def refund_cancelled_order(
    order: Order, parts: ReadOnlyAttrs, *, restock: bool, actor: str, at: datetime
) -> list[StockChange]:
    """Refund an order that is being canceled, as the refund hook of ``apps.orders``. Return the inventory changes.

    ``parts`` has either ``amount`` and ``currency``, to refund all remaining items, or ``refund``, a ``RefundRequest``.
    The caller has locked the order, and reloads it with its lines. It applies the inventory changes.
    """
    check_may_refund(actor)
    snapshot = OrderSnapshot.load(order)
    refund_request = parts.get("refund") or _full_refund_request(snapshot, parts, restock=restock)
    refund, moves, rows, _items = _save_refund(snapshot, refund_request, actor=actor, at=at)
    _record_events(refund, rows, actor=actor, at=at)
    order.save(update_fields=["refund_discrepancy", "presentment_totals"])
    return moves


def _full_refund_request(snapshot: OrderSnapshot, parts: ReadOnlyAttrs, *, restock: bool) -> RefundRequest:
    """Return a request to refund everything that is still refundable, with the amount from ``parts``."""
    amount: Decimal = parts.get("amount") or ZERO
    return RefundRequest(
        line_inputs=[
            RefundLineInput(line.pk, quantity)
            for line in snapshot.lines
            if (quantity := line.quantity - line.refunded_quantity)
        ],
        full_shipping=True,
        duty_inputs=[RefundDutyInput(refundable_duty.duty["id"]) for refundable_duty in snapshot.refundable_duties],
        transaction_inputs=[RefundTransactionInput(amount)],
        currency=parts.get("currency"),
        restock=restock,
        reason=OrderAdjustment.Reason.OTHER,
    )


def _save_refund(
    snapshot: OrderSnapshot,
    refund_request: RefundRequest,
    *,
    actor: str,
    at: datetime,
    user_id: int | None = None,
    source_name: str = "",
) -> tuple[Refund, list[StockChange], list[Transaction], list[tuple[int, str]]]:
    """Save the refund and its rows, and return these with the quantities and names of the refunded items.

    The caller saves the order and applies the inventory changes.
    """
    order = snapshot.order
    if refund_request.is_empty:
        raise RefundRefused(_EMPTY)
    refund_lines, result = resolve_and_calculate(snapshot, refund_request)
    locations = restocking.resolve_restock_locations(refund_lines, refund_request)
    rows, settlement = payment_allocation.build_refund_transactions(
        snapshot, refund_request, result, at=at, user_id=user_id, source_name=source_name
    )
    # A cancellation with an amount of zero may have nothing left to refund.
    if order.cancelled_at is None and not (refund_lines or result.shipping or result.duties or rows):
        raise RefundRefused(_EMPTY)
    refund = Refund(
        shop=get_current_shop(),
        order=order,
        note=refund_request.note,
        reason=refund_request.reason,
        user_id=user_id,
        restock=any(location is not None for location in locations),
        processed_at=refund_request.processed_at or at,
        total_duties=sum((part.amount for part in result.duties), ZERO),
        presentment_duties=_get_presentment(order, sum((part.presentment.price for part in result.duties), ZERO)),
        tax_lines=result.tax_lines,
        created_at=at,
    )
    refund.save(force_insert=True)
    moves = restocking.remove_from_order(order, refund_lines, locations, actor=actor, at=at)
    withheld = order.get_presentment("refund_discrepancy") + settlement.presentment_discrepancy
    order.refund_discrepancy += settlement.discrepancy
    order.set_presentment(refund_discrepancy=withheld)
    LineItem.objects.bulk_update(
        {refund_line.line for refund_line in refund_lines},
        ["refunded_quantity", "unrestocked_quantity", "current_quantity", "fulfillable_quantity", "taken_from"],
    )
    _save_shipping_and_duties(refund, result, at=at)
    hooks.notify_line_listeners({refund_line.line for refund_line in refund_lines}, actor=actor, at=at)
    RefundLineItem.objects.bulk_create(
        RefundLineItem(
            shop=refund.shop,
            refund=refund,
            line_item=refund_line.line,
            quantity=refund_line.quantity,
            restock_type=refund_line.restock_type,
            location=location,
            subtotal=part.subtotal,
            total_tax=part.tax,
            presentment_subtotal=_get_presentment(order, part.presentment.price),
            presentment_tax=_get_presentment(order, part.presentment.tax),
            tax_lines=part.tax_lines,
            created_at=at,
        )
        for refund_line, location, part in zip(refund_lines, locations, result.lines, strict=True)
    )
    OrderAdjustment.objects.bulk_create(_adjustments(refund, result, settlement, refund_request.reason, at=at))
    _save_transactions(refund, rows, actor=actor, at=at)
    if refund_request.notify and order.email:
        enqueue("refunds.send_notification", actor=actor, refund_id=refund.pk)
    return refund, moves, rows, [(refund_line.quantity, refund_line.line.name) for refund_line in refund_lines]


def _save_shipping_and_duties(refund: Refund, result: RefundCalculation, *, at: datetime) -> None:
    common = {"shop": refund.shop, "refund": refund, "created_at": at}
    refunded_parts.add_refunded_shipping(result.shipping)
    ShippingLine.objects.bulk_update([part.row for part in result.shipping], ["refunded", "refunded_tax"])
    RefundShippingLine.objects.bulk_create(
        RefundShippingLine(shipping_line=part.row, **_get_amounts(refund.order, part), **common)
        for part in result.shipping
    )
    if result.duties:
        refunded_parts.add_refunded_duties(result.duties)
        LineItem.objects.bulk_update({part.line for part in result.duties}, _DUTY_COLUMNS)
        RefundDuty.objects.bulk_create(
            RefundDuty(line_item=part.line, duty_id=part.duty_id, **_get_amounts(refund.order, part), **common)
            for part in result.duties
        )


def _get_amounts(order: Order, part: RefundedShipping | RefundedDuty) -> Attrs:
    return {
        "amount": part.amount,
        "tax": part.tax,
        "presentment_amount": _get_presentment(order, part.presentment.price),
        "presentment_tax": _get_presentment(order, part.presentment.tax),
        "tax_lines": part.tax_lines,
    }


def _get_presentment(order: Order, amount: Decimal) -> Decimal | None:
    return amount if order.is_multi_currency else None


def _adjustments(
    refund: Refund, result: RefundCalculation, settlement: Settlement, reason: str, *, at: datetime
) -> list[OrderAdjustment]:
    order, common = refund.order, {"shop": refund.shop, "refund": refund, "created_at": at}
    adjustments = []
    if result.shipping:
        adjustments.append(
            OrderAdjustment(
                kind=Kind.SHIPPING_REFUND,
                amount=-sum((part.amount for part in result.shipping), ZERO),
                tax_amount=-sum((part.tax for part in result.shipping), ZERO),
                presentment_amount=_get_presentment(
                    order, -sum((part.presentment.price for part in result.shipping), ZERO)
                ),
                presentment_tax_amount=_get_presentment(
                    order, -sum((part.presentment.tax for part in result.shipping), ZERO)
                ),
                reason="Shipping refund",
                **common,
            )
        )
    if settlement.discrepancy or settlement.presentment_discrepancy:
        adjustments.append(
            OrderAdjustment(
                kind=Kind.REFUND_DISCREPANCY,
                amount=settlement.discrepancy,
                presentment_amount=_get_presentment(order, settlement.presentment_discrepancy),
                reason=reason or "Refund discrepancy",
                **common,
            )
        )
    return adjustments


def _save_transactions(refund: Refund, rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    Transaction.objects.bulk_create(rows)
    Transaction.objects.bulk_update({row.parent for row in rows if row.parent is not None}, ["refunded"])
    RefundPayment.objects.bulk_create(
        RefundPayment(shop=refund.shop, transaction=row, refund=refund, created_at=at) for row in rows
    )
    for row in rows:
        if row.status == Transaction.Status.PENDING:
            enqueue(PROCESS_TASK, actor=actor, transaction_id=row.pk)


def _record_events(refund: Refund, rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    record_event("refunds/create", refund, actor=actor, at=at)
    record_events([EventInput("order_transactions/create", row) for row in rows], actor=actor, at=at)
    payments.record_tender_events(rows, actor=actor, at=at)
