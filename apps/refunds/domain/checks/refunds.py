"""Check the refund columns of lines, shipping lines, payments and orders against the refunds.

For each range of ids, the check compares the sums of the refund rows with the refund columns that are not zero. Most
rows have no refunds and are never read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import F, Model, Q, QuerySet, Sum

from apps.core.money import ZERO
from apps.orders.domain.consistency_checks import iterate_id_ranges
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain.calculation import ACTIVE_STATUSES
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundShippingLine

ColumnValues = Mapping[str, Any]


def check_refunds() -> Iterator[str]:
    """Yield a message for each refund column that does not match the refunds."""
    units, duties = RefundLineItem.objects.all(), RefundDuty.objects.all()
    shipping_lines = RefundShippingLine.objects.all()
    yield from _compare_sums(LineItem, units, "line_item", refunded_quantity="quantity")
    yield from _check_unrestocked_quantities()
    yield from _compare_sums(LineItem, duties, "line_item", refunded_duty="amount", refunded_duty_tax="tax")
    yield from _compare_sums(ShippingLine, shipping_lines, "shipping_line", refunded="amount", refunded_tax="tax")
    discrepancies = OrderAdjustment.objects.filter(kind=OrderAdjustment.Kind.REFUND_DISCREPANCY)
    yield from _compare_sums(Order, discrepancies, "refund__order", refund_discrepancy="amount")
    yield from _compare_sums(Refund, duties, "refund", total_duties="amount")
    active = Transaction.objects.filter(kind=Transaction.Kind.REFUND, status__in=ACTIVE_STATUSES)
    yield from _compare_sums(Transaction, active, "parent", refunded="amount")
    yield from _check_refund_payments()
    orphans = Transaction.objects.filter(kind=Transaction.Kind.REFUND, refund_payment=None)
    for row in orphans.order_by("pk").values("pk", "shop_id", "order_id"):
        yield f"shop {row['shop_id']}, order {row['order_id']}: transaction {row['pk']} belongs to no refund"


def _check_refund_payments() -> Iterator[str]:
    """Yield refund transactions in another currency than their payments, and payments with a rest in one currency."""
    rows = Transaction.objects.filter(kind=Transaction.Kind.REFUND, parent__isnull=False)
    wrong = rows.exclude(currency=F("parent__currency")).order_by("pk")
    for row in wrong.values("pk", "shop_id", "order_id", "currency", "parent_id", "parent__currency"):
        yield (
            f"shop {row['shop_id']}, order {row['order_id']}: transaction {row['pk']} is in {row['currency']},"
            f" but its payment {row['parent_id']} is in {row['parent__currency']}"
        )
    in_order_currency = Transaction.objects.filter(currency=F("order__currency")).exclude(amount=F("shop_amount"))
    for payment in in_order_currency.order_by("pk").iterator():
        yield (
            f"shop {payment.shop_id}, order {payment.order_id}: transaction {payment.pk} has shop_amount"
            f" {payment.shop_amount} {payment.currency}, expected its amount {payment.amount}"
        )
    active = Transaction.objects.filter(kind=Transaction.Kind.REFUND, status__in=ACTIVE_STATUSES)
    full = Transaction.objects.filter(refunded=F("amount"), refunded__gt=0).exclude(currency=F("order__currency"))
    columns = ("pk", "shop_id", "order_id", "order__currency", "shop_amount")
    for after, upto in iterate_id_ranges(Transaction):
        payments = list(full.filter(pk__gt=after, pk__lte=upto).order_by("pk").values(*columns))
        children = active.filter(parent__in=[row["pk"] for row in payments]).order_by()
        sums = dict(children.values_list("parent_id").annotate(Sum("shop_amount")))
        for row in payments:
            refunded = round(sums.get(row["pk"], ZERO), 3)
            if row["shop_amount"] != refunded:
                yield (
                    f"shop {row['shop_id']}, order {row['order_id']}: payment {row['pk']} is refunded in full, but its"
                    f" refunds are {refunded} {row['order__currency']}, expected {row['shop_amount']}"
                )


def _check_unrestocked_quantities() -> Iterator[str]:
    """Yield a message for each line with a larger unrestocked quantity than was refunded without restocking.

    The quantity can be smaller, because refunds of items that an edit removed restock nothing either.
    """
    lines = LineItem.objects.filter(unrestocked_quantity__gt=0)
    refunded = RefundLineItem.objects.filter(restock_type=RefundLineItem.RestockType.NO_RESTOCK).order_by()
    for after, upto in iterate_id_ranges(LineItem):
        rows = list(lines.filter(pk__gt=after, pk__lte=upto).order_by("pk"))
        in_range = refunded.filter(line_item_id__in=[row.pk for row in rows])
        sums = dict(in_range.values_list("line_item_id").annotate(Sum("quantity")))
        for row in rows:
            if row.unrestocked_quantity > sums.get(row.pk, 0):
                yield (
                    f"shop {row.shop_id}, order {row.order_id}: line item {row.pk} has unrestocked_quantity "
                    f"{row.unrestocked_quantity}, expected at most {sums.get(row.pk, 0)}"
                )


def _compare_sums(model: type[Model], parts: "QuerySet[Any]", by: str, **columns: str) -> Iterator[str]:
    """Yield a message for each column that does not match the sum of the related rows in ``parts``.

    ``by`` is the foreign key from a related row to the model. ``columns`` maps columns of the model to the summed
    columns.
    """
    has_refunds = Q(*(~Q(**{column: 0}) for column in columns), _connector=Q.OR)
    order_id = F("pk") if model is Order else F("order_id")
    rows = model._default_manager.annotate(order_pk=order_id).values("pk", "shop_id", "order_pk", *columns)
    for after, upto in iterate_id_ranges(model):
        in_range = parts.filter(**{f"{by}__gt": after, f"{by}__lte": upto}).order_by().values(by)
        aggregated = in_range.annotate(**{f"{column}_sum": Sum(source) for column, source in columns.items()})
        sums: dict[int, ColumnValues] = {row[by]: row for row in aggregated}
        rows_by_id: dict[int, ColumnValues] = {
            row["pk"]: row for row in rows.filter(has_refunds, pk__gt=after, pk__lte=upto)
        }
        if missing := [pk for pk in sums if pk not in rows_by_id]:
            rows_by_id |= {row["pk"]: row for row in rows.filter(pk__in=missing)}
        for pk in sorted(rows_by_id):
            yield from _differences(model, rows_by_id[pk], sums.get(pk, {}), columns)


def _differences(
    model: type[Model], row: ColumnValues, sums: ColumnValues, columns: Mapping[str, str]
) -> Iterator[str]:
    for column in columns:
        # SQLite adds up decimals as floating-point numbers.
        right = round(sums.get(f"{column}_sum") or ZERO, 3)
        if row[column] != right:
            yield (
                f"shop {row['shop_id']}, order {row['order_pk']}: {model._meta.verbose_name} {row['pk']} has"
                f" {column} {row[column]}, expected {right}"
            )
