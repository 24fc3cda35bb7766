"""Orders in bulk: tags, and in and out of the archive."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext_lazy

from apps.bulk.domain.kinds import Kind
from apps.ground.attrs import Attrs, Given
from apps.ground.locks import locked
from apps.orders.domain import editing, transitions
from apps.orders.models import Order

OPEN, CLOSED = "open", "closed"


def hold(pk: int, names: Collection[str]) -> Order:
    """The order."""
    return locked(Order, pk)


def values(order: Order, names: Collection[str]) -> Attrs:
    """Its status is whether it lies in the archive."""
    return {name: (CLOSED if order.closed_at else OPEN) if name == "status" else getattr(order, name) for name in names}


def write(order: Order, after: Given, *, actor: str, at: datetime) -> None:
    """Each by the service that makes the move."""
    if "tags" in after:
        editing.update_order(order, {"tags": after["tags"]}, actor=actor, at=at)
    if "status" in after:
        move = transitions.close if after["status"] == CLOSED else transitions.reopen
        move(order, actor=actor, at=at)


def mark(pk: int) -> str:
    """Its version."""
    return str(Order.objects.values_list("version", flat=True).get(pk=pk))


ORDERS = Kind(
    name="orders",
    label=gettext_lazy("Orders"),
    model=Order,
    permission="orders.change_order",
    granted_by="edit_orders",
    fields=("tags", "status"),
    hold=hold,
    values=values,
    write=write,
    mark=mark,
    name_of=str,
)
