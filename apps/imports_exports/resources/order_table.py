"""Convert orders to CSV rows and back.

Each row is a line item. Consecutive rows with the same value in the column ``order`` form one order. The first row also
has the values of the order itself. The cells for discount codes, shipping lines and taxes contain lists
(``cells``). Taxes on shipping are grouped by shipping line.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from apps.core.i18n.messages import Message, define_message, define_text
from apps.core.money import ZERO, format_decimal
from apps.core.numbers.exact import parse_whole_number
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.flags import parse_flags
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.domain.rows import Body, Cells, UnreadableCell
from apps.imports_exports.resources.cells import (
    ADDRESS_COLUMNS,
    NOT_A_NUMBER,
    build_address,
    format_list_cell,
    parse_list_cell,
    parse_value_list,
)
from apps.imports_exports.resources.exported_orders import csv_losses
from apps.imports_exports.resources.order_columns import (
    ADDRESSES,
    FLAGS,
    IMPORTED_FIELDS,
    IMPORTED_LINE_FIELDS,
    LINE_FIELDS,
    LINE_FLAGS,
    UNCHANGED_COLUMNS,
)
from apps.imports_exports.resources.order_statuses import normalize_status
from apps.orders.domain.payments import PAYMENT_KINDS
from apps.orders.models import Order

_UNEVEN_PRICES = define_message(
    "order_imports.uneven_prices", "found {number} prices, but {number_2} titles in shipping_title"
)
_UNEVEN_TAXES = define_message(
    "order_imports.uneven_taxes", "found taxes for {given} {what}, but there are only {number}"
)
_UNEVEN_LISTS = define_text("order_imports.uneven_lists", "enter the same number of titles, rates and amounts")
_BAD_CODE = define_message("order_imports.bad_code", "{names} must have the format CODE|amount|type")
_NO_AMOUNT = define_text("order_imports.no_amount", "enter an amount for each HS code and country")
_SHIPPING_LINES = define_text("order_imports.shipping_lines", "shipping lines")
_DUTIES = define_text("order_imports.duties", "duties")

_TAX = {"tax_title": "title", "tax_rate": "rate", "tax": "price"}
_DUTY = {"line_duty_hs_code": "harmonized_system_code", "line_duty_origin": "country_code_of_origin"}
_STATUSES = frozenset({"financial_status", "fulfillment_status"})
_UNPAID_STATUSES = frozenset({"partially_paid", "voided"})
_FULFILLED_STATUSES = frozenset({"partial", "fulfilled"})


def convert_order_to_rows(order: ObjectData) -> Iterable[ObjectData]:
    """Convert an order from the REST API to CSV rows."""
    first = {name: order[name] for name in UNCHANGED_COLUMNS if name in order}
    first |= {name: format_bool(order[name]) for name in FLAGS}
    shipping = order["shipping_lines"]
    first |= {
        "order": order["name"],
        "paid": format_decimal(_get_net_payment(order), order["currency"]),
        "discount_codes": format_list_cell(
            (code["code"], code["amount"], code["type"]) for code in get_entered_codes(order)
        ),
        csv_losses.COLUMN: "; ".join(csv_losses.find_losses(order)),
        "shipping_title": format_list_cell([row["title"]] for row in shipping),
        "shipping_price": format_list_cell([row["price"]] for row in shipping),
    }
    first |= _get_tax_cells("shipping", shipping)
    for kind in ADDRESSES:
        address = order[f"{kind}_address"] or {}
        first |= {f"{kind}_{name}": address.get(name) for name in ADDRESS_COLUMNS}
    for index, line in enumerate(order["line_items"]):
        yield (first if index == 0 else {"order": order["name"]}) | _get_line_cells(line)
    if not order["line_items"]:
        yield first


def _get_net_payment(order: ObjectData) -> Decimal:
    """Return the payments without refunds. Canceled orders have no balance due, so partial payments are added up."""
    if order["cancelled_at"] is None or order["financial_status"] not in _UNPAID_STATUSES:
        return Decimal(order["current_total_price"]) - Decimal(order["total_outstanding"])
    return sum(
        (
            Decimal(row["amount"]) / Decimal(1 if row["currency"] == order["currency"] else order["exchange_rate"])
            for row in order["transactions"]
            if row["status"] == "success" and row["kind"] in PAYMENT_KINDS
        ),
        ZERO,
    )


def _get_tax_cells(prefix: str, rows: Sequence[ObjectData]) -> ObjectData:
    """Return the cells with the taxes of shipping lines or duties, grouped by shipping line or duty."""
    taxed = any(row["tax_lines"] for row in rows)
    return {
        f"{prefix}_{cell}": format_list_cell([tax[name] for tax in row["tax_lines"]] for row in rows)
        for cell, name in (_TAX.items() if taxed else ())
    }


def _get_line_cells(line: ObjectData) -> ObjectData:
    is_fulfilled, duties = line["fulfillment_status"] in _FULFILLED_STATUSES, line["duties"]
    return {
        **{column: line[name] for column, name in LINE_FIELDS.items()},
        **{column: format_bool(line[name]) for column, name in LINE_FLAGS.items()},
        "line_fulfilled": line["quantity"] - line["fulfillable_quantity"] if is_fulfilled else 0,
        **{f"line_{cell}": format_list_cell([tax[name]] for tax in line["tax_lines"]) for cell, name in _TAX.items()},
        "line_duty": format_list_cell([duty["shop_money"]["amount"]] for duty in duties),
        **{cell: format_list_cell([duty[name] or ""] for duty in duties) for cell, name in _DUTY.items()},
        **_get_tax_cells("line_duty", duties),
    }


def get_entered_codes(order: Body) -> list[ObjectData]:
    """Return each discount code with the value that was entered: an amount or a percentage.

    The order's discount codes contain amounts, and its discount applications contain the percentages. Both lists are
    in the same sequence. Several codes may have the same name, so each application is matched only once.
    """
    applications = order.get("discount_applications")
    unused = [item for item in (applications if isinstance(applications, list) else ()) if isinstance(item, dict)]
    codes = []
    for code in order.get("discount_codes") or ():
        application = next((item for item in unused if item.get("code") == code.get("code")), None)
        if application is not None:
            unused.remove(application)
            if code.get("type") == "percentage":
                code = {**code, "amount": application.get("value", code.get("amount"))}
        codes.append(code)
    return codes


def parse_order_rows(rows: Sequence[Cells]) -> Body:
    """Convert the rows of an order to a request body. Raise ``UnreadableCell`` if a cell can't be parsed."""
    first = rows[0]
    return {
        **parse_order_fields(first),
        "discount_codes": [_parse_code(values) for values in parse_list_cell(first.get("discount_codes", ""))],
        **_parse_shipping(first),
        **_parse_payment(first),
        **_parse_fulfillment(first),
        "line_items": [parse_line(row) for row in rows if is_line(row)],
    }


def parse_order_fields(first: Cells) -> Body:
    """Return the fields of the order that need no other cells, and its addresses."""
    csv_losses.check_losses(first)
    names = (*UNCHANGED_COLUMNS, *IMPORTED_FIELDS)
    attributes = _parse_note_attributes(first.get("note_attributes", ""))
    return {
        **{name: first[name] for name in names if first.get(name) and name not in _STATUSES},
        **parse_flags(first, {name: name for name in (*FLAGS, "buyer_accepts_marketing")}),
        "name": first.get("order", ""),
        **({"note_attributes": attributes} if attributes else {}),
        **_parse_addresses(first),
    }


def _parse_note_attributes(cell: str) -> list[ObjectData]:
    """Parse lines with ``name: value``. A line without a name belongs to the value before it."""
    attributes: list[ObjectData] = []
    for line in cell.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            attributes.append({"name": name.strip(), "value": value.strip()})
        elif attributes:
            attributes[-1]["value"] += f"\n{line}"
        elif line.strip():
            attributes.append({"name": line.strip(), "value": ""})
    return attributes


def is_line(row: Cells) -> bool:
    """Return True if a row contains a line item."""
    return bool(row.get("line_title") or row.get("line_sku"))


def _parse_shipping(first: Cells) -> Body:
    titles, prices = (parse_value_list(first.get(f"shipping_{name}", "")) for name in ("title", "price"))
    if not titles and not prices:
        return {}
    count = max(len(titles), len(prices))
    titles, prices = titles or ["Shipping"] * count, prices or ["0"] * count
    if len(titles) != len(prices):
        raise UnreadableCell("shipping_price", _UNEVEN_PRICES(number=len(prices), number_2=len(titles)))
    taxes = _parse_tax_groups("shipping", first, count, _SHIPPING_LINES)
    shipping_lines = zip(titles, prices, taxes, strict=True)
    return {
        "shipping_lines": [{"title": title, "price": price, "tax_lines": tax} for title, price, tax in shipping_lines]
    }


def _parse_tax_groups(prefix: str, row: Cells, count: int, owner: Message) -> list[list[ObjectData]]:
    """Return the tax lines of each of the ``count`` shipping lines or duties."""
    cells = {name: parse_list_cell(row.get(f"{prefix}_{cell}", "")) for cell, name in _TAX.items()}
    group_count = max(map(len, cells.values()))
    if group_count > count:
        raise UnreadableCell(f"{prefix}_tax", _UNEVEN_TAXES(given=group_count, what=owner, number=count))
    taxes = []
    for index in range(count):
        values = {name: rows[index] if index < len(rows) and any(rows[index]) else [] for name, rows in cells.items()}
        taxes.append(_build_tax_lines(f"{prefix}_tax", values))
    return taxes


def _parse_addresses(first: Cells) -> Body:
    addresses = {kind: build_address(first, f"{kind}_") for kind in ADDRESSES}
    return {f"{kind}_address": address for kind, address in addresses.items() if address}


def _parse_payment(first: Cells) -> Body:
    """Return the paid amount as a transaction if the order is partially paid, otherwise the financial status."""
    status = normalize_status(first, "financial_status")
    if status == Order.FinancialStatus.PARTIALLY_PAID and first.get("paid"):
        sale = {"kind": "sale", "amount": first["paid"], "currency": first.get("currency") or None}
        return {"transactions": [sale]}
    return {"financial_status": status} if status else {}


def _parse_fulfillment(first: Cells) -> Body:
    status = normalize_status(first, "fulfillment_status")
    return {"fulfillment_status": status} if status not in {"", "unfulfilled"} else {}


def parse_line(row: Cells) -> Body:
    fields = LINE_FIELDS | IMPORTED_LINE_FIELDS
    line: dict[str, object] = {name: row[column] for column, name in fields.items() if row.get(column)}
    line |= parse_flags(row, LINE_FLAGS)
    cells = {name: parse_value_list(row.get(f"line_{cell}", "")) for cell, name in _TAX.items()}
    if cells["rate"] or cells["price"]:
        line["tax_lines"] = _build_tax_lines("line_tax", cells)
    return {**line, **_parse_fulfilled(row), **_parse_duties(row)}


def _parse_duties(row: Cells) -> Body:
    prices = parse_value_list(row.get("line_duty", ""))
    taxes = _parse_tax_groups("line_duty", row, len(prices), _DUTIES)
    other_fields = {name: parse_value_list(row.get(cell, "")) for cell, name in _DUTY.items()}
    if any(len(values) > len(prices) for values in other_fields.values()):
        raise UnreadableCell("line_duty", _NO_AMOUNT)
    duties: list[ObjectData] = []
    for index, (price, tax) in enumerate(zip(prices, taxes, strict=True)):
        fields = {name: values[index] for name, values in other_fields.items() if index < len(values)}
        duties.append({**fields, "shop_money": {"amount": price}, "tax_lines": tax})
    return {"duties": duties} if duties else {}


def _parse_fulfilled(row: Cells) -> Body:
    if not row.get("line_fulfilled"):
        return {}
    fulfilled, quantity = (
        _parse_whole_number(column, row.get(column) or "1") for column in ("line_fulfilled", "line_quantity")
    )
    status = "fulfilled" if fulfilled == quantity else "partial"
    return {"fulfillable_quantity": quantity - fulfilled, "fulfillment_status": status} if fulfilled else {}


def _parse_whole_number(column: str, cell: str) -> int:
    number = parse_whole_number(cell.strip())
    if number is None:
        raise UnreadableCell(column, NOT_A_NUMBER(value=repr(cell[:50])))
    return number


def _build_tax_lines(name: str, values: Mapping[str, Sequence[str]]) -> list[ObjectData]:
    """Build tax lines from lists of titles, rates and prices. Any list may be missing."""
    counts = {len(value_list) for value_list in values.values() if value_list}
    if len(counts) > 1:
        raise UnreadableCell(name, _UNEVEN_LISTS)
    return [
        {
            "title": "Tax",
            "rate": "0",
            **{key: value_list[index] for key, value_list in values.items() if value_list and value_list[index]},
        }
        for index in range(max(counts, default=0))
    ]


def _parse_code(values: Sequence[str]) -> ObjectData:
    if len(values) != 3:
        raise UnreadableCell("discount_codes", _BAD_CODE(names=repr("|".join(values))))
    return dict(zip(("code", "amount", "type"), values, strict=True))
