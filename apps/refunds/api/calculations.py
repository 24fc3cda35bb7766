"""Render the response of the ``calculate`` endpoint in the requested currency."""

from collections.abc import Sequence
from decimal import Decimal

from apps.core.money import ZERO, format_decimal, round_money
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.types import ReadOnlyAttrs, Rendered
from apps.orders.api.fields import DECIMAL, MONEY, render_money_set, render_tax_lines
from apps.orders.api.line_items import LineItemSerializer
from apps.orders.models import Order
from apps.refunds.domain import refunded_parts
from apps.refunds.domain.calculation import PaymentShare, RefundCalculation
from apps.refunds.domain.validation import OrderSnapshot, RefundLine, RefundRequest

_LIST = {"type": "array", "items": {"type": "object"}}
CALCULATION_SCHEMA = {
    "type": "object",
    "required": ["refund"],
    "properties": {
        "refund": {
            "type": "object",
            "properties": {
                "currency": {"type": "string"},
                "shipping": {
                    "type": "object",
                    "properties": dict.fromkeys(("amount", "tax", "maximum_refundable"), DECIMAL),
                },
                "refund_line_items": _LIST,
                "transactions": _LIST,
                "duties": _LIST,
                "total_duties_set": MONEY,
                "additional_fees": _LIST,
                "total_additional_fees_set": MONEY,
                "refund_shipping_lines": _LIST,
                "return": {"type": "null"},
                "tax_lines": _LIST,
            },
        }
    },
}


def render_calculation(
    snapshot: OrderSnapshot,
    refund_request: RefundRequest,
    refund_lines: Sequence[RefundLine],
    result: RefundCalculation,
    context: RenderContext,
) -> Rendered:
    order = snapshot.order
    currency = refund_request.currency or order.currency
    plan = get_read_plan(LineItemSerializer, context.version)
    lines = plan.read_ids(sorted({refund_line.line.pk for refund_line in refund_lines}), context)
    shipping_left = refunded_parts.get_refundable_shipping(snapshot.shipping)
    presentment_left = refunded_parts.get_refundable_presentment_shipping(order, snapshot.shipping)

    def money(amount: Decimal, converted: Decimal | None = None) -> str:
        if currency != order.currency:
            amount = order.to_presentment(amount) if converted is None else converted
        return format_decimal(amount, currency)

    def money_in_both(amount: Decimal, converted: Decimal) -> Rendered:
        return render_money_set(amount, order.currency, order.presentment_currency, order.exchange_rate, converted)

    def tax_lines(taxes: Sequence[ReadOnlyAttrs]) -> list[Rendered]:
        return render_tax_lines(context, list(taxes), order.currency, order.presentment_currency, order.exchange_rate)

    return {
        "tax_lines": tax_lines(result.tax_lines),
        "duties": [
            {
                "duty_id": part.duty_id,
                "amount_set": money_in_both(part.amount, part.presentment.price),
                "tax_amount_set": money_in_both(part.tax, part.presentment.tax),
                "tax_lines": tax_lines(part.tax_lines),
            }
            for part in result.duties
        ],
        "total_duties_set": money_in_both(
            sum((part.amount for part in result.duties), ZERO),
            sum((part.presentment.price for part in result.duties), ZERO),
        ),
        # Backoffice has no additional fees and no returns, and a calculation creates no shipping lines.
        "additional_fees": [],
        "total_additional_fees_set": money_in_both(ZERO, ZERO),
        "refund_shipping_lines": [],
        "return": None,
        "shipping": {
            "amount": money(
                sum((part.amount for part in result.shipping), ZERO),
                sum((part.presentment.price for part in result.shipping), ZERO),
            ),
            "tax": money(
                sum((part.tax for part in result.shipping), ZERO),
                sum((part.presentment.tax for part in result.shipping), ZERO),
            ),
            "maximum_refundable": money(shipping_left, presentment_left),
        },
        "refund_line_items": [
            {
                "quantity": refund_line.quantity,
                "line_item_id": refund_line.line.pk,
                "location_id": refund_line.location_id,
                "restock_type": refund_line.restock_type,
                "price": money(refund_line.line.price),
                "subtotal": money(part.subtotal, part.presentment.price),
                "total_tax": money(part.tax, part.presentment.tax),
                "tax_lines": tax_lines(part.tax_lines),
                "discounted_price": money(round_money(part.discounted / part.quantity, order.currency)),
                "discounted_total_price": money(
                    part.discounted, part.presentment.price + order.to_presentment(part.cart_discount)
                ),
                "total_cart_discount_amount": money(part.cart_discount),
                "line_item": lines[refund_line.line.pk],
            }
            for refund_line, part in zip(refund_lines, result.lines, strict=True)
        ],
        "transactions": [_suggested_transaction(order, share) for share in result.shares if share.refundable],
        "currency": currency,
    }


def _suggested_transaction(order: Order, share: PaymentShare) -> Rendered:
    payment = share.payment
    return {
        "order_id": order.pk,
        "kind": "suggested_refund",
        "gateway": payment.gateway,
        "parent_id": payment.pk,
        "amount": format_decimal(share.amount, payment.currency),
        "currency": payment.currency,
        "maximum_refundable": format_decimal(share.refundable, payment.currency),
    }
