"""Do lines, shipping, payments and orders say of refunds what the refunds themselves say?

Some thousands of rows at a time: the sums of what hangs on them beside the rows that say something of refunds. Most
rows are neither, and are never read.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.db.models import F, Max, Model, Q, QuerySet, Sum

from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain.calculation import LIVING
from apps.refunds.models import OrderAdjustment, Refund, RefundDuty, RefundLineItem, RefundShippingLine

_AT_ONCE = 20_000
_ZERO = Decimal(0)
Row = Mapping[str, Any]


def refunds() -> Iterator[str]:
    """Rows that say something else of refunds than the refunds do."""
    units, duties, sent = RefundLineItem.objects.all(), RefundDuty.objects.all(), RefundShippingLine.objects.all()
    yield from _unlike(LineItem, units, "line_item", refunded_quantity="quantity")
    yield from _unlike(LineItem, duties, "line_item", refunded_duty="amount", refunded_duty_tax="tax")
    yield from _unlike(ShippingLine, sent, "shipping_line", refunded="amount", refunded_tax="tax")
    discrepancies = OrderAdjustment.objects.filter(kind=OrderAdjustment.Kind.REFUND_DISCREPANCY)
    yield from _unlike(Order, discrepancies, "refund__order", refund_discrepancy="amount")
    yield from _unlike(Refund, duties, "refund", total_duties="amount")
    living = Transaction.objects.filter(kind=Transaction.Kind.REFUND, status__in=LIVING)
    yield from _unlike(Transaction, living, "parent", refunded="amount")
    lost = Transaction.objects.filter(kind=Transaction.Kind.REFUND, refund_payment=None)
    for row in lost.order_by("pk").values("pk", "shop_id", "order_id"):
        yield f"shop {row['shop_id']}, order {row['order_id']}: transaction {row['pk']} belongs to no refund"


def _unlike(model: type[Model], parts: "QuerySet[Any]", by: str, **columns: str) -> Iterator[str]:
    """The rows whose columns are not the sums of their parts' columns.

    Args:
        model: Whose rows.
        parts: What hangs on them.
        by: How a part names its row.
        columns: By the column of a row, that of its parts.
    """
    said = Q(*(~Q(**{column: 0}) for column in columns), _connector=Q.OR)
    whose = F("pk") if model is Order else F("order_id")
    rows = model._default_manager.annotate(whose=whose).values("pk", "shop_id", "whose", *columns)
    for after, upto in _ranges(model):
        some = parts.filter(**{f"{by}__gt": after, f"{by}__lte": upto}).order_by().values(by)
        summed = some.annotate(**{f"{column}_sum": Sum(source) for column, source in columns.items()})
        sums: dict[int, Row] = {row[by]: row for row in summed}
        kept: dict[int, Row] = {row["pk"]: row for row in rows.filter(said, pk__gt=after, pk__lte=upto)}
        if silent := [pk for pk in sums if pk not in kept]:
            kept |= {row["pk"]: row for row in rows.filter(pk__in=silent)}
        for pk in sorted(kept):
            yield from _differences(model, kept[pk], sums.get(pk, {}), columns)


def _differences(model: type[Model], row: Row, sums: Row, columns: Mapping[str, str]) -> Iterator[str]:
    for column in columns:
        right = sums.get(f"{column}_sum") or _ZERO
        if row[column] != right:
            yield (
                f"shop {row['shop_id']}, order {row['whose']}: {model._meta.verbose_name} {row['pk']} has"
                f" {column} {row[column]}, of the refunds {right}"
            )


def _ranges(model: type[Model]) -> Iterator[tuple[int, int]]:
    """Ranges of ids that hold all rows; where there are none for long, nothing is asked."""
    rows = model._default_manager.order_by("pk").values_list("pk", flat=True)
    last, end = 0, model._default_manager.aggregate(end=Max("pk"))["end"] or 0
    while last < end:
        first = rows.filter(pk__gt=last)[0]
        last = first + _AT_ONCE - 1
        yield first - 1, last
