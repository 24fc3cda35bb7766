"""Mark the inventory levels that are low, which means that they are at or below the shop's threshold.

The threshold is ``Shop.low_stock_at``. A shop without a threshold has no low stock. The statement that changes a level
also sets ``InventoryLevel.is_low``. Low levels can therefore be counted with a small index, and a change that does not
cross the threshold does not write to an index. Changing the threshold enqueues a job that updates the levels. If a
concurrent transaction still used the old threshold, the next change to the level or the nightly update corrects
``is_low``.
"""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from apps.core.db.statement_batches import StatementBatch
from apps.core.jobs import queue
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop, shop_scope
from apps.inventory.domain.hooks import low_stock_listeners
from apps.inventory.models import InventoryItem, InventoryLevel

# The item id and location id of a level.
LevelKey = tuple[int, int]
MARK_TASK = "inventory.mark_low_stock"
BATCH_SIZE = 500
# All code locks levels in this order, to avoid deadlocks.
_ORDER = ("item_id", "location_id")


def is_low_after(delta: int) -> Exists:
    """Return a condition for an UPDATE statement. It is true if the level is low after a change of ``delta``."""
    return Exists(Shop.objects.filter(pk=OuterRef("shop_id"), low_stock_at__gte=OuterRef("available") + delta))


def is_new_level_low() -> bool:
    """Return True if a new level with a quantity of 0 is low in the current shop."""
    return get_current_shop().low_stock_at is not None


def get_low_items() -> QuerySet[InventoryItem]:
    """Return the current shop's tracked items that are low in stock at one or more locations."""
    low = InventoryLevel.rows().filter(is_low=True).order_by().values("item_id")
    return InventoryItem.rows().filter(tracked=True, pk__in=low)


def notify_low_stock_listeners(
    levels: Mapping[LevelKey, InventoryLevel],
    deltas: Mapping[LevelKey, int],
    *,
    batch: StatementBatch,
    actor: str,
    at: datetime,
) -> None:
    """Call the listeners with the items of changed levels that are low, but were above the threshold before.

    ``deltas`` are the changes of the levels.
    """
    low = {key: level.available - deltas[key] for key, level in levels.items() if level.is_low}
    if not low or not low_stock_listeners:
        return
    # The request may have loaded the shop before the threshold was set.
    threshold = get_current_shop().low_stock_at
    if threshold is None and (threshold := _get_threshold()) is None:
        return
    item_ids = sorted({item_id for (item_id, _location), before in low.items() if before > threshold})
    if item_ids:
        for listener in low_stock_listeners.values():
            listener(item_ids, batch=batch, actor=actor, at=at)


def enqueue_mark_low(actor: str) -> None:
    queue.enqueue(MARK_TASK, actor=actor)


def mark_low_levels() -> int:
    """Update ``is_low`` of the current shop's levels in batches. Return the number of changed levels."""
    marked, last = 0, (0, 0)
    while batch := _mark_batch(last):
        marked, last = marked + len(batch), batch[-1]
    return marked


def mark_low_levels_of_all_shops(at: datetime) -> int:
    marked = 0
    for shop in Shop.objects.filter(read_only_at=None).order_by("pk").iterator():
        with shop_scope(shop):
            marked += mark_low_levels()
    return marked


@transaction.atomic
def _mark_batch(last: tuple[int, int]) -> list[tuple[int, int]]:
    """Correct ``is_low`` in the next batch of levels. Return the item and location ids of the corrected levels.

    The batch starts after the item id and location id in ``last``.
    """
    threshold = _get_threshold()
    wrong = Q(is_low=True)
    if threshold is not None:
        wrong = Q(is_low=True, available__gt=threshold) | Q(is_low=False, available__lte=threshold)
    after = Q(item_id__gt=last[0]) | Q(item_id=last[0], location_id__gt=last[1])
    levels = InventoryLevel.objects.select_for_update().filter(wrong, after).order_by(*_ORDER)
    keys = list(levels.values_list("pk", "item_id", "location_id")[:BATCH_SIZE])
    # Do not update the timestamp and version, because the API does not return ``is_low``.
    InventoryLevel.objects.filter(pk__in=[pk for pk, _item, _location in keys]).update(
        is_low=is_low_after(0), updated_at=F("updated_at"), version=F("version")
    )
    return [(item, location) for _pk, item, location in keys]


def _get_threshold() -> int | None:
    return Shop.objects.values_list("low_stock_at", flat=True).get(pk=get_current_shop().pk)
