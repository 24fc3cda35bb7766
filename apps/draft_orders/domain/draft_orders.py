"""Create, update, duplicate and delete draft orders.

Each function locks the draft order, and calculates it again whenever a value changes that amounts depend on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial

from django.db import transaction

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import record_event
from apps.core.events.redaction import clear_copies
from apps.core.exceptions import TransitionRefused
from apps.core.i18n.messages import Message, define_message, define_text
from apps.core.models import delete_rows, get_column_values
from apps.core.tenancy.currency_conversion import find_presentment
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.discounts.domain.terms import normalize_code
from apps.draft_orders.domain import numbering
from apps.draft_orders.domain.calculation import CALCULATED_COLUMNS, LINE_COLUMNS, CodesRefused, DraftOrderRefused
from apps.draft_orders.domain.edits import DraftEdit, build_new_draft, edit_draft, get_lines
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.models import LineItem, Order

CREATED, UPDATED, DELETED = "draft_orders/create", "draft_orders/update", "draft_orders/delete"
_COPIED_COLUMNS = ("customer_id", "email", "billing_address", "shipping_address", "note", "note_attributes", "tags")
ALREADY_COMPLETED = define_text("draft_orders.already_completed", "The draft order is already completed")
_COMPLETED = define_text("draft_orders.completed", "The draft order is completed, so it cannot be changed")
_DELETE_COMPLETED = define_text("draft_orders.delete_completed", "A completed draft order cannot be deleted")
_CODE_LEFT_OUT = define_message("draft_orders.code_left_out", "A discount code was left out. {reason}")
_SHOP_CURRENCY = define_message(
    "draft_orders.shop_currency", "The copy is in {currency}, because the shop no longer sells in {removed}."
)
_OTHER_CURRENCY = define_text("draft_orders.other_currency", "is not the shop currency")


class DraftOrderCompleted(TransitionRefused):
    """Raised when a draft order is already completed."""


def lock_draft_order(draft: DraftOrder) -> DraftOrder:
    """Return the draft order, reloaded and locked until the transaction ends.

    A draft order is locked before its customer, the counter of orders, stock and products.
    """
    return get_for_update(DraftOrder, draft.pk)


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
    ``sku``, ``vendor``, ``grams``, ``taxable`` and ``requires_shipping``. Imports also set ``columns``, see
    ``build_draft_lines``.

    Raises:
        DraftOrderRefused: Values are invalid.
        CurrencyChanged: The shop currency has just changed.
    """
    draft, rows = build_new_draft(attrs, lines, at=at, app=app)
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
    edit = edit_draft(draft, attrs, lines, at=at)
    has_new_metafields = metafields.set_metafields(draft, metafield_inputs, actor=actor, at=at)
    if not (edit.changes or edit.has_new_lines or has_new_metafields):
        return draft
    _save_lines(edit)
    draft.save(update_fields={*edit.changes, *CALCULATED_COLUMNS})
    record_event(UPDATED, draft, actor=actor, at=at, changes=edit.changes)
    return draft


def _save_lines(edit: DraftEdit) -> None:
    kept, stored = {line.pk for line in edit.lines}, edit.stored_values
    delete_rows([line for line in edit.before if line.pk not in kept])
    for line in edit.lines:
        if line.pk in stored and get_column_values(line) != stored[line.pk]:
            line.save()
    DraftOrderLine.objects.bulk_create([line for line in edit.lines if line.pk not in stored])


@transaction.atomic
def delete_draft_order(draft: DraftOrder, *, actor: str, at: datetime) -> None:
    """Delete a draft order that is not completed. Its number is not used again."""
    draft = lock_draft_order(draft)
    if draft.is_completed:
        raise DraftOrderCompleted(_DELETE_COMPLETED)
    record_event(DELETED, draft, actor=actor, at=at)
    clear_copies(DraftOrder, [draft.pk])
    draft.delete()


@dataclass(frozen=True, slots=True)
class DraftCopy:
    """A new draft order, and notes about how it differs from the original."""

    draft: DraftOrder
    notes: Sequence[Message]


def duplicate_draft_order(
    draft: DraftOrder, *, actor: str, at: datetime, app: App | None = None, for_another_customer: bool = False
) -> DraftCopy:
    """Create an open copy of a draft order with the same prices, and with current taxes and exchange rates.

    With ``for_another_customer``, the copy has no customer, email or addresses. Discount codes that do not apply now
    are left out.
    """
    names = (*_COPIED_COLUMNS, "tax_exempt", "applied_discount", "discount_codes", "presentment_currency")
    attrs = {name: getattr(draft, name) for name in names}
    if for_another_customer:
        attrs |= {"customer_id": None, "email": "", "shipping_address": None, "billing_address": None}
    attrs["shipping_line"] = _parse_price(draft.shipping_line)
    lines = [{name: getattr(line, name) for name in (*LINE_COLUMNS, "applied_discount")} for line in get_lines(draft)]
    return _create_copy(attrs, lines, actor=actor, at=at, app=app)


def duplicate_order_as_draft(order: Order, *, actor: str, at: datetime, app: App | None = None) -> DraftCopy:
    """Create a draft order with the items, customer, addresses and shipping of an order, at current catalog prices.

    Custom items, and items without a variant since it was deleted, keep their price. Discounts are not copied, and
    neither are items that were removed by an edit.

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
        | {"quantity": quantity}
        for line in get_line_items(order)
        if (quantity := _get_ordered_quantity(order, line))
    ]
    return _create_copy(attrs, lines, actor=actor, at=at, app=app)


def _create_copy(attrs: Attrs, lines: Sequence[Attrs], *, actor: str, at: datetime, app: App | None) -> DraftCopy:
    """Create a draft order without the codes and the presentment currency that can no longer be used."""
    shop, notes, removed = get_current_shop(), list[Message](), attrs["presentment_currency"]
    presentment = find_presentment(shop, removed)
    if removed != shop.currency and (presentment is None or not presentment.rate):
        attrs["presentment_currency"] = shop.currency
        notes.append(_SHOP_CURRENCY(currency=shop.currency, removed=removed))
    save = partial(create_draft_order, lines=lines, actor=actor, at=at, app=app)
    return DraftCopy(save_without_refused_codes(save, attrs, notes), notes)


def save_without_refused_codes(save: Callable[[Attrs], DraftOrder], attrs: Attrs, notes: list[Message]) -> DraftOrder:
    """Save a draft order without the discount codes that do not apply. Add a note for each code left out.

    Raises:
        CodesRefused: A code that the draft order already had does not apply.
    """
    while True:
        try:
            return save(attrs)
        except CodesRefused as error:
            requested = attrs.get("discount_codes") or []
            refused = {normalize_code(code) for code in error.reasons}
            codes = [code for code in requested if normalize_code(code) not in refused]
            if codes == requested:
                # Only codes that the draft order already had are refused.
                raise
            notes += [_CODE_LEFT_OUT(reason=[reason]) for reason in error.reasons.values()]
            attrs = {**attrs, "discount_codes": codes}


def _get_ordered_quantity(order: Order, line: LineItem) -> int:
    """Return the quantity without items that were removed by an edit.

    Canceling an order removes all items, so it is not known which of them were removed before.
    """
    return line.quantity if order.cancelled_at else line.current_quantity + line.refunded_quantity


def _parse_price(shipping_line: ReadOnlyAttrs | None) -> Attrs | None:
    return None if shipping_line is None else {**shipping_line, "price": Decimal(shipping_line["price"])}
