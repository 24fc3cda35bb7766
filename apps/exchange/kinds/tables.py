"""Customers and orders as rows of a table, and back.

An order takes one row per line; consecutive rows with the same ``order`` are one order, and what belongs to the order
as a whole stands in the first of them.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from apps.ground.money import text_of
from apps.orders.models import Order

ADDRESS = ("first_name", "last_name", "company", "address1", "address2", "city", "province", "country", "zip", "phone")
CUSTOMER_COLUMNS = (
    "first_name",
    "last_name",
    "email",
    "phone",
    "accepts_marketing",
    "company",
    "address1",
    "address2",
    "city",
    "province",
    "country",
    "zip",
    "tags",
    "note",
    "tax_exempt",
    "orders_count",
    "total_spent",
)
ORDER_COLUMNS = (
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
    *(f"billing_{name}" for name in ADDRESS),
    *(f"shipping_{name}" for name in ADDRESS),
    "line_title",
    "line_variant",
    "line_sku",
    "line_quantity",
    "line_price",
    "line_discount",
    "line_tax_title",
    "line_tax_rate",
    "line_tax",
    "line_requires_shipping",
    "line_taxable",
)
_TRUE = frozenset({"true", "yes", "1"})


class Unreadable(ValueError):
    """A cell says what nobody understands."""


# --- out -------------------------------------------------------------------------------------------------------------


def customer_row(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A customer of the interface as a row."""
    address = shown["default_address"] or {}
    consent = shown["email_marketing_consent"]["state"] == "subscribed"
    own = {name: shown[name] for name in ("first_name", "last_name", "email", "phone", "tags", "note")}
    there = {name: address.get(name) for name in ADDRESS if name not in {"first_name", "last_name", "phone"}}
    return {
        **there,
        **own,
        "accepts_marketing": _word(consent),
        "tax_exempt": _word(shown["tax_exempt"]),
        "orders_count": shown["orders_count"],
        "total_spent": shown["total_spent"],
    }


def order_rows(shown: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """An order of the interface as rows."""
    first = {name: shown[name] for name in ORDER_COLUMNS if name in shown and name != "discount_codes"}
    paid = Decimal(shown["current_total_price"]) - Decimal(shown["total_outstanding"])
    shipping = shown["shipping_lines"]
    first |= {
        "order": shown["name"],
        "paid": text_of(paid, shown["currency"]),
        "taxes_included": _word(shown["taxes_included"]),
        "discount_codes": "; ".join(_codes(shown)),
        "shipping_title": " + ".join(row["title"] for row in shipping),
        "shipping_price": _sum(row["price"] for row in shipping),
        "shipping_tax": _sum(tax["price"] for row in shipping for tax in row["tax_lines"]),
    }
    for kind in ("billing", "shipping"):
        address = shown[f"{kind}_address"] or {}
        first |= {f"{kind}_{name}": address.get(name) for name in ADDRESS}
    for index, line in enumerate(shown["line_items"]):
        yield (first if index == 0 else {"order": shown["name"]}) | _line(line)
    if not shown["line_items"]:
        yield first


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    taxes = line["tax_lines"]
    return {
        "line_title": line["title"],
        "line_variant": line["variant_title"],
        "line_sku": line["sku"],
        "line_quantity": line["quantity"],
        "line_price": line["price"],
        "line_discount": line["total_discount"],
        "line_tax_title": " + ".join(tax["title"] for tax in taxes),
        "line_tax_rate": str(sum((Decimal(str(tax["rate"])) for tax in taxes), Decimal(0))) if taxes else "",
        "line_tax": _sum(tax["price"] for tax in taxes),
        "line_requires_shipping": _word(line["requires_shipping"]),
        "line_taxable": _word(line["taxable"]),
    }


def given_codes(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
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


def _codes(shown: Mapping[str, Any]) -> list[str]:
    return [f"{code['code']}|{code['amount']}|{code['type']}" for code in given_codes(shown)]


def _sum(amounts: Iterable[str]) -> str:
    listed = [Decimal(amount) for amount in amounts]
    return str(sum(listed, Decimal(0))) if listed else ""


def _word(value: bool) -> str:
    return "true" if value else "false"


# --- in --------------------------------------------------------------------------------------------------------------


def customer_body(row: Mapping[str, str]) -> dict[str, Any]:
    """A row as the body of a customer."""
    body: dict[str, Any] = {
        name: row[name] for name in ("first_name", "last_name", "email", "phone", "tags", "note") if name in row
    }
    for name in ("accepts_marketing", "tax_exempt"):
        if row.get(name):
            body[name] = row[name].strip().lower() in _TRUE
    address = {name: row[name] for name in ADDRESS if row.get(name)}
    if address.keys() - {"first_name", "last_name", "phone"}:
        body["addresses"] = [address]
    return body


def order_body(rows: list[Mapping[str, str]]) -> dict[str, Any]:
    """The rows of one order as its body.

    Raises:
        Unreadable: A cell cannot be understood.
    """
    first = rows[0]
    plain = ("email", "phone", "processed_at", "currency", "fulfillment_status", "total_price", "tags", "note")
    body: dict[str, Any] = {
        name: first[name] for name in (*plain, "closed_at", "cancelled_at", "cancel_reason") if first.get(name)
    }
    body["name"] = first.get("order", "")
    body["taxes_included"] = first.get("taxes_included", "").strip().lower() in _TRUE
    body["discount_codes"] = [_code(text) for text in first.get("discount_codes", "").split(";") if text.strip()]
    if first.get("shipping_title") or first.get("shipping_price"):
        tax = first.get("shipping_tax")
        body["shipping_lines"] = [
            {
                "title": first.get("shipping_title") or "Shipping",
                "price": first.get("shipping_price") or "0",
                "tax_lines": [{"title": "Tax", "price": tax}] if tax else [],
            }
        ]
    for kind in ("billing", "shipping"):
        address = {name: first[f"{kind}_{name}"] for name in ADDRESS if first.get(f"{kind}_{name}")}
        if address:
            body[f"{kind}_address"] = address
    status = first.get("financial_status", "")
    if status == Order.FinancialStatus.PARTIALLY_PAID and first.get("paid"):
        body["transactions"] = [{"kind": "sale", "amount": first["paid"], "currency": first.get("currency") or None}]
    elif status:
        body["financial_status"] = status
    body["line_items"] = [_line_body(row) for row in rows if row.get("line_title") or row.get("line_sku")]
    return body


def _line_body(row: Mapping[str, str]) -> dict[str, Any]:
    names = {
        "line_title": "title",
        "line_variant": "variant_title",
        "line_sku": "sku",
        "line_quantity": "quantity",
        "line_price": "price",
        "line_discount": "total_discount",
    }
    line: dict[str, Any] = {name: row[column] for column, name in names.items() if row.get(column)}
    for column, name in (("line_requires_shipping", "requires_shipping"), ("line_taxable", "taxable")):
        if row.get(column):
            line[name] = row[column].strip().lower() in _TRUE
    if row.get("line_tax") or row.get("line_tax_rate"):
        tax = {"title": row.get("line_tax_title") or "Tax", "rate": row.get("line_tax_rate") or "0"}
        line["tax_lines"] = [{**tax, **({"price": row["line_tax"]} if row.get("line_tax") else {})}]
    return line


def _code(text: str) -> dict[str, str]:
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 3:
        raise Unreadable(f"discount_codes: {text.strip()!r} is not CODE|amount|type")
    return dict(zip(("code", "amount", "type"), parts, strict=True))
