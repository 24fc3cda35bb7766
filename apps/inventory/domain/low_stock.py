"""Low stock: levels at or below the shop's threshold.

The threshold is ``Shop.low_stock_at``; a shop without a threshold has no low stock. ``InventoryLevel.is_low`` is
written by the statement that changes the level, so low levels are counted with a small index, and a change that does
not cross the threshold touches no index. A change of the threshold enqueues a job that updates the levels. A
transaction that still used the old threshold is corrected by the next change or at night.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from apps.ground.tenancy import get_current_shop, shop_scope
from apps.inventory.models import InventoryItem, InventoryLevel
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Shop

MARK_TASK = "inventory.mark_low"
BATCH_SIZE = 500
# The lock order of levels that all code uses.
_ORDER = ("item_id", "location_id")


def is_low_after(delta: int) -> Exists:
    """Return an expression for updates of levels: True if the level is low after the change."""
    return Exists(Shop.objects.filter(pk=OuterRef("shop_id"), low_stock_at__gte=OuterRef("available") + delta))


def is_new_level_low() -> bool:
    """Return True if a new level with a quantity of 0 is low in the current shop."""
    return get_current_shop().low_stock_at is not None


def get_low_items() -> QuerySet[InventoryItem]:
    """Return the tracked items of the current shop that are low at a location."""
    low = InventoryLevel.rows().filter(is_low=True).order_by().values("item_id")
    return InventoryItem.rows().filter(tracked=True, pk__in=low)


def enqueue_mark_low(actor: str) -> None:
    """Enqueue a job that updates the levels for the current threshold."""
    queue.enqueue(MARK_TASK, actor=actor)


def run_mark_low(job: Job, **arguments: Any) -> None:
    """Update the levels; the task that ``enqueue_mark_low`` enqueues."""
    mark_low_levels()


def mark_low_levels() -> int:
    """Update ``is_low`` of the current shop's levels in batches; return the number of changed levels."""
    marked, last = 0, (0, 0)
    while batch := _mark_batch(last):
        marked, last = marked + len(batch), batch[-1]
    return marked


def mark_low_levels_of_all_shops(at: datetime) -> int:
    """Update the levels of all writable shops; a nightly duty."""
    marked = 0
    for shop in Shop.objects.filter(read_only_at=None).order_by("pk").iterator():
        with shop_scope(shop):
            marked += mark_low_levels()
    return marked


@transaction.atomic
def _mark_batch(last: tuple[int, int]) -> list[tuple[int, int]]:
    """Update the next batch of wrong levels after an item and location id; return their item and location ids."""
    threshold = _get_threshold()
    wrong = Q(is_low=True)
    if threshold is not None:
        wrong = Q(is_low=True, available__gt=threshold) | Q(is_low=False, available__lte=threshold)
    after = Q(item_id__gt=last[0]) | Q(item_id=last[0], location_id__gt=last[1])
    levels = InventoryLevel.objects.select_for_update().filter(wrong, after).order_by(*_ORDER)
    keys = list(levels.values_list("pk", "item_id", "location_id")[:BATCH_SIZE])
    # ``is_low`` is not rendered anywhere, so timestamp and version stay unchanged.
    InventoryLevel.objects.filter(pk__in=[pk for pk, _item, _location in keys]).update(
        is_low=is_low_after(0), updated_at=F("updated_at"), version=F("version")
    )
    return [(item, location) for _pk, item, location in keys]


def _get_threshold() -> int | None:
    threshold: int | None = Shop.objects.values_list("low_stock_at", flat=True).get(pk=get_current_shop().pk)
    return threshold
