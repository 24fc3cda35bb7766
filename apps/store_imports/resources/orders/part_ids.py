"""The entries of the map of ids for the parts of orders."""

from collections.abc import Sequence

from apps.core.types import ReadOnlyAttrs
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.orders.domain.create.drafts import OrderDraft
from apps.refunds.models import Refund
from apps.store_imports.domain.id_map import NewId
from apps.store_imports.domain.streams import get_digest

# Parts with a digest, by which a later import finds changes.
_COMPARED = frozenset({"fulfillment", "fulfillment_order"})


def get_new_ids(body: ReadOnlyAttrs, draft: OrderDraft) -> list[NewId]:
    """Return the ids of the rows of a saved draft."""
    return [
        *get_new_ids_of(body, "line_item", [row.pk for row in draft.lines]),
        *get_new_ids_of(body, "shipping_line", [row.pk for row in draft.shipping]),
        *get_new_ids_of(body, "transaction", [row.pk for row in draft.transactions]),
    ]


def get_new_ids_of(body: ReadOnlyAttrs, name: str, ids: Sequence[int]) -> list[NewId]:
    """Return the ids of one kind of parts. ``ids`` begins with the ids of the rows in the body."""
    rows = body[f"{name}s"]
    return [
        NewId(name, row["id"], pk, get_digest(row) if name in _COMPARED else "")
        for row, pk in zip(rows, ids[: len(rows)], strict=True)
        if row.get("id")
    ]


def load_other_ids(bodies: Sequence[tuple[int, ReadOnlyAttrs]]) -> dict[int, list[NewId]]:
    """Return the ids of the refunds and fulfillments of new orders, by order id. ``bodies`` have the order ids."""
    new: dict[int, list[NewId]] = {pk: [] for pk, _ in bodies}
    for model, name in ((Refund, "refund"), (Fulfillment, "fulfillment"), (FulfillmentOrder, "fulfillment_order")):
        by_order: dict[int, list[int]] = {pk: [] for pk in new}
        rows = model._default_manager.filter(order_id__in=list(new)).order_by("order_id", "pk")
        for order_id, pk in rows.values_list("order_id", "pk"):
            by_order[order_id].append(pk)
        for pk, body in bodies:
            new[pk] += get_new_ids_of(body, name, by_order[pk])
    return new
