"""Convert the rows of an order table of another system to an exported order, which the import restores.

What the table does not contain is derived from its totals, or noted: which items a refund was for, when it happened,
and how many units of an item were fulfilled.
"""

from collections.abc import Mapping, Sequence

from apps.core.i18n.messages import Message, define_text
from apps.core.money import ZERO, split_amount
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.customers.domain.addresses import split_name
from apps.fulfillment.models import Fulfillment
from apps.imports_exports.domain.rows import Body, Cells, NotedBody
from apps.imports_exports.resources.foreign_orders.cells import read_sum
from apps.imports_exports.resources.foreign_orders.discounts import LinePrice, Prices, find_prices, read_line_price
from apps.imports_exports.resources.foreign_orders.payments import (
    Payments,
    build_money_set,
    build_refund,
    read_payments,
)
from apps.imports_exports.resources.foreign_orders.quantities import Quantities, read_quantities
from apps.imports_exports.resources.foreign_orders.taxes import AllocatedTaxes, allocate_taxes, read_taxes
from apps.imports_exports.resources.order_columns import FOREIGN_COLUMNS
from apps.imports_exports.resources.order_statuses import normalize_status
from apps.imports_exports.resources.order_table import is_line, parse_line, parse_order_fields, parse_order_rows
from apps.refunds.models import RefundLineItem

_FOREIGN = frozenset(FOREIGN_COLUMNS)
# Cells of line items and shipping that contain taxes already.
_TAX_CELLS = ("line_tax", "line_tax_rate", "shipping_tax")
_SHIPPING_ID = 1
# Statuses of whole orders in tables that have no column for the cancellation.
_CANCELED = frozenset({"cancelled", "canceled"})
_CANCEL_DATE = define_text(
    "order_imports.cancel_date",
    "the file doesn't contain the date of the cancellation: it has the date of the order",
)


def parse_rows(rows: Sequence[Cells]) -> Body | NotedBody:
    """Convert the rows of an order to a request body. Raise ``UnreadableCell`` if a cell can't be parsed."""
    return parse_order_rows(rows) if _FOREIGN.isdisjoint(rows[0]) else _ForeignOrder(rows).build()


class _ForeignOrder:
    """An order in a table of another system, with its amounts."""

    def __init__(self, rows: Sequence[Cells]) -> None:
        # A spreadsheet may have sorted the rows. Only one of them has the values of the order.
        self.first = next((row for row in rows if row.get("total_price") or row.get("financial_status")), rows[0])
        self.rows = [row for row in rows if is_line(row)]
        self.fields = dict(parse_order_fields(self.first))
        if order_date := self.fields.get("created_at") or self.fields.get("processed_at"):
            # Many tables contain only one of these dates.
            self.fields = {"created_at": order_date, "processed_at": order_date, **self.fields}
        self.currency = self.first.get("currency", "").strip() or get_current_shop().currency
        self.lines: list[Attrs] = [dict(parse_line(row)) for row in self.rows]
        self.line_prices: list[LinePrice] = [
            read_line_price(row, taxable=line.get("taxable") is not False)
            for row, line in zip(self.rows, self.lines, strict=True)
        ]
        self.notes: list[Message] = []
        status = normalize_status(self.first, "financial_status")
        if status in _CANCELED and order_date and not self.fields.get("cancelled_at"):
            self.fields["cancelled_at"] = order_date
            self.notes.append(_CANCEL_DATE)

    def build(self) -> NotedBody:
        first, currency = self.first, self.currency
        taxes = read_taxes(first, currency=currency)
        prices = find_prices(first, self.line_prices, taxes.total, currency=currency)
        allocated = allocate_taxes(taxes.taxes, self.line_prices, prices, currency=currency)
        payments = read_payments(first, prices.total, currency=currency)
        quantities = read_quantities(first, self.rows)
        is_complete_refund = bool(payments.refunded) and payments.refunded == payments.paid == prices.total
        for line in quantities.lines if is_complete_refund else ():
            line.is_removed = True
        self.notes += [*taxes.notes, *prices.notes, *payments.notes, *quantities.notes]
        self._add_amounts(prices, allocated)
        self._add_quantities(quantities)
        shipping = self._build_shipping(prices, allocated, is_removed=all(line.is_removed for line in quantities.lines))
        refunds = self._build_refunds(payments, prices, allocated, quantities, with_shipping=is_complete_refund)
        body = {
            "source_name": "import",
            "taxes_included": prices.taxes_included,
            **self.fields,
            "customer": self._build_customer(),
            "discount_codes": prices.codes,
            "shipping_lines": shipping,
            "line_items": self.lines,
            "transactions": payments.transactions,
            "refunds": refunds,
            "fulfillments": self._build_fulfillments(quantities),
        }
        return NotedBody(body, self.notes)

    def _add_amounts(self, prices: Prices, taxes: AllocatedTaxes) -> None:
        """Add discounts, taxes and duties to the line items, which may have taxes and duties already."""
        duty = read_sum(self.first, "total_duties")
        has_taxes = any(row.get(cell) for row in self.rows for cell in _TAX_CELLS)
        has_duties = not duty or not self.lines or any("duties" in line for line in self.lines)
        duties = [] if has_duties else split_amount(duty, prices.line_prices, self.currency)
        for index, line in enumerate(self.lines):
            line["total_discount"] = str(prices.line_discounts[index])
            if not has_taxes and taxes.lines[index]:
                line["tax_lines"] = taxes.lines[index]
            if duties and duties[index]:
                line["duties"] = [{"shop_money": {"amount": str(duties[index])}}]

    def _add_quantities(self, quantities: Quantities) -> None:
        is_open = not self.fields.get("cancelled_at")
        for number, (line, count) in enumerate(zip(self.lines, quantities.lines, strict=True), 1):
            line |= {
                "id": number,
                "current_quantity": count.current,
                "fulfilled_quantity": count.fulfilled,
                "fulfillable_quantity": max(count.current - count.fulfilled, 0) if is_open else 0,
            }

    def _build_shipping(self, prices: Prices, taxes: AllocatedTaxes, *, is_removed: bool) -> list[Attrs]:
        title = self.first.get("shipping_title", "").strip()
        if not title and not prices.shipping:
            return []
        line = {"id": _SHIPPING_ID, "title": title[:255] or "Shipping", "price": str(prices.shipping)}
        # A complete refund of the shipping price is not the same as the removal of shipping from the order.
        is_removed = is_removed and bool(self.lines) and bool(self.fields.get("cancelled_at"))
        return [{**line, "tax_lines": taxes.shipping, "is_removed": is_removed}]

    def _build_refunds(
        self,
        payments: Payments,
        prices: Prices,
        taxes: AllocatedTaxes,
        quantities: Quantities,
        *,
        with_shipping: bool,
    ) -> list[Attrs]:
        if not payments.refunded:
            return []
        restock = RefundLineItem.RestockType.NO_RESTOCK
        items: list[Attrs] = []
        worth = ZERO
        for index, count in enumerate(quantities.lines):
            if count.is_removed:
                price, tax = prices.line_prices[index], taxes.line_sums[index]
                worth += price + (ZERO if prices.taxes_included else tax)
                money = {"subtotal_set": build_money_set(price), "total_tax_set": build_money_set(tax)}
                items.append({"line_item_id": index + 1, "quantity": count.quantity, "restock_type": restock, **money})
        shipping: list[Attrs] = []
        if with_shipping and prices.net_shipping:
            money = {
                "subtotal_amount_set": build_money_set(prices.net_shipping),
                "tax_amount_set": build_money_set(taxes.shipping_sum),
            }
            shipping = [{"shipping_line_id": _SHIPPING_ID, **money}]
            worth += prices.net_shipping + (ZERO if prices.taxes_included else taxes.shipping_sum)
        refund, notes = build_refund(self.first, payments, items, shipping, worth=worth, currency=self.currency)
        self.notes += notes
        return [refund]

    def _build_fulfillments(self, quantities: Quantities) -> list[Attrs]:
        lines = [
            {"id": number, "quantity": count.fulfilled}
            for number, count in enumerate(quantities.lines, 1)
            if count.fulfilled > 0
        ]
        moment = self.first.get("fulfilled_at", "").strip() or self.fields.get("created_at")
        created = {"created_at": moment} if moment else {}
        return [{"status": Fulfillment.Status.SUCCESS, **created, "line_items": lines}] if lines else []

    def _build_customer(self) -> Attrs | None:
        """Return the customer of an order with an email or a phone, named like the billing address."""
        email, phone = self.fields.get("email"), self.fields.get("phone")
        if not email and not phone:
            return None
        addresses = [self.fields.get(f"{kind}_address") for kind in ("billing", "shipping")]
        named = (address for address in addresses if isinstance(address, Mapping) and _get_names(address))
        delivery = addresses[1] or addresses[0]
        return {
            **({"email": email} if email else {"phone": phone}),
            **_get_names(next(named, {})),
            **({"default_address": delivery} if delivery else {}),
            **({"accepts_marketing": True} if email and self.fields.get("buyer_accepts_marketing") else {}),
        }


def _get_names(address: Mapping[str, str]) -> dict[str, str]:
    """Return the names in an address that are not blank."""
    names = {name: address[name] for name in ("first_name", "last_name") if address.get(name)}
    if names or not address.get("name"):
        return names
    first, last = split_name(address["name"])
    return {name: value for name, value in (("first_name", first), ("last_name", last)) if value}
