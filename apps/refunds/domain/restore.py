"""Restore the refunds of orders that another shop exported. No money and no stock moves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Model

from apps.core.models import M
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine

# The member of ``OrderParts.other_members`` that contains the ``RestoredRefund`` objects of an order.
RESTORED_REFUNDS = "restored_refunds"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredRefund:
    """A refund as values of columns. Rows of the order are referred to by their index in the order.

    Attributes:
        columns: Columns of the refund.
        lines: Columns of the refunded items, each with the index of its line item.
        shipping: Columns of the refunded shipping, each with the index of its shipping line.
        duties: Columns of the refunded duties, each with the indexes of its line item and of the duty in this line.
        adjustments: Columns of the order adjustments.
        transactions: The indexes of the transactions of the refund.
    """

    columns: ReadOnlyAttrs
    lines: Sequence[tuple[int, ReadOnlyAttrs]] = ()
    shipping: Sequence[tuple[int, ReadOnlyAttrs]] = ()
    duties: Sequence[tuple[int, int, ReadOnlyAttrs]] = ()
    adjustments: Sequence[ReadOnlyAttrs] = ()
    transactions: Sequence[int] = ()


def restore_refunds(orders: Sequence[tuple[Order, ReadOnlyAttrs]], *, actor: str, at: datetime) -> None:
    """Save the refunds of new orders that another shop exported, as a creation hook of ``apps.orders``."""
    pairs = [
        (order, restored_refund) for order, parts in orders for restored_refund in parts.get(RESTORED_REFUNDS) or ()
    ]
    if not pairs:
        return
    order_ids = {order.pk for order, _ in pairs}
    lines = _group(LineItem.objects.filter(order__in=order_ids).order_by("order", "position", "pk"))
    shipping = _group(ShippingLine.objects.filter(order__in=order_ids).order_by("order", "pk"))
    transactions = _group(Transaction.objects.filter(order__in=order_ids).order_by("order", "sequence"))
    common = {"shop": get_current_shop()}
    refunds = Refund.objects.bulk_create(
        [Refund(order=order, **common, **{"created_at": at, **restored.columns}) for order, restored in pairs]
    )
    for model, rows in _build_parts(
        refunds, [restored for _, restored in pairs], lines, shipping, transactions
    ).items():
        if rows:
            model._default_manager.bulk_create([model(**common, **columns) for columns in rows])


def _group(rows: Iterable[M]) -> dict[int, list[M]]:
    """Group rows by their order."""
    groups: dict[int, list[M]] = {}
    for row in rows:
        groups.setdefault(row.order_id, []).append(row)  # type: ignore[attr-defined]
    return groups


def _build_parts(
    refunds: Sequence[Refund],
    restored_refunds: Sequence[RestoredRefund],
    lines: Mapping[int, Sequence[LineItem]],
    shipping: Mapping[int, Sequence[ShippingLine]],
    transactions: Mapping[int, Sequence[Transaction]],
) -> dict[type[Model], list[Attrs]]:
    """Return the columns of the rows of all refunds, keyed by model."""
    parts: dict[type[Model], list[Attrs]] = {
        model: [] for model in (RefundLineItem, RefundShippingLine, RefundDuty, OrderAdjustment, RefundPayment)
    }
    for refund, restored in zip(refunds, restored_refunds, strict=True):
        common: Attrs = {"refund": refund, "created_at": refund.created_at}
        order_lines, order_shipping = lines.get(refund.order_id, ()), shipping.get(refund.order_id, ())
        parts[RefundLineItem] += [
            {**common, "line_item": order_lines[index], **columns} for index, columns in restored.lines
        ]
        parts[RefundShippingLine] += [
            {**common, "shipping_line": order_shipping[index], **columns} for index, columns in restored.shipping
        ]
        for line_index, duty_index, columns in restored.duties:
            line = order_lines[line_index]
            duty_id = line.duties[duty_index]["id"]
            parts[RefundDuty].append({**common, "line_item": line, "duty_id": duty_id, **columns})
        parts[OrderAdjustment] += [{**common, **columns} for columns in restored.adjustments]
        parts[RefundPayment] += [
            {**common, "transaction": transactions[refund.order_id][index]} for index in restored.transactions
        ]
    return parts
