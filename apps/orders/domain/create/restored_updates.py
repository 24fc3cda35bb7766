"""Bring a restored order to its present state in the other shop. No money and no stock moves.

The order is restored a second time, without saving it. Then the rows that exist are updated, and the others are added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model

from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import as_message, define_message, define_text
from apps.customers.domain.lookup import raise_if_being_erased
from apps.orders.domain import customer_totals, payments
from apps.orders.domain.create.drafts import OrderDraft
from apps.orders.domain.create.restored_stock import RestoredStock
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, get_transactions, lock_order
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

_OTHER_ROWS = define_message(
    "order_imports.other_rows",
    "The order has {parts} that were added in this shop, so later changes in the store can't be applied.",
)
ITEMS = define_text("order_imports.items", "items")
SHIPPING = define_text("order_imports.shipping", "shipping lines")
PAYMENTS = define_text("order_imports.payments", "payments")
_COMMON = frozenset({"id", "shop_id", "created_at", "updated_at"})
_KEPT_OF_ORDER = _COMMON | {
    *("number", "name", "token", "confirmation_number", "customer_id", "app_id", "version", "redacted_at"),
    *("units_counted", "inventory_behaviour"),
}
# The parent and the sequence of a transaction never change, and other apps refer to the ids of duties.
_KEPT_OF_ROWS: Mapping[type[Model], frozenset[str]] = {
    LineItem: _COMMON | {"order_id", "variant_id", "product_id", "duties"},
    ShippingLine: _COMMON | {"order_id"},
    Transaction: _COMMON | {"order_id", "parent_id", "sequence", "user_id"},
}


class RestoredOrderChanged(DomainError):
    """Raised when the order has rows that were not restored, so that its amounts can't be those of the other shop."""

    def __init__(self, parts: str) -> None:
        super().__init__(_OTHER_ROWS(parts=as_message(parts)))


@dataclass(frozen=True, slots=True)
class RestoredIds:
    """The ids of the saved rows of an order, in the order of the restored rows. New rows have None."""

    lines: Sequence[int | None]
    shipping: Sequence[int | None]
    transactions: Sequence[int | None]


def update_restored_order(
    order: Order, drafted: OrderDraft, ids: RestoredIds, *, is_changed: bool, actor: str, at: datetime
) -> RestoredStock | None:
    """Update an order and its rows, or return None if nothing has changed.

    ``drafted`` is the complete draft of the order as it is now. Its rows get their ids. With ``is_changed``, the order
    is saved even if only rows of other apps have changed.

    Raises:
        RestoredOrderChanged: The order has rows without an id in ``ids``.
        BeingErased: The customer's personal data is being erased.
    """
    order = lock_order(order)
    customer_id = drafted.order.customer_id
    for pk in sorted({pk for pk in (order.customer_id, customer_id) if pk is not None}):
        if (customer := customer_totals.lock_order_customer(pk)) is not None:
            raise_if_being_erased(customer)
    lines = get_line_items(order)
    before = {line.pk: dict(line.taken_from) for line in lines}
    spent, moment, old_customer_id = customer_totals.get_spent_amount(order), order.processed_at, order.customer_id
    values = {name: getattr(drafted.order, name) for name in _get_columns(Order, _KEPT_OF_ORDER)}
    changes = apply_changes(order, values, personal=Order.personal_fields)
    are_rows_changed = [
        _save_rows(order, drafted.lines, ids.lines, lines, ITEMS),
        _save_rows(order, drafted.shipping, ids.shipping, get_shipping_lines(order), SHIPPING),
        _save_rows(order, drafted.transactions, ids.transactions, get_transactions(order), PAYMENTS),
    ]
    if old_customer_id != customer_id:
        order.customer_id = customer_id
        changes["customer_id"] = [old_customer_id, customer_id]
    if not (changes or is_changed or any(are_rows_changed)):
        return None
    is_newly_sold = payments.mark_units_counted(order)
    order.save()
    _update_customers(order, spent, moment, old_customer_id, actor=actor, at=at)
    record_event("orders/updated", order, actor=actor, at=at, changes=changes)
    saved_lines = get_line_items(order)
    if is_newly_sold:
        payments.count_sold_units(saved_lines)
    return RestoredStock(order, saved_lines, before)


def _get_columns(model: type[Model], kept: frozenset[str]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields if field.attname not in kept]


def _save_rows(
    order: Order, drafts: Sequence[Any], ids: Sequence[int | None], saved: Sequence[Model], name: str
) -> bool:
    """Update and insert rows of one model. Return False if nothing has changed.

    Raises:
        RestoredOrderChanged: A saved row is not in ``ids``.
    """
    existing = {row.pk: row for row in saved}
    if existing.keys() - set(ids):
        raise RestoredOrderChanged(name)
    new, is_changed = [], False
    for draft, pk in zip(drafts, ids, strict=True):
        row = existing.get(pk)
        draft.order = order
        if row is None:
            new.append(draft)
            continue
        model = type(row)
        columns = {column: getattr(draft, column) for column in _get_columns(model, _KEPT_OF_ROWS[model])}
        if isinstance(row, LineItem):
            columns["duties"] = _keep_duty_ids(row.duties, draft.duties)
            columns |= _get_new_references(row, draft)
        if changes := apply_changes(row, columns):
            row.save(update_fields=list(changes))
            is_changed = True
        draft.pk = pk
    if new and isinstance(new[0], Transaction):
        payments.save_transactions(new)
    elif new:
        type(new[0])._default_manager.bulk_create(new)
    return is_changed or bool(new)


def _get_new_references(saved: LineItem, restored: LineItem) -> dict[str, int | None]:
    """Return the product and the variant of an item that had none, because they were restored after the order."""
    return {
        column: getattr(restored, column)
        for column in ("variant_id", "product_id")
        if getattr(saved, column) is None and getattr(restored, column) is not None
    }


def _keep_duty_ids(saved: Sequence[Mapping[str, Any]], restored: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    ids = [duty["id"] for duty in saved]
    if len(ids) != len(restored):
        return [dict(duty) for duty in restored]
    return [{**duty, "id": pk} for duty, pk in zip(restored, ids, strict=True)]


def _update_customers(
    order: Order, spent: Any, moment: datetime, customer_id: int | None, *, actor: str, at: datetime
) -> None:
    """Update the totals of the customer, or recount both customers if the order moved to another one."""
    if order.customer_id == customer_id and order.processed_at == moment:
        customer_totals.update_total_spent(order, spent, actor=actor, at=at)
        return
    for pk in sorted({pk for pk in (order.customer_id, customer_id) if pk is not None}):
        customer_totals.recount_customer_orders(pk, actor=actor, at=at)
