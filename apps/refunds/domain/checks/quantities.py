"""Check the current quantities of line items against what was fulfilled, returned, refunded and edited out.

Each item of an open order either waits, or is at the customer, or has left the order. Items that wait or are at the
customer are current, or were refunded without restocking.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import F, Q, Sum

from apps.fulfillment.models import Fulfillment, FulfillmentLine
from apps.orders.domain.consistency_checks import iterate_id_ranges
from apps.orders.models import LineItem
from apps.refunds.models import RefundLineItem

_RETURNED = (RefundLineItem.RestockType.RETURN, RefundLineItem.RestockType.LEGACY_RESTOCK)
# Fulfillments do not store when they were canceled. More combinations of possible times are not tried.
_MAX_COMBINATIONS = 1000
_COLUMNS = (
    "pk",
    "shop_id",
    "order_id",
    "quantity",
    "current_quantity",
    "unrestocked_quantity",
    "fulfillable_quantity",
    "fulfilled_quantity",
    "refunded_quantity",
)


class _Step(NamedTuple):
    """A fulfillment or a return of items of one line."""

    quantity: int
    is_return: bool


class _Cancellation(NamedTuple):
    """A canceled fulfillment. Its cancellation is one of the steps ``first`` to ``last``, or after all steps."""

    quantity: int
    first: int
    last: int


class _History(NamedTuple):
    steps: Sequence[_Step]
    cancellations: Sequence[_Cancellation]


def find_wrong_quantities() -> Iterator[str]:
    """Yield line items with quantities that contradict each other, their refunds or canceled fulfillments."""
    for after, upto in iterate_id_ranges(LineItem):
        lines = LineItem.objects.filter(pk__gt=after, pk__lte=upto, order__cancelled_at=None)
        refunds = RefundLineItem.objects.filter(line_item__gt=after, line_item__lte=upto).order_by()
        returned = dict(
            refunds.filter(restock_type__in=_RETURNED).values_list("line_item_id").annotate(Sum("quantity"))
        )
        differs = ~Q(current_quantity=F("fulfillable_quantity") + F("fulfilled_quantity") - F("unrestocked_quantity"))
        rows = {row["pk"]: row for row in lines.filter(differs).values(*_COLUMNS)}
        rows |= {row["pk"]: row for row in lines.filter(pk__in=returned.keys() - rows.keys()).values(*_COLUMNS)}
        came_back = {pk: _count_came_back(row, returned.get(pk, 0)) for pk, row in rows.items()}
        # Returned items of canceled fulfillments neither wait nor count as fulfilled.
        doubtful = [pk for pk in rows if returned.get(pk) and came_back[pk] >= 0]
        histories = _load_histories(doubtful)
        for pk in sorted(rows):
            history = histories.get(pk)
            possible = {0} if history is None else _get_possible_counts(history, rows[pk], returned[pk])
            if came_back[pk] not in possible:
                yield _describe(rows[pk], returned.get(pk, 0))


def _count_came_back(row: Mapping[str, Any], returned: int) -> int:
    """Return the quantity that was returned and belongs to canceled fulfillments, if all quantities are right."""
    present = row["current_quantity"] + row["unrestocked_quantity"]
    return int(present - row["fulfillable_quantity"] - row["fulfilled_quantity"] + returned)


def _describe(row: Mapping[str, Any], returned: int) -> str:
    return (
        f"shop {row['shop_id']}, order {row['order_id']}, line item {row['pk']}: current quantity"
        f" {row['current_quantity']} and unrestocked quantity {row['unrestocked_quantity']} do not match"
        f" {row['fulfillable_quantity']} unfulfilled, {row['fulfilled_quantity']} fulfilled and {returned} returned"
    )


def _load_histories(lines: Sequence[int]) -> dict[int, _History]:
    """Return the fulfillments and returns of lines, and the possible places of cancellations between them.

    A cancellation happened after its fulfillment was created, and at the latest when the fulfillment was last changed.
    """
    events: dict[int, list[tuple[datetime, _Step]]] = defaultdict(list)
    cancelled: dict[int, list[tuple[datetime, datetime, int]]] = defaultdict(list)
    parcels = FulfillmentLine.objects.filter(line_item__in=lines).order_by("pk")
    columns = ("line_item_id", "quantity", "fulfillment__status", "fulfillment__created_at", "fulfillment__updated_at")
    for line, quantity, status, created_at, updated_at in parcels.values_list(*columns):
        events[line].append((created_at, _Step(quantity, is_return=False)))
        if status == Fulfillment.Status.CANCELLED:
            cancelled[line].append((created_at, updated_at, quantity))
    returns = RefundLineItem.objects.filter(line_item__in=lines, restock_type__in=_RETURNED).order_by("pk")
    for line, quantity, created_at in returns.values_list("line_item_id", "quantity", "refund__created_at"):
        events[line].append((created_at, _Step(quantity, is_return=True)))
    histories = {}
    for line, rows in events.items():
        rows.sort(key=itemgetter(0))
        times = [at for at, _step in rows]
        histories[line] = _History(
            [step for _at, step in rows],
            [
                _Cancellation(quantity, bisect_right(times, created_at), bisect_right(times, updated_at))
                for created_at, updated_at, quantity in cancelled[line]
            ],
        )
    return histories


def _get_possible_counts(history: _History, row: Mapping[str, Any], returned: int) -> Collection[int]:
    """Return the possible quantities of returned items that belong to canceled fulfillments."""
    steps, cancellations = history
    ranges = [range(part.first, part.last + 1) for part in cancellations]
    if prod(map(len, ranges)) > _MAX_COMBINATIONS:
        return range(returned + 1)
    fulfilled = sum(step.quantity for step in steps if not step.is_return)
    fulfilled -= sum(cancellation.quantity for cancellation in cancellations)
    # Orders can be created with fulfilled items.
    fulfilled_before = max(row["fulfilled_quantity"] - fulfilled, 0)
    return {_count_canceled_returns(history, positions, fulfilled_before) for positions in product(*ranges)}


def _count_canceled_returns(history: _History, positions: Sequence[int], fulfilled: int) -> int:
    """Return the returned quantity of canceled fulfillments. Other fulfillments with enough items have it first."""
    returned = came_back = 0
    for position in range(len(history.steps) + 1):
        for cancelled_at, cancellation in zip(positions, history.cancellations, strict=True):
            if cancelled_at == position:
                fulfilled -= cancellation.quantity
                came_back += max(returned - came_back - fulfilled, 0)
        if position < len(history.steps):
            step = history.steps[position]
            returned += step.quantity if step.is_return else 0
            fulfilled += 0 if step.is_return else step.quantity
    return came_back
