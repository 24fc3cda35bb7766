"""Create, update, duplicate and delete draft orders.

Each function locks the draft order, and calculates it again whenever a value changes that amounts depend on.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.events.redaction import clear_copies
from apps.core.exceptions import TransitionRefused
from apps.core.i18n.messages import define_text
from apps.core.models import delete_rows, get_column_values
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.draft_orders.domain import numbering
from apps.draft_orders.domain.calculation import (
    CALCULATED_COLUMNS,
    LINE_COLUMNS,
    DraftOrderRefused,
    calculate_draft,
)
from apps.draft_orders.domain.inputs import build_draft_lines, get_columns
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.models import Order

CREATED, UPDATED, DELETED = "draft_orders/create", "draft_orders/update", "draft_orders/delete"
# The columns that amounts depend on. A change of another column leaves prices, taxes and discounts as they are.
_PRICED_COLUMNS = {
    *("customer_id", "email", "shipping_address", "billing_address", "tax_exempt", "applied_discount"),
    *("shipping_line", "discount_codes", "presentment_currency", "exchange_rate"),
}
_COPIED_COLUMNS = ("customer_id", "email", "billing_address", "shipping_address", "note", "note_attributes", "tags")
ALREADY_COMPLETED = define_text("draft_orders.already_completed", "The draft order is already completed")
_COMPLETED = define_text("draft_orders.completed", "The draft order is completed, so it cannot be changed")
_DELETE_COMPLETED = define_text("draft_orders.delete_completed", "A completed draft order cannot be deleted")
_OTHER_CURRENCY = define_text("draft_orders.other_currency", "is not the shop currency")


class DraftOrderCompleted(TransitionRefused):
    """Raised when a draft order is already completed."""


def lock_draft_order(draft: DraftOrder) -> DraftOrder:
    """Return the draft order, reloaded and locked until the transaction ends.

    A draft order is locked before its customer, the counter of orders, stock and products.
    """
    return get_for_update(DraftOrder, draft.pk)


def get_lines(draft: DraftOrder) -> list[DraftOrderLine]:
    return list(DraftOrderLine.objects.filter(draft_order=draft).order_by("position", "pk"))


@transaction.atomic
def create_draft_order(
    attrs: ReadOnlyAttrs,
    lines: Sequence[ReadOnlyAttrs],
    *,
    actor: str,
    at: datetime,
    app: App | None = None,
    metafield_inputs: Sequence[MetafieldInput] = (),
) -> DraftOrder:
    """Create and calculate a draft order.

    ``attrs`` can have ``customer_id``, ``use_customer_default_address``, ``email``, ``billing_address``,
    ``shipping_address``, ``note``, ``note_attributes``, ``tags``, ``tax_exempt``, ``applied_discount`` (``value``,
    ``value_type``, ``title``, ``description``), ``shipping_line`` (``title``, ``price``, ``handle``),
    ``discount_codes`` and ``presentment_currency``. Each of the ``lines`` has ``variant_id``, or ``title`` and
    ``price``, and optionally ``quantity``, ``price``, ``properties``, ``applied_discount``, and for custom items
    ``sku``, ``vendor``, ``grams``, ``taxable`` and ``requires_shipping``.

    Raises:
        DraftOrderRefused: Values are invalid.
        CurrencyChanged: The shop currency has just changed.
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
    apply_changes(draft, get_columns(draft, attrs))
    # The ids are those of another draft order, for example if a client sends a copy of one.
    rows = build_draft_lines(draft, [{**row, "id": None} for row in lines])
    calculate_draft(draft, rows, at=at)
    numbering.assign_number(draft)
    draft.save(force_insert=True)
    DraftOrderLine.objects.bulk_create(rows)
    metafields.set_metafields(draft, metafield_inputs, actor=actor, at=at)
    record_event(CREATED, draft, actor=actor, at=at)
    return draft


@transaction.atomic
def update_draft_order(
    draft: DraftOrder,
    attrs: ReadOnlyAttrs,
    lines: Sequence[ReadOnlyAttrs] | None = None,
    *,
    actor: str,
    at: datetime,
    metafield_inputs: Sequence[MetafieldInput] = (),
) -> DraftOrder:
    """Update a draft order, and return it reloaded. ``attrs`` and ``lines`` are as in ``create_draft_order``.

    ``lines`` replaces all lines. A line with the ``id`` of an existing line keeps the values that it omits.

    Raises:
        DraftOrderRefused: Values are invalid.
        DraftOrderCompleted: The draft order is completed.
    """
    draft = lock_draft_order(draft)
    if draft.is_completed:
        raise DraftOrderCompleted(_COMPLETED)
    changes = apply_changes(draft, get_columns(draft, attrs), personal=DraftOrder.personal_fields)
    before = get_lines(draft)
    stored = {line.pk: get_column_values(line) for line in before}
    rows = before if lines is None else build_draft_lines(draft, lines, before)
    has_new_lines = [get_column_values(line) for line in rows] != list(stored.values())
    if has_new_lines or changes.keys() & _PRICED_COLUMNS:
        calculate_draft(draft, rows, at=at)
    if not metafields.set_metafields(draft, metafield_inputs, actor=actor, at=at) and not changes and not has_new_lines:
        return draft
    _save_lines(rows, stored, before)
    draft.save(update_fields={*changes, *CALCULATED_COLUMNS})
    record_event(UPDATED, draft, actor=actor, at=at, changes=changes)
    return draft


def _save_lines(rows: Sequence[DraftOrderLine], stored: dict[int, Attrs], before: Sequence[DraftOrderLine]) -> None:
    kept = {line.pk for line in rows}
    delete_rows([line for line in before if line.pk not in kept])
    changed = [line for line in rows if line.pk in stored and get_column_values(line) != stored[line.pk]]
    for line in changed:
        line.save()
    DraftOrderLine.objects.bulk_create([line for line in rows if line.pk not in stored])


@transaction.atomic
def delete_draft_order(draft: DraftOrder, *, actor: str, at: datetime) -> None:
    """Delete a draft order that is not completed. Its number is not used again."""
    draft = lock_draft_order(draft)
    if draft.is_completed:
        raise DraftOrderCompleted(_DELETE_COMPLETED)
    record_event(DELETED, draft, actor=actor, at=at)
    clear_copies(DraftOrder, [draft.pk])
    draft.delete()


def duplicate_draft_order(draft: DraftOrder, *, actor: str, at: datetime, app: App | None = None) -> DraftOrder:
    """Create an open copy of a draft order with the same prices, and with current taxes and exchange rates."""
    names = (*_COPIED_COLUMNS, "tax_exempt", "applied_discount", "discount_codes", "presentment_currency")
    attrs = {name: getattr(draft, name) for name in names}
    attrs["shipping_line"] = _parse_price(draft.shipping_line)
    lines = [{name: getattr(line, name) for name in (*LINE_COLUMNS, "applied_discount")} for line in get_lines(draft)]
    return create_draft_order(attrs, lines, actor=actor, at=at, app=app)


def duplicate_order_as_draft(order: Order, *, actor: str, at: datetime, app: App | None = None) -> DraftOrder:
    """Create a draft order with the items, customer, addresses and shipping of an order, at current catalog prices.

    Custom items, and items without a variant since it was deleted, keep their price. Discounts are not copied.

    Raises:
        DraftOrderRefused: The order is in another currency than the shop.
    """
    if order.currency != get_current_shop().currency:
        raise DraftOrderRefused(_OTHER_CURRENCY, field="currency")
    names = (*_COPIED_COLUMNS, "tax_exempt", "presentment_currency")
    attrs = {name: getattr(order, name) for name in names}
    shipping = next((row for row in get_shipping_lines(order) if not row.is_removed), None)
    attrs["shipping_line"] = {"title": shipping.title, "price": shipping.price} if shipping else None
    lines = [
        {name: getattr(line, name) for name in LINE_COLUMNS if name != "price" or line.variant_id is None}
        for line in get_line_items(order)
    ]
    return create_draft_order(attrs, lines, actor=actor, at=at, app=app)


def _parse_price(shipping_line: ReadOnlyAttrs | None) -> Attrs | None:
    return None if shipping_line is None else {**shipping_line, "price": Decimal(shipping_line["price"])}
