"""Convert the refunds of an exported order to the rows that ``apps.refunds`` restores."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from apps.core.money import ZERO, split_amount
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.imports_exports.resources.exported_orders.references import OrderReferences
from apps.refunds.domain.exported_refunds.restore import RestoredRefund
from apps.refunds.models import OrderAdjustment


def build_refund(refund: ReadOnlyAttrs, path: str, references: OrderReferences) -> RestoredRefund:
    """Return the refund as columns. Unknown references are added to the errors of ``references``."""
    duties = [_build_duty(row, f"{path}.duties.{index}", references) for index, row in _rows(refund, "duties")]
    moments = {name: refund[name] for name in ("processed_at", "created_at") if refund.get(name)}
    presentment = [columns["presentment_amount"] for _, _, columns in duties]
    return RestoredRefund(
        columns={
            "note": refund.get("note") or "",
            "reason": refund.get("reason") or "",
            "restock": bool(refund.get("restock")),
            "total_duties": sum((columns["amount"] for _, _, columns in duties), ZERO),
            "presentment_duties": sum(presentment, ZERO) if references.is_multi_currency else None,
            **moments,
        },
        lines=[
            _build_line(row, f"{path}.refund_line_items.{index}", references)
            for index, row in _rows(refund, "refund_line_items")
        ],
        shipping=_build_shipping(refund, path, references),
        duties=duties,
        adjustments=[_build_adjustment(row, references) for _, row in _rows(refund, "order_adjustments")],
        transactions=[
            index
            for _, row in _rows(refund, "transactions")
            if (index := references.find_transaction(row.get("id"))) is not None
        ],
    )


def _rows(refund: ReadOnlyAttrs, name: str) -> Iterator[tuple[int, ReadOnlyAttrs]]:
    return enumerate(refund.get(name) or ())


def _build_line(row: ReadOnlyAttrs, path: str, references: OrderReferences) -> tuple[int, Attrs]:
    subtotal, presentment_subtotal = references.read_amounts(row["subtotal_set"])
    tax, presentment_tax = references.read_amounts(row["total_tax_set"])
    location = row.get("location_id")
    return references.find_line(row.get("line_item_id"), f"{path}.line_item_id"), {
        "quantity": row["quantity"],
        "restock_type": row["restock_type"],
        "location_id": None if location is None else references.find_location(location, f"{path}.location_id"),
        "subtotal": subtotal,
        "total_tax": tax,
        "presentment_subtotal": presentment_subtotal,
        "presentment_tax": presentment_tax,
        "tax_lines": _read_taxes(row, references),
    }


def _read_taxes(row: ReadOnlyAttrs, references: OrderReferences) -> list[tuple[Decimal, Decimal | None]]:
    """Return the refunded amount of each tax. Other files contain only the sum."""
    return [references.read_amounts(tax["price_set"]) for tax in row.get("tax_lines") or ()]


def _build_shipping(refund: ReadOnlyAttrs, path: str, references: OrderReferences) -> list[tuple[int, Attrs]]:
    rows = list(_rows(refund, "refund_shipping_lines"))
    amounts = [references.read_amounts(row["subtotal_amount_set"]) for _, row in rows]
    taxes = _get_shipping_taxes(refund, [amount for amount, _ in amounts], references)
    shipping: list[tuple[int, Attrs]] = []
    for (index, row), (amount, presentment_amount), (tax, presentment_tax) in zip(rows, amounts, taxes, strict=True):
        line = references.find_shipping(row.get("shipping_line_id"), f"{path}.refund_shipping_lines.{index}")
        columns = {
            "amount": amount,
            "tax": tax,
            "presentment_amount": presentment_amount,
            "presentment_tax": presentment_tax,
            "tax_lines": _read_taxes(row, references),
        }
        shipping.append((line, columns))
    return shipping


def _get_shipping_taxes(
    refund: ReadOnlyAttrs, amounts: Sequence[Decimal], references: OrderReferences
) -> list[tuple[Decimal, Decimal | None]]:
    """Return the refunded tax of each shipping line. Other files contain only the sum, as an order adjustment."""
    rows = [row for _, row in _rows(refund, "refund_shipping_lines")]
    if all(row.get("tax_amount_set") for row in rows):
        return [references.read_amounts(row["tax_amount_set"]) for row in rows]
    sets = [
        references.read_amounts(row["tax_amount_set"])
        for _, row in _rows(refund, "order_adjustments")
        if row["kind"] == OrderAdjustment.Kind.SHIPPING_REFUND
    ]
    tax, presentment_tax = (sum((-(pair[side] or ZERO) for pair in sets), ZERO) for side in (0, 1))
    parts = split_amount(tax, amounts, references.currency)
    if not references.is_multi_currency:
        return [(part, None) for part in parts]
    last = len(parts) - 1
    return [(part, presentment_tax if index == last else ZERO) for index, part in enumerate(parts)]


def _build_duty(row: ReadOnlyAttrs, path: str, references: OrderReferences) -> tuple[int, int, Attrs]:
    amount, presentment_amount = references.read_amounts(row["amount_set"])
    tax, presentment_tax = references.read_amounts(row["tax_amount_set"])
    line, duty = references.find_duty(row.get("duty_id"), f"{path}.duty_id")
    columns = {
        "amount": amount,
        "tax": tax,
        "presentment_amount": presentment_amount,
        "presentment_tax": presentment_tax,
        "tax_lines": _read_taxes(row, references),
    }
    return line, duty, columns


def _build_adjustment(row: ReadOnlyAttrs, references: OrderReferences) -> Attrs:
    amount, presentment_amount = references.read_amounts(row["amount_set"])
    tax, presentment_tax = references.read_amounts(row["tax_amount_set"])
    return {
        "kind": row["kind"],
        "reason": row.get("reason") or "",
        "amount": amount,
        "tax_amount": tax,
        "presentment_amount": presentment_amount,
        "presentment_tax_amount": presentment_tax,
    }
