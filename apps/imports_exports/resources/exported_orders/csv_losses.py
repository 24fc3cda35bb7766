"""Name the parts of an order that the columns of a CSV file can't contain."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from apps.core.i18n.messages import define_message
from apps.core.money import MAX_AMOUNT, ZERO, round_money, split_amount
from apps.core.types import ReadOnlyAttrs
from apps.imports_exports.domain.rows import Cells, UnreadableCell

COLUMN = "not_in_csv"
_LOSSES = define_message(
    "order_imports.not_in_csv",
    "{parts} of this order can't be imported from CSV. Import the order from a JSON lines file, or clear this cell to "
    "import the order without them",
)


def find_losses(order: ReadOnlyAttrs) -> list[str]:
    """Return the names of the parts of an exported order that its CSV rows do not contain."""
    return list(_iterate_losses(order))


def check_losses(first: Cells) -> None:
    """Raise ``UnreadableCell`` if the exported order had parts that its CSV rows do not contain."""
    if parts := first.get(COLUMN, "").strip():
        raise UnreadableCell(COLUMN, _LOSSES(parts=parts))


def _iterate_losses(order: ReadOnlyAttrs) -> Iterator[str]:
    if _has_removed_items(order) or _has_discounts_of_edits(order):
        yield "edits"
    if order["refunds"]:
        yield "refunds"
    if order["fulfillments"]:
        yield "fulfillments"
    rows = order["fulfillment_orders"]
    if any(row["fulfillment_holds"] for row in rows):
        yield "holds"
    if any(row["merchant_requests"] or row["fulfill_by"] or row["status"] == "scheduled" for row in rows):
        yield "fulfillment orders"


def _has_removed_items(order: ReadOnlyAttrs) -> bool:
    """Return True if items were removed, other than by refunds or by the cancellation of the whole order."""
    lines = order["line_items"]
    if order["cancelled_at"] and not any(line["current_quantity"] for line in lines):
        return False
    refunded: Counter[int] = Counter()
    for refund in order["refunds"]:
        for row in refund["refund_line_items"]:
            refunded[row["line_item_id"]] += row["quantity"]
    return any(line["quantity"] - line["current_quantity"] > refunded[line["id"]] for line in lines)


def _has_discounts_of_edits(order: ReadOnlyAttrs) -> bool:
    """Return True if the codes were applied before a discount or a line item of an edit.

    An import applies the codes after the discounts of the line items, and to all line items.
    """
    lines, currency = order["line_items"], order["currency"]
    remaining = [Decimal(line["price"]) * line["quantity"] - Decimal(line["total_discount"]) for line in lines]
    for index, application in enumerate(order["discount_applications"]):
        if application["type"] != "discount_code" or application["target_type"] != "line_item":
            continue
        value, total = Decimal(application["value"]), sum(remaining, ZERO)
        if not 0 <= value < MAX_AMOUNT:
            return True
        is_percentage = application["value_type"] == "percentage"
        amount = round_money(total * value / 100, currency) if is_percentage else min(value, total)
        parts = split_amount(amount, remaining, currency)
        if parts != [_get_allocated(line, index) for line in lines]:
            return True
        remaining = [price - part for price, part in zip(remaining, parts, strict=True)]
    return False


def _get_allocated(line: ReadOnlyAttrs, application: int) -> Decimal:
    """Return the line's share of a discount application."""
    rows = (row for row in line["discount_allocations"] if row["discount_application_index"] == application)
    return sum((Decimal(row["amount"]) for row in rows), ZERO)
