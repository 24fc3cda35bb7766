"""Restore the refunds of orders that another shop exported. No money and no stock moves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain

from django.db.models import Model

from apps.core.models import M
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain.pricing.taxes import sum_taxes
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain.tax_shares import TaxShares
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundPayment, RefundShippingLine

# The member of ``OrderParts.other_members`` that contains the ``RestoredRefund`` objects of an order.
RESTORED_REFUNDS = "restored_refunds"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredRefund:
    """A refund as values of columns. Rows of the order are referred to by their index in the order.

    Attributes:
        columns: Columns of the refund.
        lines: Columns of the refunded items, each with the index of its line item. ``tax_lines`` contains the amounts
            of the taxes in both currencies, or nothing if only their sum is known.
        shipping: Columns of the refunded shipping, like ``lines``, each with the index of its shipping line.
        duties: Columns of the refunded duties, like ``lines``, each with the indexes of its line item and of the duty
            in this line.
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
    refunds = [Refund(order=order, **common, **{"created_at": at, **restored.columns}) for order, restored in pairs]
    parts = _build_parts(refunds, [restored for _, restored in pairs], lines, shipping, transactions)
    taxes_by_refund: dict[int, list[ReadOnlyAttrs]] = {id(refund): [] for refund in refunds}
    for row in chain.from_iterable(parts.values()):
        taxes_by_refund[id(row["refund"])] += row.get("tax_lines", ())
    for refund in refunds:
        refund.tax_lines = sum_taxes(taxes_by_refund[id(refund)])
    Refund.objects.bulk_create(refunds)
    for model, rows in parts.items():
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
        order = refund.order
        for index, columns in restored.lines:
            line = order_lines[index]
            taxes = _build_tax_lines(TaxShares.of_row(order, line.tax_lines), columns, columns["total_tax"])
            parts[RefundLineItem].append({**common, "line_item": line, **columns, "tax_lines": taxes})
        for index, columns in restored.shipping:
            row = order_shipping[index]
            taxes = _build_tax_lines(TaxShares.of_row(order, row.tax_lines), columns, columns["tax"])
            parts[RefundShippingLine].append({**common, "shipping_line": row, **columns, "tax_lines": taxes})
        for line_index, duty_index, columns in restored.duties:
            line = order_lines[line_index]
            duty = line.duties[duty_index]
            taxes = _build_tax_lines(TaxShares.of_duty(order, line, duty), columns, columns["tax"])
            parts[RefundDuty].append(
                {**common, "line_item": line, "duty_id": duty["id"], **columns, "tax_lines": taxes}
            )
        parts[OrderAdjustment] += [{**common, **columns} for columns in restored.adjustments]
        parts[RefundPayment] += [
            {**common, "transaction": transactions[refund.order_id][index]} for index in restored.transactions
        ]
    return parts


def _build_tax_lines(shares: TaxShares, columns: ReadOnlyAttrs, tax: Decimal) -> list[Attrs]:
    """Return the refunded taxes of a row in the stored format. Without amounts of each tax, the sum is split."""
    amounts: Sequence[tuple[Decimal, Decimal | None]] = columns["tax_lines"]
    if len(amounts) != len(shares.taxes):
        presentment_tax = columns["presentment_tax"]
        return shares.take(tax, tax if presentment_tax is None else presentment_tax).build_tax_lines()
    prices = [price for price, _ in amounts]
    converted = [price if presentment is None else presentment for price, presentment in amounts]
    return replace(shares, prices=prices, converted=converted).build_tax_lines()
