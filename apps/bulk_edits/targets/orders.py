"""Bulk edits of orders: tags, and whether the order is archived."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain.targets import EditTarget
from apps.core.db.row_locks import get_for_update
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain import transitions, updates
from apps.orders.models import Order

OPEN, CLOSED = "open", "closed"


def lock_order_row(pk: int, names: Collection[str]) -> Order:
    """Lock the order."""
    return get_for_update(Order, pk)


def get_order_values(order: Order, names: Collection[str]) -> Attrs:
    """Return the values of the fields. The status is ``closed`` for an archived order, otherwise ``open``."""
    return {name: (CLOSED if order.closed_at else OPEN) if name == "status" else getattr(order, name) for name in names}


def write_order(order: Order, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
    """Save the tags and the status, each through its own domain function."""
    if "tags" in after:
        updates.update_order(order, {"tags": after["tags"]}, actor=actor, at=at)
    if "status" in after:
        transition = transitions.close_order if after["status"] == CLOSED else transitions.reopen_order
        transition(order, actor=actor, at=at)


def get_order_version(pk: int) -> str:
    return str(Order.objects.values_list("version", flat=True).get(pk=pk))


ORDERS = EditTarget(
    name="orders",
    label=gettext_lazy("Orders"),
    model=Order,
    permission="orders.change_order",
    granted_by="edit_orders",
    fields=("tags", "status"),
    lock_row=lock_order_row,
    get_values=get_order_values,
    write=write_order,
    get_version=get_order_version,
    get_name=str,
)
