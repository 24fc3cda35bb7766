"""Convert an exported order to the state that ``create_order`` restores."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from apps.core.i18n.messages import define_text
from apps.core.money import ZERO, round_money
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.resources.nested_objects import check_members
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.fulfillment.domain.restore import RESTORED_FULFILLMENT
from apps.fulfillment.models import Fulfillment
from apps.imports_exports.domain.rows import Body
from apps.imports_exports.resources.exported_orders.fulfillments import build_fulfillment
from apps.imports_exports.resources.exported_orders.members import EXPECTED_AMOUNTS, MEMBERS, PRESENTMENT_COLUMNS
from apps.imports_exports.resources.exported_orders.references import OrderReferences
from apps.imports_exports.resources.exported_orders.refunds import build_refund
from apps.orders.domain.create.drafts import OrderParts
from apps.orders.domain.create.restored import OrderRefused, OrderState
from apps.orders.models import Order, Transaction
from apps.refunds.domain.calculation import ACTIVE_STATUSES
from apps.refunds.domain.exported_refunds.restore import RESTORED_REFUNDS, RestoredRefund
from apps.refunds.models import OrderAdjustment, RefundLineItem

_PENDING = define_text(
    "order_imports.refund_pending",
    "the refund is still being processed. Export the order again when the payment provider has answered",
)
_NO_TRANSACTIONS = define_text(
    "order_imports.no_transactions",
    "are missing. Add all transactions of the order: its payments and refunds can't be calculated without them",
)
Kind = Transaction.Kind


def is_exported_order(body: Body) -> bool:
    """Return True if the body is an order as the REST API shows it, with its current quantities and total or refunds.

    An order in a table of another system is converted to such a body.
    """
    lines = body.get("line_items")
    return (
        (body.get("current_total_price") is not None or isinstance(body.get("refunds"), list))
        and isinstance(lines, list)
        and bool(lines)
        and all(isinstance(line, dict) and line.get("current_quantity") is not None for line in lines)
    )


def restore_state(body: Body, attrs: ReadOnlyAttrs, parts: OrderParts, location_ids: Mapping[str, int]) -> None:
    """Add the state of an exported order to the parsed input of a new order.

    ``location_ids`` are keyed by the lowercase names of the locations.

    Raises:
        OrderRefused, Unprocessable: Values are invalid, or the order can't be restored exactly.
    """
    values, errors = check_members(MEMBERS, dict(body))
    if errors:
        raise Unprocessable(errors)
    currency = attrs.get("currency") or get_current_shop().currency
    references = OrderReferences.create(
        values,
        currency=currency,
        is_multi_currency=(attrs.get("presentment_currency") or currency) != currency,
        rate=attrs.get("exchange_rate") or Decimal(1),
        location_ids=location_ids,
    )
    refunds = [
        build_refund(refund, f"refunds.{index}", references) for index, refund in enumerate(values.get("refunds") or ())
    ]
    fulfillment = build_fulfillment(values, references)
    if references.errors:
        raise OrderRefused(references.errors)
    lines = [_build_line(index, line, refunds, values) for index, line in enumerate(values["line_items"])]
    parts.state = OrderState(
        order=_build_order(values, refunds),
        lines=lines,
        shipping=_build_shipping(values.get("shipping_lines") or (), refunds),
        transactions=_build_transactions(values, body, references, attrs),
        presentment=_build_presentment(values, refunds) if references.is_multi_currency else {},
        expected=_build_expected(values),
        duty_taxes=[_sum_duty_taxes(index, refunds) for index in range(len(lines))],
    )
    parts.fulfillment_status = None
    parts.fulfilled_quantities = ()
    parts.other_members = {RESTORED_REFUNDS: refunds, RESTORED_FULFILLMENT: fulfillment}


def _build_order(values: ReadOnlyAttrs, refunds: Sequence[RestoredRefund]) -> Attrs:
    number = values.get("number")
    client = {name: value for name, value in (values.get("client_details") or {}).items() if value not in (None, "")}
    columns: Attrs = {
        "cancelled_at": values.get("cancelled_at"),
        "cancel_reason": values.get("cancel_reason") or "",
        "closed_at": values.get("closed_at"),
        "duties_included": bool(values.get("duties_included")),
        "estimated_taxes": bool(values.get("estimated_taxes")),
        "refund_discrepancy": _sum_discrepancies(refunds, "amount"),
    }
    if values.get("cancelled_at") and not columns["cancel_reason"]:
        columns["cancel_reason"] = Order.CancelReason.OTHER
    if values.get("confirmation_number"):
        columns["confirmation_number"] = values["confirmation_number"]
    if number is not None and number > 0:
        columns["number"] = number
    if client.keys() - {"browser_ip"}:
        columns["client_details"] = values["client_details"]
    return columns


def _sum_discrepancies(refunds: Sequence[RestoredRefund], column: str) -> Decimal:
    rows = (row for refund in refunds for row in refund.adjustments)
    kind = OrderAdjustment.Kind.REFUND_DISCREPANCY
    return sum((row[column] for row in rows if row["kind"] == kind and row[column] is not None), ZERO)


def _build_line(index: int, line: ReadOnlyAttrs, refunds: Sequence[RestoredRefund], values: ReadOnlyAttrs) -> Attrs:
    refunded = [columns for refund in refunds for position, columns in refund.lines if position == index]
    duties = [columns for refund in refunds for position, _, columns in refund.duties if position == index]
    fulfilled = line.get("fulfilled_quantity")
    if fulfilled is None:
        fulfilled = _count_fulfilled(line, values)
    unrestocked = line.get("unrestocked_quantity")
    if unrestocked is None:
        kind = RefundLineItem.RestockType.NO_RESTOCK
        unrestocked = min(sum(row["quantity"] for row in refunded if row["restock_type"] == kind), fulfilled)
    return {
        "current_quantity": line["current_quantity"],
        "fulfillable_quantity": line.get("fulfillable_quantity") or 0,
        "fulfilled_quantity": fulfilled,
        "unrestocked_quantity": unrestocked,
        "refunded_quantity": sum(row["quantity"] for row in refunded),
        "refunded_duty": sum((row["amount"] for row in duties), ZERO),
        "refunded_duty_tax": sum((row["tax"] for row in duties), ZERO),
        "variant_inventory_management": line.get("variant_inventory_management") or "",
    }


def _sum_duty_taxes(index: int, refunds: Sequence[RestoredRefund]) -> dict[int, Decimal]:
    """Return the refunded taxes of a line's duties, keyed by the index of the duty."""
    taxes: dict[int, Decimal] = {}
    for refund in refunds:
        for position, duty, columns in refund.duties:
            if position == index:
                taxes[duty] = taxes.get(duty, ZERO) + columns["tax"]
    return taxes


def _count_fulfilled(line: ReadOnlyAttrs, values: ReadOnlyAttrs) -> int:
    """Return the fulfilled quantity of a line as its fulfillments show it, or else as its status shows it."""
    if values.get("fulfillments"):
        return sum(
            row["quantity"]
            for fulfillment in values["fulfillments"]
            for row in fulfillment.get("line_items") or ()
            if row.get("id") == line.get("id") and fulfillment["status"] != Fulfillment.Status.CANCELLED
        )
    if line.get("fulfillment_status") not in {"partial", "fulfilled"}:
        return 0
    return int((line.get("quantity") or 1) - (line.get("fulfillable_quantity") or 0))


def _build_shipping(rows: Sequence[ReadOnlyAttrs], refunds: Sequence[RestoredRefund]) -> list[Attrs]:
    shipping: list[Attrs] = []
    for index, row in enumerate(rows):
        refunded = [columns for refund in refunds for position, columns in refund.shipping if position == index]
        shipping.append(
            {
                "is_removed": bool(row.get("is_removed")),
                "refunded": sum((columns["amount"] for columns in refunded), ZERO),
                "refunded_tax": sum((columns["tax"] for columns in refunded), ZERO),
            }
        )
    return shipping


def _build_transactions(
    values: ReadOnlyAttrs, body: Body, references: OrderReferences, attrs: ReadOnlyAttrs
) -> list[Attrs] | None:
    """Return the columns of the transactions, or None if the file contains none."""
    if body.get("transactions") is None and not references.transactions:
        return None
    errors: Errors = {}
    columns = [_build_transaction(row, references, attrs) for row in references.transactions]
    for index, row in enumerate(columns):
        is_refund = row["kind"] == Kind.REFUND
        if is_refund and row["status"] == Transaction.Status.PENDING:
            errors[f"transactions.{index}"] = [_PENDING]
        elif is_refund and row["parent"] is None and body.get("transactions") is None:
            errors["transactions"] = [_NO_TRANSACTIONS]
        # ``build_transactions`` refuses other parents.
        has_parent = row["parent"] is not None and row["parent"] < index
        if is_refund and has_parent and row["status"] in ACTIVE_STATUSES:
            columns[row["parent"]]["refunded"] += row["amount"]
    if errors:
        raise OrderRefused(errors)
    return columns


def _build_transaction(row: ReadOnlyAttrs, references: OrderReferences, attrs: ReadOnlyAttrs) -> Attrs:
    currency = row.get("currency") or references.currency
    is_converted = currency != references.currency
    amount = row["amount"]
    shop_amount = row.get("shop_amount")
    if shop_amount is None:
        shop_amount = round_money(amount / references.rate, references.currency) if is_converted else amount
    elif row["kind"] == Kind.VOID and not amount:
        # The API shows the amount of a void as zero, but a void stores the amount that it released.
        amount = round_money(shop_amount * references.rate, currency) if is_converted else shop_amount
    unsettled = row.get("total_unsettled_set")
    side = "presentment_money" if is_converted else "shop_money"
    receipt: dict[str, Any] = dict(row.get("receipt") or {})
    test, code = bool(row.get("test")), row.get("authorization") or receipt.get("authorization") or ""
    # The API adds these two members to every receipt.
    if receipt.get("testcase") == test:
        receipt.pop("testcase")
    if receipt.get("authorization") == code:
        receipt.pop("authorization")
    moments = {name: row[name] for name in ("processed_at", "created_at") if row.get(name)}
    return {
        "parent": references.find_transaction(row.get("parent_id")),
        "kind": row["kind"],
        "status": row.get("status") or Transaction.Status.SUCCESS,
        "gateway": row.get("gateway") or "manual",
        "amount": amount,
        "currency": currency,
        "shop_amount": shop_amount,
        "unsettled": unsettled[side]["amount"] if unsettled else ZERO,
        "refunded": ZERO,
        "authorization": str(code)[:255],
        "message": row.get("message") or "",
        "error_code": row.get("error_code") or "",
        "receipt": receipt,
        "source_name": row.get("source_name") or "",
        "test": test,
        "processed_at": row.get("created_at") or attrs.get("processed_at") or attrs.get("created_at"),
        **moments,
    }


def _build_presentment(values: ReadOnlyAttrs, refunds: Sequence[RestoredRefund]) -> dict[str, Decimal]:
    amounts = {
        column: values[member]["presentment_money"]["amount"]
        for member, column in PRESENTMENT_COLUMNS.items()
        if values.get(member) is not None
    }
    return {**amounts, "refund_discrepancy": _sum_discrepancies(refunds, "presentment_amount")}


def _build_expected(values: ReadOnlyAttrs) -> Attrs:
    expected = {column: values[member] for member, column in EXPECTED_AMOUNTS.items() if values.get(member) is not None}
    if values.get("financial_status"):
        expected["financial_status"] = values["financial_status"]
    if "fulfillment_status" in values:
        expected["fulfillment_status"] = values["fulfillment_status"] or ""
    return expected
