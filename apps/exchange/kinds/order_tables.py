"""Orders as rows of a table, and back.

An order takes one row per line; consecutive rows with the same ``order`` are one order, and what belongs to the order
as a whole stands in the first of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from apps.exchange.domain.cells import is_true, word
from apps.exchange.domain.kinds import Shown
from apps.exchange.domain.rows import Body, Cells, Unreadable
from apps.exchange.kinds.customers import ADDRESS
from apps.ground.money import text_of
from apps.orders.models import Order

# Of the order as a whole; those that are not made of several values stand as the interface has them.
_OF_ORDER = (
    "order",
    "email",
    "phone",
    "processed_at",
    "currency",
    "financial_status",
    "fulfillment_status",
    "paid",
    "total_price",
    "taxes_included",
    "discount_codes",
    "shipping_title",
    "shipping_price",
    "shipping_tax",
    "tags",
    "note",
    "closed_at",
    "cancelled_at",
    "cancel_reason",
)
_MADE = frozenset(
    {"order", "paid", "taxes_included", "discount_codes", "shipping_title", "shipping_price", "shipping_tax"}
)
_PLAIN = tuple(name for name in _OF_ORDER if name not in _MADE)
# What a line is called in a table and in the interface.
_OF_LINE = {
    "line_title": "title",
    "line_variant": "variant_title",
    "line_sku": "sku",
    "line_quantity": "quantity",
    "line_price": "price",
    "line_discount": "total_discount",
}
_LINE_FLAGS = {"line_requires_shipping": "requires_shipping", "line_taxable": "taxable"}
COLUMNS = (
    *_OF_ORDER,
    *(f"{kind}_{name}" for kind in ("billing", "shipping") for name in ADDRESS),
    *_OF_LINE,
    "line_tax_title",
    "line_tax_rate",
    "line_tax",
    *_LINE_FLAGS,
)


# --- out -------------------------------------------------------------------------------------------------------------


def order_cells(shown: Shown) -> Iterable[Shown]:
    """An order of the interface as rows."""
    first = {name: shown[name] for name in _PLAIN if name in shown}
    paid = Decimal(shown["current_total_price"]) - Decimal(shown["total_outstanding"])
    shipping = shown["shipping_lines"]
    first |= {
        "order": shown["name"],
        "paid": text_of(paid, shown["currency"]),
        "taxes_included": word(shown["taxes_included"]),
        "discount_codes": "; ".join(f"{code['code']}|{code['amount']}|{code['type']}" for code in given_codes(shown)),
        "shipping_title": " + ".join(row["title"] for row in shipping),
        "shipping_price": _sum(row["price"] for row in shipping),
        "shipping_tax": _sum(tax["price"] for row in shipping for tax in row["tax_lines"]),
    }
    for kind in ("billing", "shipping"):
        address = shown[f"{kind}_address"] or {}
        first |= {f"{kind}_{name}": address.get(name) for name in ADDRESS}
    for index, line in enumerate(shown["line_items"]):
        yield (first if index == 0 else {"order": shown["name"]}) | _line_cells(line)
    if not shown["line_items"]:
        yield first


def _line_cells(line: Shown) -> Shown:
    taxes = line["tax_lines"]
    return {
        **{column: line[name] for column, name in _OF_LINE.items()},
        **{column: word(line[name]) for column, name in _LINE_FLAGS.items()},
        "line_tax_title": " + ".join(tax["title"] for tax in taxes),
        "line_tax_rate": _sum(str(tax["rate"]) for tax in taxes),
        "line_tax": _sum(tax["price"] for tax in taxes),
    }


def given_codes(shown: Body) -> list[Shown]:
    """The discount codes as they were given: an order shows what each took off, its applications the percentage."""
    applied = shown.get("discount_applications")
    values = {
        item["code"]: item.get("value")
        for item in (applied if isinstance(applied, list) else ())
        if isinstance(item, dict) and isinstance(item.get("code"), str)
    }
    return [
        {**code, "amount": values.get(str(code.get("code")), code.get("amount"))}
        if code.get("type") == "percentage"
        else code
        for code in shown.get("discount_codes") or ()
    ]


def _sum(amounts: Iterable[str]) -> str:
    listed = [Decimal(amount) for amount in amounts]
    return str(sum(listed, Decimal(0))) if listed else ""


# --- in --------------------------------------------------------------------------------------------------------------


def order_body(rows: Sequence[Cells]) -> Body:
    """The rows of one order as its body.

    Raises:
        Unreadable: A cell cannot be understood.
    """
    first = rows[0]
    return {
        **{name: first[name] for name in _PLAIN if first.get(name) and name != "financial_status"},
        "name": first.get("order", ""),
        "taxes_included": is_true(first.get("taxes_included", "")),
        "discount_codes": [_code(text) for text in first.get("discount_codes", "").split(";") if text.strip()],
        **_shipping(first),
        **_addresses(first),
        **_payment(first),
        "line_items": [_line_body(row) for row in rows if row.get("line_title") or row.get("line_sku")],
    }


def _shipping(first: Cells) -> Body:
    if not (first.get("shipping_title") or first.get("shipping_price")):
        return {}
    tax = first.get("shipping_tax")
    line = {
        "title": first.get("shipping_title") or "Shipping",
        "price": first.get("shipping_price") or "0",
        "tax_lines": [{"title": "Tax", "price": tax}] if tax else [],
    }
    return {"shipping_lines": [line]}


def _addresses(first: Cells) -> Body:
    found = {
        kind: {name: first[f"{kind}_{name}"] for name in ADDRESS if first.get(f"{kind}_{name}")}
        for kind in ("billing", "shipping")
    }
    return {f"{kind}_address": address for kind, address in found.items() if address}


def _payment(first: Cells) -> Body:
    """What was paid, where the status alone does not say how much; else the status."""
    status = first.get("financial_status", "")
    if status == Order.FinancialStatus.PARTIALLY_PAID and first.get("paid"):
        sale = {"kind": "sale", "amount": first["paid"], "currency": first.get("currency") or None}
        return {"transactions": [sale]}
    return {"financial_status": status} if status else {}


def _line_body(row: Cells) -> Body:
    line: dict[str, object] = {name: row[column] for column, name in _OF_LINE.items() if row.get(column)}
    line |= {name: is_true(row[column]) for column, name in _LINE_FLAGS.items() if row.get(column)}
    if row.get("line_tax") or row.get("line_tax_rate"):
        tax = {"title": row.get("line_tax_title") or "Tax", "rate": row.get("line_tax_rate") or "0"}
        line["tax_lines"] = [{**tax, **({"price": row["line_tax"]} if row.get("line_tax") else {})}]
    return line


def _code(text: str) -> Mapping[str, str]:
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 3:
        raise Unreadable(f"discount_codes: {text.strip()!r} is not CODE|amount|type")
    return dict(zip(("code", "amount", "type"), parts, strict=True))
