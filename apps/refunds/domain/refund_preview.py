"""Preview a refund without saving it, for the review step in the panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.inventory.models import Location
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.domain import payment_allocation, restocking
from apps.refunds.domain.calculation import RefundCalculation
from apps.refunds.domain.refunded_parts import get_removed_quantity
from apps.refunds.domain.validation import (
    OrderSnapshot,
    RefundLine,
    RefundRequest,
    RemainingQuantities,
    resolve_and_calculate,
)


@dataclass(frozen=True, slots=True)
class RefundableItems:
    """The refundable items of one line item that are in the same state.

    The state is ``unsent``, ``sent``, or ``gone`` for items that were already removed from the order or returned. The
    sum of all quantities never exceeds the line's refundable quantity.
    """

    line: LineItem
    state: str
    quantity: int


@dataclass(frozen=True, slots=True)
class RefundPreview:
    """A refund before it is created.

    Attributes:
        locations: The restock location of each item, or None for items that are not restocked.
        rows: The unsaved transactions, with the payment as ``parent``.
        discrepancy: The difference from the suggested refund, as in ``Settlement``.
    """

    refund_lines: Sequence[RefundLine]
    locations: Sequence[Location | None]
    calculation: RefundCalculation
    rows: Sequence[Transaction]
    discrepancy: Decimal


def get_refundable_items(snapshot: OrderSnapshot) -> list[RefundableItems]:
    """Return the refundable items, grouped by line item and state. Lines without refundable items are omitted."""
    quantities, rows = RemainingQuantities(snapshot), []
    for line in snapshot.lines:
        refundable = quantities.refundable[line.pk]
        present = refundable - get_removed_quantity(line)
        unfulfilled = min(quantities.unfulfilled[line.pk], present)
        fulfilled = min(quantities.fulfilled[line.pk], present)
        removed = refundable - unfulfilled - fulfilled
        rows += [
            RefundableItems(line, state, most)
            for state, most in (("unsent", unfulfilled), ("sent", fulfilled), ("gone", removed))
            if most > 0
        ]
    return rows


def preview_refund(order: Order, refund_request: RefundRequest, *, at: datetime) -> RefundPreview:
    """Preview a refund with the same checks as when it is created, but without saving or locking anything."""
    snapshot = OrderSnapshot.load(order)
    refund_lines, result = resolve_and_calculate(snapshot, refund_request)
    locations = restocking.resolve_restock_locations(refund_lines, refund_request)
    rows, settlement = payment_allocation.build_refund_transactions(
        snapshot, refund_request, result, at=at, user_id=None, source_name=""
    )
    return RefundPreview(refund_lines, locations, result, rows, settlement.discrepancy)
