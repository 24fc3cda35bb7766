import time
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from babel.numbers import get_currency_precision
from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F

_BATCH = 200
_ZERO = Decimal(0)
# The model of each refunded part, with its column for the tax in the order's currency.
_PARTS = (("RefundLineItem", "total_tax"), ("RefundShippingLine", "tax"), ("RefundDuty", "tax"))


def fill_tax_lines(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    """Split the taxes of earlier refunds over the tax lines, and set the current taxes of changed orders.

    The first refunds of a row get the last part of the row's tax, as new refunds do. For shipping and duties, they get
    the first part. Read-only shops are left out, because they accept no changes. The new version of the orders ends the
    use of stored responses.
    """
    order_model = apps.get_model("orders", "Order")
    changed = order_model.objects.filter(shop__read_only_at=None).exclude(total_tax=F("current_total_tax"))
    refunded = order_model.objects.filter(
        shop__read_only_at=None,
        total_tax=F("current_total_tax"),
        pk__in=apps.get_model("refunds", "Refund").objects.values("order_id"),
    )
    for rows in (changed, refunded):
        last = 0
        while orders := list(rows.filter(pk__gt=last).order_by("pk")[:_BATCH]):
            last = orders[-1].pk
            _fill_orders(apps, orders)


def _fill_orders(apps: Apps, orders: list[Any]) -> None:
    by_id = {order.pk: order for order in orders}
    lines, shipping = (
        {row.pk: row for row in apps.get_model("orders", name).objects.filter(order_id__in=by_id).order_by("pk")}
        for name in ("LineItem", "ShippingLine")
    )
    refunds = {row.pk: row for row in apps.get_model("refunds", "Refund").objects.filter(order_id__in=by_id)}
    positions: dict[tuple[str, int], list[Decimal]] = {}
    taxes_by_refund: dict[int, list[dict[str, Any]]] = defaultdict(list)
    refunded_duties: dict[int, Decimal] = defaultdict(Decimal)
    for name, column in _PARTS:
        model = apps.get_model("refunds", name)
        parts = list(model.objects.filter(refund_id__in=refunds).order_by("pk"))
        for part in parts:
            order = by_id[refunds[part.refund_id].order_id]
            taxes, key = _get_taxes(name, part, lines, shipping)
            position = positions.setdefault(key, [_ZERO] * 2)
            tax = getattr(part, column)
            amounts = tax, _get_presentment(order, tax) if part.presentment_tax is None else part.presentment_tax
            part.tax_lines = _split_part(order, taxes, amounts, position, is_reversed=name == "RefundLineItem")
            taxes_by_refund[part.refund_id] += part.tax_lines
            if name == "RefundDuty":
                refunded_duties[part.duty_id] += tax
        model.objects.bulk_update(parts, ["tax_lines"])
    for pk, refund in refunds.items():
        refund.tax_lines = _sum_taxes(taxes_by_refund[pk])
    apps.get_model("refunds", "Refund").objects.bulk_update(refunds.values(), ["tax_lines"])
    for line in lines.values():
        line.duties = [
            {**duty, "refunded_tax": str(refunded_duties[duty["id"]])} if duty["id"] in refunded_duties else duty
            for duty in line.duties
        ]
    changed_lines = [line for line in lines.values() if line.refunded_duty_tax]
    apps.get_model("orders", "LineItem").objects.bulk_update(changed_lines, ["duties"])
    for order in orders:
        own_lines = [line for line in lines.values() if line.order_id == order.pk]
        own_shipping = [row for row in shipping.values() if row.order_id == order.pk]
        order.current_tax_lines = _get_current_taxes(order, own_lines, own_shipping)
        order.version = time.time_ns()
        order.save(update_fields=["current_tax_lines", "version"])


def _get_taxes(
    name: str, part: Any, lines: dict[int, Any], shipping: dict[int, Any]
) -> tuple[list[dict[str, Any]], tuple[str, int]]:
    """Return the tax lines of the refunded row, and a key of the row."""
    if name == "RefundLineItem":
        return lines[part.line_item_id].tax_lines, (name, part.line_item_id)
    if name == "RefundShippingLine":
        return shipping[part.shipping_line_id].tax_lines, (name, part.shipping_line_id)
    duties = {duty["id"]: duty for duty in lines[part.line_item_id].duties}
    return duties.get(part.duty_id, {"tax_lines": []})["tax_lines"], (name, part.duty_id)


def _split_part(
    order: Any,
    taxes: list[dict[str, Any]],
    amounts: tuple[Decimal, Decimal],
    position: list[Decimal],
    *,
    is_reversed: bool,
) -> list[dict[str, Any]]:
    """Return the tax lines of a refunded part, and move the position, which is in both currencies."""
    columns = [(order.currency, [Decimal(tax["price"]) for tax in taxes])]
    if order.presentment_currency != order.currency:
        columns.append((order.presentment_currency, _convert(order, columns[0][1])))
    shares = []
    for index, (currency, prices) in enumerate(columns):
        total = sum(prices, _ZERO)
        before, after = position[index], min(position[index] + amounts[index], total)
        position[index] = after
        first, last = (total - after, total - before) if is_reversed else (before, after)
        pairs = zip(_split_first(last, prices, currency), _split_first(first, prices, currency), strict=True)
        parts = [upto - start for upto, start in pairs]
        if parts:
            # Earlier versions may have refunded more of the tax in the presentment currency than its rows add up to.
            parts[-1] += amounts[index] - (after - before)
        shares.append(parts)
    names = ("price", "presentment_price")
    return [
        {**tax, **{names[index]: str(parts[number]) for index, parts in enumerate(shares)}}
        for number, tax in enumerate(taxes)
    ]


def _get_current_taxes(order: Any, lines: list[Any], shipping: list[Any]) -> list[dict[str, Any]] | None:
    is_void = order.cancelled_at is not None and not any(line.current_quantity for line in lines)
    is_complete = all(line.current_quantity == line.quantity and not line.refunded_duty_tax for line in lines)
    if is_complete and not is_void and not any(row.is_removed or row.refunded_tax for row in shipping):
        return None
    rows = []
    for line in lines:
        rows.append((line.tax_lines, _ZERO, _round(line.tax * line.current_quantity / line.quantity, order.currency)))
        for duty in line.duties:
            total = sum((Decimal(tax["price"]) for tax in duty["tax_lines"]), _ZERO)
            rows.append((duty["tax_lines"], total if is_void else Decimal(duty.get("refunded_tax", 0)), total))
    rows += [(row.tax_lines, row.tax if row.is_removed else row.refunded_tax, row.tax) for row in shipping]
    left = []
    for taxes, first, last in rows:
        prices = [Decimal(tax["price"]) for tax in taxes]
        shares = (_split_first(amount, prices, order.currency) for amount in (last, first))
        pairs = zip(*shares, strict=True)
        left += [{**tax, "price": str(upto - start)} for tax, (upto, start) in zip(taxes, pairs, strict=True)]
    return _sum_taxes(left)


def _sum_taxes(taxes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for tax in taxes:
        columns = [column for column in ("price", "presentment_price") if column in tax]
        tax_sum = sums.setdefault((tax["title"], tax["rate"]), {**tax, **dict.fromkeys(columns, "0")})
        for column in columns:
            tax_sum[column] = str(Decimal(tax_sum[column]) + Decimal(tax[column]))
    return list(sums.values())


def _split_first(amount: Decimal, parts: list[Decimal], currency: str) -> list[Decimal]:
    rest, total, shares = amount, sum(parts, _ZERO), []
    if amount == total:
        return list(parts)
    for part in parts:
        shares.append(_round(rest * part / total, currency) if total else rest)
        rest -= shares[-1]
        total -= part
    return shares


def _convert(order: Any, amounts: list[Decimal]) -> list[Decimal]:
    parts, cumulative, converted = [], _ZERO, _ZERO
    for amount in amounts:
        cumulative += amount
        upto = _round(cumulative * order.exchange_rate, order.presentment_currency)
        parts.append(upto - converted)
        converted = upto
    return parts


def _get_presentment(order: Any, amount: Decimal) -> Decimal:
    return _round(amount * order.exchange_rate, order.presentment_currency)


def _round(amount: Decimal, currency: str) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-get_currency_precision(currency)), ROUND_HALF_UP)


class Migration(migrations.Migration):
    dependencies = [("refunds", "0005_add_tax_lines"), ("orders", "0007_add_current_tax_lines")]
    atomic = False

    operations = [migrations.RunPython(fill_tax_lines, migrations.RunPython.noop)]
