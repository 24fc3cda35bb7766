"""Name the parts of an order that the columns of a CSV file can't contain."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from apps.core.i18n.messages import define_message
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

    An import applies codes after the discounts of line items, and to all line items.
    """
    applications = order["discount_applications"]
    codes = [
        index
        for index, application in enumerate(applications)
        if application["type"] == "discount_code" and application["target_type"] == "line_item"
    ]
    if any(
        application["type"] != "discount_code" for application in applications[min(codes, default=len(applications)) :]
    ):
        return True
    allocated = [
        {allocation["discount_application_index"] for allocation in line["discount_allocations"]}
        for line in order["line_items"]
    ]
    used_codes = set(codes) & set().union(*allocated)
    return any(
        used_codes - indexes
        for line, indexes in zip(order["line_items"], allocated, strict=True)
        if _get_net_price(line) > 0
    )


def _get_net_price(line: ReadOnlyAttrs) -> Decimal:
    discounts = sum((Decimal(row["amount"]) for row in line["discount_allocations"]), Decimal(0))
    return Decimal(line["price"]) * line["quantity"] - discounts
