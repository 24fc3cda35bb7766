"""Low stock: the levels at which so few of an item are left that the shop wants to know.

The number is the shop's (``Shop.low_stock_at``); a shop without one has no low stock. Each level says whether it is low
(``InventoryLevel.is_low``), written by the statement that moves it, so that low ones are counted by a small index and a
movement that leaves a level as it is in this respect touches no index. After the number was changed a job goes through
the levels. What moved in a transaction that had seen the former number is put right by the next movement, or at night.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from apps.ground.tenancy import current_shop, shop_scope
from apps.inventory.models import InventoryItem, InventoryLevel
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Shop

MARK = "inventory.mark_low"
MARKED_AT_ONCE = 500
# As everybody locks levels.
_ORDER = ("item_id", "location_id")


def falls_low(delta: int) -> Exists:
    """In an update of levels: whether each is low once it has moved."""
    return Exists(Shop.objects.filter(pk=OuterRef("shop_id"), low_stock_at__gte=OuterRef("available") + delta))


def is_new_low() -> bool:
    """Whether a level that begins with nothing is low in the current shop."""
    return current_shop().low_stock_at is not None


def low_items() -> QuerySet[InventoryItem]:
    """The current shop's tracked items that are low somewhere."""
    low = InventoryLevel.rows().filter(is_low=True).order_by().values("item_id")
    return InventoryItem.rows().filter(tracked=True, pk__in=low)


def mark_later(actor: str) -> None:
    """Have the levels marked by the number that the shop has now."""
    queue.enqueue(MARK, actor=actor)


def run(job: Job, **arguments: Any) -> None:
    """Mark the levels; the task of ``mark_later``."""
    mark()


def mark() -> int:
    """Mark the current shop's levels, some in each transaction; how many said something else."""
    marked, last = 0, (0, 0)
    while step := _mark_some(last):
        marked, last = marked + len(step), step[-1]
    return marked


def mark_all(at: datetime) -> int:
    """Mark the levels of all shops that may be written; a duty of the night."""
    marked = 0
    for shop in Shop.objects.filter(read_only_at=None).order_by("pk").iterator():
        with shop_scope(shop):
            marked += mark()
    return marked


@transaction.atomic
def _mark_some(last: tuple[int, int]) -> list[tuple[int, int]]:
    """Mark the next levels behind an item and a location that say something else; their items and locations."""
    number = _number()
    wrong = Q(is_low=True)
    if number is not None:
        wrong = Q(is_low=True, available__gt=number) | Q(is_low=False, available__lte=number)
    behind = Q(item_id__gt=last[0]) | Q(item_id=last[0], location_id__gt=last[1])
    levels = InventoryLevel.objects.select_for_update().filter(wrong, behind).order_by(*_ORDER)
    keys = list(levels.values_list("pk", "item_id", "location_id")[:MARKED_AT_ONCE])
    # Nothing that anybody is shown of the level changes by it.
    InventoryLevel.objects.filter(pk__in=[pk for pk, _item, _place in keys]).update(
        is_low=falls_low(0), updated_at=F("updated_at"), version=F("version")
    )
    return [(item, place) for _pk, item, place in keys]


def _number() -> int | None:
    found: int | None = Shop.objects.values_list("low_stock_at", flat=True).get(pk=current_shop().pk)
    return found
