"""Apply values and lines to new and stored draft orders, and calculate amounts, without saving.

The preview of a form and the functions that save both call these functions, so staff see the amounts that are saved.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime

from apps.core.events.recording import apply_changes
from apps.core.events.values import Changes
from apps.core.models import get_column_values
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.draft_orders.domain.calculation import calculate_draft
from apps.draft_orders.domain.inputs import build_draft_lines, get_columns
from apps.draft_orders.models import DraftOrder, DraftOrderLine

# The columns that amounts depend on. A change of another column leaves prices, taxes and discounts as they are.
_PRICED_COLUMNS = {
    *("customer_id", "email", "shipping_address", "billing_address", "tax_exempt", "applied_discount"),
    *("shipping_line", "discount_codes", "presentment_currency", "exchange_rate"),
}


@dataclass(frozen=True, slots=True)
class DraftEdit:
    """What an edit changed in a draft order.

    Attributes:
        changes: The changed columns of the draft order, as returned by ``apply_changes``.
        lines: The lines after the edit.
        before: The stored lines.
        stored_values: The column values of the stored lines before the edit, by id.
        has_new_lines: Lines were added, changed, moved or removed.
    """

    changes: Changes
    lines: list[DraftOrderLine]
    before: list[DraftOrderLine]
    stored_values: dict[int, Attrs]
    has_new_lines: bool


def get_lines(draft: DraftOrder) -> list[DraftOrderLine]:
    return list(DraftOrderLine.objects.filter(draft_order=draft).order_by("position", "pk"))


def build_new_draft(
    attrs: ReadOnlyAttrs, lines: Sequence[ReadOnlyAttrs], *, at: datetime, app: App | None = None, locked: bool = True
) -> tuple[DraftOrder, list[DraftOrderLine]]:
    """Return an unsaved draft order with its lines. If ``locked`` is true, lock its customer.

    Raises:
        DraftOrderRefused: Values are invalid.
    """
    shop = get_current_shop()
    draft = DraftOrder(
        shop=shop,
        currency=shop.currency,
        presentment_currency=shop.currency,
        taxes_included=shop.taxes_included,
        app=app,
        created_at=at,
    )
    apply_changes(draft, get_columns(draft, attrs, locked=locked))
    # The ids are those of another draft order, for example if a client sends a copy of one.
    rows = build_draft_lines(draft, [{**row, "id": None} for row in lines])
    calculate_draft(draft, rows, at=at)
    return draft, rows


def edit_draft(
    draft: DraftOrder,
    attrs: ReadOnlyAttrs,
    lines: Sequence[ReadOnlyAttrs] | None,
    *,
    at: datetime,
    locked: bool = True,
    has_new_customer: bool = False,
) -> DraftEdit:
    """Change a stored draft order in memory. It is calculated only if a value changes that amounts depend on.

    ``has_new_customer`` means that the customer changes to one that does not exist yet.

    Raises:
        DraftOrderRefused: Values are invalid.
    """
    changes = apply_changes(draft, get_columns(draft, attrs, locked=locked), personal=DraftOrder.personal_fields)
    before = get_lines(draft)
    stored_values = {line.pk: get_column_values(line) for line in before}
    rows = before if lines is None else build_draft_lines(draft, lines, before)
    has_new_lines = [get_column_values(line) for line in rows] != list(stored_values.values())
    if has_new_lines or has_new_customer or changes.keys() & _PRICED_COLUMNS:
        calculate_draft(draft, rows, at=at)
    return DraftEdit(changes, rows, before, stored_values, has_new_lines)


def preview_draft_order(
    draft: DraftOrder | None,
    attrs: ReadOnlyAttrs,
    lines: Sequence[ReadOnlyAttrs] | None,
    *,
    at: datetime,
    has_new_customer: bool = False,
) -> tuple[DraftOrder, list[DraftOrderLine]]:
    """Return the draft order and the lines that would be saved, without locks or writes.

    ``attrs`` and ``lines`` are as in ``create_draft_order``, or with a ``draft`` as in ``update_draft_order``. With
    ``has_new_customer``, saving would also create the customer.

    Raises:
        DraftOrderRefused: Values are invalid.
    """
    if draft is None:
        return build_new_draft(attrs, lines or (), at=at, locked=False)
    preview = copy(draft)
    edit = edit_draft(preview, attrs, lines, at=at, locked=False, has_new_customer=has_new_customer)
    return preview, edit.lines
