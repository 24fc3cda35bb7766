"""What a refund would come to, as the interface shows it: in the currency that was asked for."""

from collections.abc import Callable, Sequence
from decimal import Decimal

from apps.api.context import Context
from apps.api.rows.plans import plan_for
from apps.api.shapes import Shown
from apps.ground.money import ZERO, rounded, text_of
from apps.orders.api.lines import LineItemSerializer
from apps.orders.api.money import MONEY, money_set
from apps.orders.models import Order
from apps.refunds.domain import calculation
from apps.refunds.domain.calculation import Calculation, Share
from apps.refunds.domain.requests import Books, Named, Wanted

AMOUNTS = {"type": "string", "format": "decimal"}
_LIST = {"type": "array", "items": {"type": "object"}}
SCHEMA = {
    "type": "object",
    "required": ["refund"],
    "properties": {
        "refund": {
            "type": "object",
            "properties": {
                "currency": {"type": "string"},
                "shipping": {
                    "type": "object",
                    "properties": dict.fromkeys(("amount", "tax", "maximum_refundable"), AMOUNTS),
                },
                "refund_line_items": _LIST,
                "transactions": _LIST,
                "duties": _LIST,
                "total_duties_set": MONEY,
            },
        }
    },
}


def shown_calculation(
    books: Books, wanted: Wanted, named: Sequence[Named], found: Calculation, context: Context
) -> Shown:
    """The answer of ``calculate``."""
    order = books.order
    currency = wanted.currency or order.currency
    money = writer(order, currency)
    plan = plan_for(LineItemSerializer, context.version)
    lines = plan.read_ids(sorted({each.line.pk for each in named}), context)
    left = calculation.shipping_left(books.shipping)

    def both(amount: Decimal) -> Shown:
        return money_set(amount, order.currency, order.presentment_currency, order.exchange_rate)

    return {
        "duties": [
            {"duty_id": part.duty_id, "amount_set": both(part.amount), "tax_amount_set": both(part.tax)}
            for part in found.duties
        ],
        "total_duties_set": both(sum((part.amount for part in found.duties), ZERO)),
        "shipping": {
            "amount": money(sum((part.amount for part in found.shipping), ZERO)),
            "tax": money(sum((part.tax for part in found.shipping), ZERO)),
            "maximum_refundable": money(left),
        },
        "refund_line_items": [
            {
                "quantity": each.quantity,
                "line_item_id": each.line.pk,
                "location_id": each.location_id,
                "restock_type": each.restock_type,
                "price": money(each.line.price),
                "subtotal": money(part.subtotal),
                "total_tax": money(part.tax),
                "discounted_price": money(rounded(part.discounted / part.units, order.currency)),
                "discounted_total_price": money(part.discounted),
                "total_cart_discount_amount": money(part.cart_discount),
                "line_item": lines[each.line.pk],
            }
            for each, part in zip(named, found.lines, strict=True)
        ],
        "transactions": [_suggested(order, share) for share in found.shares if share.left],
        "currency": currency,
    }


def writer(order: Order, currency: str) -> Callable[[Decimal], str]:
    """Writes amounts of the order in one of its currencies."""
    if currency == order.currency:
        return lambda amount: text_of(amount, currency)
    return lambda amount: text_of(order.presentment(amount), currency)


def _suggested(order: Order, share: Share) -> Shown:
    payment = share.payment
    return {
        "order_id": order.pk,
        "kind": "suggested_refund",
        "gateway": payment.gateway,
        "parent_id": payment.pk,
        "amount": text_of(share.amount, payment.currency),
        "currency": payment.currency,
        "maximum_refundable": text_of(share.left, payment.currency),
    }
