"""Making a refund: units leave the order, stock comes back, money is promised, all in one transaction.

Money that a gateway moves is only promised here: its transaction is pending, and a job asks the gateway after the
commit (``settling``), so no lock is held meanwhile. What is promised counts as given back, and is not promised twice.
Rule: spec part B, Refund; decisions, Refunds.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.domain.recording import Happening, record_event, record_events
from apps.fulfillment.domain import removal
from apps.ground.attrs import Given
from apps.ground.locks import locked
from apps.ground.money import ZERO
from apps.ground.phrases import LIMIT_EXCEEDED
from apps.ground.tenancy import current_shop
from apps.inventory.domain import movements
from apps.inventory.domain.movements import Move
from apps.inventory.models import StockMovement
from apps.jobs.domain.queue import enqueue
from apps.orders.domain import buyers, payments, pricing, tenders
from apps.orders.domain.loading import lock
from apps.orders.domain.transitions import CURRENT
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain import calculation, paybacks, permission, restocking
from apps.refunds.domain.calculation import Calculation
from apps.refunds.domain.requests import Books, Duty, Named, Payback, RefundRefused, Units, Wanted, work_out
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine
from apps.shops.models import Shop

PER_MINUTE = 5
MINUTE = timedelta(seconds=60)
LIMITED = frozenset({Shop.Plan.DEVELOPMENT, Shop.Plan.TRIAL})
Kind = OrderAdjustment.Kind


class TooManyRefunds(RefundRefused):
    """A shop that only tries things out has made five within a minute."""

    code = "too_many_refunds"
    status = 429


class NotBackdatable(RefundRefused):
    """The caller may not say that it happened earlier."""

    code = "not_backdatable"
    field = "processed_at"


def calculate(order: Order, wanted: Wanted) -> tuple[list[Named], Calculation, Books]:
    """What a refund would come to; nothing is written.

    Raises:
        RefundRefused: ``{field: [messages]}`` of all that cannot be.
    """
    books = Books.of(order)
    return *work_out(books, replace(wanted, paybacks=())), books


@transaction.atomic
def create_refund(
    order: Order,
    wanted: Wanted,
    *,
    actor: str,
    at: datetime,
    user_id: int | None = None,
    source_name: str = "",
    may_backdate: bool = False,
) -> Refund:
    """Refund units, shipping and money of an order.

    Args:
        order: Read again under a lock.
        wanted: What is asked for.
        actor: Who.
        at: When.
        user_id: The staff member, where it is one.
        source_name: Through what it comes.
        may_backdate: Whether ``processed_at`` may be earlier than now.

    Raises:
        NotPermitted: A person asks who may not give money back.
        RefundRefused: ``{field: [messages]}`` of all that cannot be.
        TakenOn: A fulfillment service has taken on units that are to be cancelled.
        TooManyRefunds: The shop tries things out, and has made five within a minute.
        NotBackdatable: It is said to have happened earlier, or in the future.
    """
    permission.check(actor)
    if wanted.processed_at is not None:
        if wanted.processed_at > at:
            raise NotBackdatable(_("cannot be in the future"))
        if not may_backdate:
            raise NotBackdatable(_("cannot be in the past without the permission to import refunds"))
    _keep_within_limit(at)
    order = lock(order)
    if order.customer_id is not None:
        buyers.locked(order.customer_id)
    books = Books.of(order)
    refund, moves, rows = _make(books, wanted, actor=actor, at=at, user_id=user_id, source_name=source_name)
    _move(order, moves, actor=actor, at=at)
    pricing.total_currently(order, books.lines, books.shipping)
    _record(refund, rows, actor=actor, at=at)
    payments.settle(
        order,
        books.lines,
        [*books.known, *rows],
        actor=actor,
        at=at,
        message=paybacks.in_words(rows),
        columns=[*CURRENT, "refund_discrepancy"],
    )
    return refund


def _keep_within_limit(at: datetime) -> None:
    """Let a shop that only tries things out make five a minute; its row makes its refunds wait for each other.

    Raises:
        TooManyRefunds: There are five.
    """
    if current_shop().plan not in LIMITED:
        return
    locked(Shop, current_shop().pk, no_key=True)
    recent = Refund.objects.filter(created_at__gt=at - MINUTE).order_by("-created_at")
    made = list(recent.values_list("created_at", flat=True)[:PER_MINUTE])
    if len(made) == PER_MINUTE:
        wait = max(math.ceil((made[-1] + MINUTE - at).total_seconds()), 1)
        raise TooManyRefunds(LIMIT_EXCEEDED, retry_after=wait)


def refund_cancelled(order: Order, parts: Given, *, restock: bool, actor: str, at: datetime) -> list[Move]:
    """Give money back for an order that is being cancelled: the hook of ``apps.orders``.

    Args:
        order: Locked; its lines and sums are read again by the caller.
        parts: ``amount`` and ``currency`` for a refund of all that is left of the order, or ``refund``, a ``Wanted``.
        restock: Whether its units go back to stock.
        actor: Who.
        at: When.

    Returns:
        What has to be moved in stock.

    Raises:
        RefundRefused: It cannot be.
    """
    permission.check(actor)
    books = Books.of(order)
    wanted = parts.get("refund") or _whole(books, parts, restock=restock)
    refund, moves, rows = _make(books, wanted, actor=actor, at=at)
    _record(refund, rows, actor=actor, at=at)
    order.save(update_fields=["refund_discrepancy"])
    return moves


def _whole(books: Books, parts: Given, *, restock: bool) -> Wanted:
    """All that is left of an order, and an amount for it."""
    amount: Decimal = parts.get("amount") or ZERO
    return Wanted(
        units=[Units(line.pk, left) for line in books.lines if (left := line.quantity - line.refunded_quantity)],
        full_shipping=True,
        duties=[Duty(each.duty["id"]) for each in books.duties_left],
        paybacks=[Payback(amount)],
        currency=parts.get("currency"),
        restock=restock,
        reason=OrderAdjustment.Reason.OTHER,
    )


def _make(
    books: Books, wanted: Wanted, *, actor: str, at: datetime, user_id: int | None = None, source_name: str = ""
) -> tuple[Refund, list[Move], list[Transaction]]:
    """Write the refund with its rows; the order itself is not saved, and no stock is moved."""
    order = books.order
    if not (wanted.units or wanted.shipping or wanted.full_shipping or wanted.duties or wanted.paybacks):
        raise RefundRefused(_("must refund units, duties, shipping or money"))
    named, found = work_out(books, wanted)
    places = restocking.find_places(named, wanted)
    rows = paybacks.draft_all(books, wanted, at=at, user_id=user_id, source_name=source_name)
    discrepancy = found.discrepancy(sum((row.shop_amount for row in rows), ZERO))
    refund = Refund(
        shop=current_shop(),
        order=order,
        note=wanted.note,
        reason=wanted.reason,
        user_id=user_id,
        restock=any(place is not None for place in places),
        processed_at=wanted.processed_at or at,
        total_duties=sum((part.amount for part in found.duties), ZERO),
        created_at=at,
    )
    refund.save(force_insert=True)
    _send_fewer(order, named, actor=actor, at=at)
    moves = restocking.leave_order(named, places)
    order.refund_discrepancy += discrepancy
    LineItem.objects.bulk_update(
        {each.line for each in named},
        ["refunded_quantity", "current_quantity", "fulfillable_quantity", "taken_from"],
    )
    _give_back(refund, found, at=at)
    RefundLineItem.objects.bulk_create(
        RefundLineItem(
            shop=refund.shop,
            refund=refund,
            line_item=each.line,
            quantity=each.quantity,
            restock_type=each.restock_type,
            location=place,
            subtotal=part.subtotal,
            total_tax=part.tax,
            created_at=at,
        )
        for each, place, part in zip(named, places, found.lines, strict=True)
    )
    OrderAdjustment.objects.bulk_create(_adjustments(refund, found, discrepancy, wanted.reason, at=at))
    _save(refund, rows, actor=actor, at=at)
    if wanted.notify and order.email:
        enqueue("refunds.notification", actor=actor, refund_id=refund.pk)
    return refund, moves, rows


def _give_back(refund: Refund, found: Calculation, *, at: datetime) -> None:
    """Write what goes back of shipping and duties, on their rows and beside the refund."""
    same = {"shop": refund.shop, "refund": refund, "created_at": at}
    calculation.give_shipping(found.shipping)
    ShippingLine.objects.bulk_update([part.row for part in found.shipping], ["refunded", "refunded_tax"])
    RefundShippingLine.objects.bulk_create(
        RefundShippingLine(shipping_line=part.row, amount=part.amount, tax=part.tax, **same) for part in found.shipping
    )
    if found.duties:
        calculation.give_duties(found.duties)
        LineItem.objects.bulk_update({part.line for part in found.duties}, ["refunded_duty", "refunded_duty_tax"])
        RefundDuty.objects.bulk_create(
            RefundDuty(line_item=part.line, duty_id=part.duty_id, amount=part.amount, tax=part.tax, **same)
            for part in found.duties
        )


def _send_fewer(order: Order, named: Sequence[Named], *, actor: str, at: datetime) -> None:
    """Take cancelled units off the fulfillment orders; a cancelled order has none that are not finished."""
    fewer: dict[int, int] = {}
    for each in named:
        if each.restock_type == RefundLineItem.RestockType.CANCEL:
            fewer[each.line.pk] = fewer.get(each.line.pk, 0) + each.quantity
    if fewer and order.cancelled_at is None:
        removal.remove_units(order, fewer, actor=actor, at=at)


def _adjustments(
    refund: Refund, found: Calculation, discrepancy: Decimal, reason: str, *, at: datetime
) -> list[OrderAdjustment]:
    """What a refund gives beyond units, and what it keeps of what was worked out."""
    same = {"shop": refund.shop, "refund": refund, "created_at": at}
    made = []
    if found.shipping:
        amount = sum((part.amount for part in found.shipping), ZERO)
        tax = sum((part.tax for part in found.shipping), ZERO)
        made.append(
            OrderAdjustment(
                kind=Kind.SHIPPING_REFUND, amount=-amount, tax_amount=-tax, reason="Shipping refund", **same
            )
        )
    if discrepancy:
        why = reason or "Refund discrepancy"
        made.append(OrderAdjustment(kind=Kind.REFUND_DISCREPANCY, amount=discrepancy, reason=why, **same))
    return made


def _save(refund: Refund, rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    """Save the transactions, what of their payments goes back, and the job that asks the gateways."""
    Transaction.objects.bulk_create(rows)
    Transaction.objects.bulk_update({row.parent for row in rows if row.parent is not None}, ["refunded"])
    RefundPayment.objects.bulk_create(
        RefundPayment(shop=refund.shop, transaction=row, refund=refund, created_at=at) for row in rows
    )
    for row in rows:
        if row.status == Transaction.Status.PENDING:
            enqueue("refunds.payment", actor=actor, transaction_id=row.pk)


def _move(order: Order, moves: Sequence[Move], *, actor: str, at: datetime) -> None:
    if moves:
        movements.apply(moves, reason=StockMovement.Reason.RESTOCK, actor=actor, at=at, reference=order.name)


def _record(refund: Refund, rows: Sequence[Transaction], *, actor: str, at: datetime) -> None:
    record_event("refunds/create", refund, actor=actor, at=at)
    record_events([Happening("order_transactions/create", row) for row in rows], actor=actor, at=at)
    tenders.tell(rows, actor=actor, at=at)
