"""Read orders of the store with their transactions and open fulfillment orders.

An order has its refunds and fulfillments. Its transactions and its fulfillment orders cost a request each, and are only
read if there can be some.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from apps.store_imports.domain.source_client import ObjectGone, SourceObject, refuse_malformed
from apps.store_imports.domain.streams import Source

NAME = "orders"
# Members that change without a change of the order, or that differ in each shop.
_LEFT_OUT = frozenset(
    {
        *("updated_at", "admin_graphql_api_id", "order_status_url", "token", "customer", "app_id", "user_id"),
        *("merchant_business_entity_id", "payment_terms", "checkout_id", "checkout_token", "cart_token", "location_id"),
    }
)
# The member of an order that was deleted while its page was read.
IS_GONE = "is_gone"


def read_orders(source: Source, position: int, limit: int) -> list[SourceObject]:
    """Return the next orders, without the members that are not imported."""
    page = source.client.get_page(
        "orders.json", NAME, since_id=position, limit=limit, status="any", **source.change_filter
    )
    return [_complete_order(source, row) for row in page]


def _complete_order(source: Source, row: SourceObject) -> SourceObject:
    with refuse_malformed(NAME, row):
        order = shorten_order(row)
        has_payments = _has_payments(row)
        is_open = row.get("cancelled_at") is None and any(line["fulfillable_quantity"] for line in row["line_items"])
    try:
        transactions = _read_transactions(source, order) if has_payments else []
        order["fulfillment_orders"] = _read_parts(source, order, "fulfillment_orders") if is_open else []
    except ObjectGone:
        return {"id": row["id"], IS_GONE: True}
    with refuse_malformed(NAME, row):
        # A refund repeats its transactions.
        by_id = {part["id"]: part for refund in order["refunds"] for part in refund.get("transactions") or ()}
        by_id |= {part["id"]: part for part in transactions}
        order["transactions"] = [by_id[pk] for pk in sorted(by_id)]
    return order


def _has_payments(row: SourceObject) -> bool:
    return bool(
        row.get("payment_gateway_names")
        or row["refunds"]
        or row.get("financial_status") not in {None, "pending", "voided", "paid"}
        or row.get("total_outstanding") != row.get("current_total_price")
    )


def _read_transactions(source: Source, order: SourceObject) -> list[SourceObject]:
    """Return the transactions, in an order with two currencies with their amounts in the shop currency.

    These amounts can't be calculated, because the last payment of an order gets the rounding difference.
    """
    rows = _read_parts(source, order, "transactions")
    if order.get("presentment_currency") in {None, order.get("currency")}:
        return rows
    converted = _read_parts(source, order, "transactions", in_shop_currency="true")
    with refuse_malformed(NAME, order):
        amounts = {row["id"]: row["amount"] for row in converted if row.get("currency") == order["currency"]}
        return [{**row, "shop_amount": amounts[row["id"]]} if row["id"] in amounts else row for row in rows]


def _read_parts(source: Source, order: SourceObject, name: str, **query: object) -> list[SourceObject]:
    return source.client.get_list(f"orders/{order['id']}/{name}.json", name, **query)


def shorten_order(row: SourceObject) -> SourceObject:
    """Return a copy without copies of other rows of the order, so that equal orders have equal digests."""
    order = {name: value for name, value in row.items() if name not in _LEFT_OUT}
    customer = row.get("customer")
    order["customer_id"] = customer["id"] if customer else None
    order["refunds"] = _sort([_shorten_refund(refund) for refund in row.get("refunds") or ()])
    order["fulfillments"] = _sort(
        [
            {
                **{name: value for name, value in fulfillment.items() if name not in {"updated_at", "receipt"}},
                "line_items": [{"id": line["id"], "quantity": line["quantity"]} for line in fulfillment["line_items"]],
            }
            for fulfillment in row.get("fulfillments") or ()
        ]
    )
    return order


def _shorten_refund(refund: SourceObject) -> SourceObject:
    copies = {"refund_line_items": "line_item", "refund_shipping_lines": "shipping_line"}
    parts: dict[str, Any] = {
        name: [{key: value for key, value in part.items() if key != copied} for part in refund.get(name) or ()]
        for name, copied in copies.items()
    }
    return {**refund, **parts}


def _sort(rows: Sequence[SourceObject]) -> list[SourceObject]:
    return sorted(rows, key=itemgetter("id"))
