"""Orders as rows of a table, and back.

An order takes one row per line; consecutive rows with the same ``order`` are one order, and what belongs to the order
as a whole stands in the first of them. Of what there may be several of (codes, shipping lines, taxes), one cell holds
them all (``lists``): of taxes on shipping, those of one shipping line after the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext_noop

from apps.exchange.domain.cells import is_true, word
from apps.exchange.domain.kinds import Shown
from apps.exchange.domain.rows import Body, Cells, Unreadable
from apps.exchange.kinds.addresses import ADDRESS
from apps.exchange.kinds.lists import column, joined, parted
from apps.exchange.kinds.order_columns import ADDRESSES, FLAGS, LINE_FLAGS, OF_LINE, PLAIN
from apps.ground.money import text_of
from apps.ground.retelling import tells
from apps.orders.models import Order

_UNEVEN_PRICES = tells(gettext_noop("shipping_price: {number} prices for {number_2} in shipping_title"))
_UNEVEN_TAXES = tells(gettext_noop("{prefix}_tax: taxes of {given} {what}, and there are {number}"))
_UNEVEN_LISTS = tells(gettext_noop("{name}: must have as many titles, rates and amounts"))
_BAD_CODE = tells(gettext_noop("discount_codes: {names} is not CODE|amount|type"))

_TAX = {"tax_title": "title", "tax_rate": "rate", "tax": "price"}
_DUTY = {"line_duty_hs_code": "harmonized_system_code", "line_duty_origin": "country_code_of_origin"}
_STATUSES = frozenset({"financial_status", "fulfillment_status"})
_SENT = frozenset({"partial", "fulfilled"})


# --- out -------------------------------------------------------------------------------------------------------------


def order_cells(shown: Shown) -> Iterable[Shown]:
    """An order of the interface as rows."""
    first = {name: shown[name] for name in PLAIN if name in shown}
    first |= {name: word(shown[name]) for name in FLAGS}
    paid = Decimal(shown["current_total_price"]) - Decimal(shown["total_outstanding"])
    shipping = shown["shipping_lines"]
    first |= {
        "order": shown["name"],
        "paid": text_of(paid, shown["currency"]),
        "discount_codes": joined((code["code"], code["amount"], code["type"]) for code in given_codes(shown)),
        "shipping_title": joined([row["title"]] for row in shipping),
        "shipping_price": joined([row["price"]] for row in shipping),
    }
    first |= _tax_cells("shipping", shipping)
    for kind in ADDRESSES:
        address = shown[f"{kind}_address"] or {}
        first |= {f"{kind}_{name}": address.get(name) for name in ADDRESS}
    for index, line in enumerate(shown["line_items"]):
        yield (first if index == 0 else {"order": shown["name"]}) | _line_cells(line)
    if not shown["line_items"]:
        yield first


def _tax_cells(prefix: str, rows: Sequence[Shown]) -> Shown:
    """The taxes of shipping lines or duties, those of one after the other."""
    taxed = any(row["tax_lines"] for row in rows)
    return {
        f"{prefix}_{cell}": joined([tax[name] for tax in row["tax_lines"]] for row in rows)
        for cell, name in (_TAX.items() if taxed else ())
    }


def _line_cells(line: Shown) -> Shown:
    sent = line["quantity"] - line["fulfillable_quantity"] if line["fulfillment_status"] in _SENT else 0
    return {
        **{column: line[name] for column, name in OF_LINE.items()},
        **{column: word(line[name]) for column, name in LINE_FLAGS.items()},
        "line_fulfilled": sent,
        **{f"line_{cell}": joined([tax[name]] for tax in line["tax_lines"]) for cell, name in _TAX.items()},
        **_duty_cells(line["duties"]),
    }


def _duty_cells(duties: Sequence[Shown]) -> Shown:
    return {
        "line_duty": joined([duty["shop_money"]["amount"]] for duty in duties),
        **{cell: joined([duty[name] or ""] for duty in duties) for cell, name in _DUTY.items()},
        **_tax_cells("line_duty", duties),
    }


def given_codes(shown: Body) -> list[Shown]:
    """The discount codes as they were given: an order shows what each took off, its applications the percentage.

    Both stand in the order in which the codes were used, of which two may have one name.
    """
    applied = shown.get("discount_applications")
    left = [item for item in (applied if isinstance(applied, list) else ()) if isinstance(item, dict)]
    codes = []
    for code in shown.get("discount_codes") or ():
        its = next((item for item in left if item.get("code") == code.get("code")), None)
        if its is not None:
            left.remove(its)
            if code.get("type") == "percentage":
                code = {**code, "amount": its.get("value", code.get("amount"))}
        codes.append(code)
    return codes


# --- in --------------------------------------------------------------------------------------------------------------


def order_body(rows: Sequence[Cells]) -> Body:
    """The rows of one order as its body.

    Raises:
        Unreadable: A cell cannot be understood.
    """
    first = rows[0]
    return {
        **{name: first[name] for name in PLAIN if first.get(name) and name not in _STATUSES},
        **{name: is_true(first[name]) for name in FLAGS if first.get(name)},
        "name": first.get("order", ""),
        "discount_codes": [_code(values) for values in parted(first.get("discount_codes", ""))],
        **_shipping(first),
        **_addresses(first),
        **_payment(first),
        **_fulfillment(first),
        "line_items": [_line_body(row) for row in rows if row.get("line_title") or row.get("line_sku")],
    }


def _shipping(first: Cells) -> Body:
    titles, prices = column(first.get("shipping_title", "")), column(first.get("shipping_price", ""))
    if not titles and not prices:
        return {}
    count = max(len(titles), len(prices))
    titles, prices = titles or ["Shipping"] * count, prices or ["0"] * count
    if len(titles) != len(prices):
        raise Unreadable(_UNEVEN_PRICES.format(number=len(prices), number_2=len(titles)))
    taxes = _taxes_of_each("shipping", first, count, "shipping lines")
    given = zip(titles, prices, taxes, strict=True)
    return {"shipping_lines": [{"title": title, "price": price, "tax_lines": tax} for title, price, tax in given]}


def _taxes_of_each(prefix: str, row: Cells, count: int, what: str) -> list[list[Shown]]:
    """The taxes of so many shipping lines or duties.

    Raises:
        Unreadable: They are of more, or their lists are not of one length.
    """
    cells = {name: parted(row.get(f"{prefix}_{cell}", "")) for cell, name in _TAX.items()}
    given = max(map(len, cells.values()))
    if given > count:
        raise Unreadable(_UNEVEN_TAXES.format(prefix=prefix, given=given, what=what, number=count))
    found = []
    for index in range(count):
        values = {name: rows[index] if index < len(rows) else [] for name, rows in cells.items()}
        found.append(_taxes(f"{prefix}_tax", {name: each if any(each) else [] for name, each in values.items()}))
    return found


def _addresses(first: Cells) -> Body:
    found = {
        kind: {name: first[f"{kind}_{name}"] for name in ADDRESS if first.get(f"{kind}_{name}")} for kind in ADDRESSES
    }
    return {f"{kind}_address": address for kind, address in found.items() if address}


def _payment(first: Cells) -> Body:
    """What was paid, where the status alone does not say how much; else the status."""
    status = _word(first, "financial_status")
    if status == Order.FinancialStatus.PARTIALLY_PAID and first.get("paid"):
        sale = {"kind": "sale", "amount": first["paid"], "currency": first.get("currency") or None}
        return {"transactions": [sale]}
    return {"financial_status": status} if status else {}


def _fulfillment(first: Cells) -> Body:
    status = _word(first, "fulfillment_status")
    return {"fulfillment_status": status} if status not in {"", "unfulfilled"} else {}


def _word(cells: Cells, name: str) -> str:
    """The word of a status, also as people write it."""
    return cells.get(name, "").strip().lower().replace(" ", "_")


def _line_body(row: Cells) -> Body:
    line: dict[str, object] = {name: row[column] for column, name in OF_LINE.items() if row.get(column)}
    line |= {name: is_true(row[column]) for column, name in LINE_FLAGS.items() if row.get(column)}
    cells = {name: list(column(row.get(f"line_{cell}", ""))) for cell, name in _TAX.items()}
    if cells["rate"] or cells["price"]:
        line["tax_lines"] = _taxes("line_tax", cells)
    return {**line, **_sent(row), **_duties(row)}


def _duties(row: Cells) -> Body:
    """What customs take for a line.

    Raises:
        Unreadable: The lists are not of one length.
    """
    prices = column(row.get("line_duty", ""))
    taxes = _taxes_of_each("line_duty", row, len(prices), "duties")
    named = {name: list(column(row.get(cell, ""))) for cell, name in _DUTY.items()}
    if any(len(values) > len(prices) for values in named.values()):
        raise Unreadable(gettext_noop("line_duty: must have as many amounts as numbers and countries"))
    duties: list[Shown] = []
    for place, (price, tax) in enumerate(zip(prices, taxes, strict=True)):
        known = {name: values[place] for name, values in named.items() if place < len(values)}
        duties.append({**known, "shop_money": {"amount": price}, "tax_lines": tax})
    return {"duties": duties} if duties else {}


def _sent(row: Cells) -> Body:
    """How many units of a line were sent, and are not."""
    if not row.get("line_fulfilled"):
        return {}
    try:
        sent, quantity = int(row["line_fulfilled"]), int(row.get("line_quantity") or 1)
    except ValueError:
        raise Unreadable(gettext_noop("line_fulfilled: is not a number of units")) from None
    status = "fulfilled" if sent == quantity else "partial"
    return {"fulfillable_quantity": quantity - sent, "fulfillment_status": status} if sent else {}


def _taxes(name: str, values: Mapping[str, Sequence[str]]) -> list[Shown]:
    """Tax lines of lists of their titles, rates and prices, of which each may be left out as a whole.

    Raises:
        Unreadable: The lists are not of one length.
    """
    counts = {len(listed) for listed in values.values() if listed}
    if len(counts) > 1:
        raise Unreadable(_UNEVEN_LISTS.format(name=name))
    count = counts.pop() if counts else 0
    taxes = []
    for index in range(count):
        tax = {key: listed[index] for key, listed in values.items() if listed and listed[index]}
        taxes.append({"title": "Tax", "rate": "0"} | tax)
    return taxes


def _code(values: Sequence[str]) -> Shown:
    if len(values) != 3:
        raise Unreadable(_BAD_CODE.format(names=repr("|".join(values))))
    return dict(zip(("code", "amount", "type"), values, strict=True))
