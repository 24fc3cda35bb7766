"""What a service says of its stock: read strictly, then set at its location.

An answer is taken as a whole or not at all; only SKUs that the shop does not stock with the service are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from apps.catalog.models import Variant
from apps.fulfillment.domain.answers import AnswerRefused, object_of, shown
from apps.fulfillment.models import FulfillmentService
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import Move
from apps.inventory.domain.stock import NotShared
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, StockMovement

MAX_SKU = 255
_BATCH = 500
_DIGITS = 20
# How many SKUs a message names.
_NAMED = 10


@dataclass(slots=True)
class Report:
    """What became of a report.

    Attributes:
        changed: How many levels were changed.
        unknown: SKUs that the shop does not stock with the service.
        unshared: SKUs that cannot lie there beside where they lie.
    """

    changed: int = 0
    unknown: list[str] = field(default_factory=list)
    unshared: list[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        """What was left out, for people; blank where nothing was."""
        found = (("not stocked with this service", self.unknown), ("stocked where they exclude it", self.unshared))
        return " ".join(
            f"{len(skus)} of the SKUs are {words}: {', '.join(map(shown, skus[:_NAMED]))}{' …' * (len(skus) > _NAMED)}."
            for words, skus in found
            if skus
        )


def read_stock(body: bytes) -> dict[str, int]:
    """The quantities of an answer, by SKU.

    Raises:
        AnswerRefused: It is not ``{"<SKU>": <quantity>}``, or a quantity is one that no level can have.
    """
    return {sku: _quantity(sku, value) for sku, value in object_of(body).items()}


def _quantity(sku: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    # A boolean is a number to Python and none to us.
    if not isinstance(value, int) or isinstance(value, bool):
        raise AnswerRefused(f"The quantity of {shown(sku)} is no whole number.")
    if not 0 <= value <= MAX_AVAILABLE:
        raise AnswerRefused(f"The quantity of {shown(sku)} is not between 0 and {MAX_AVAILABLE}.")
    return value


def apply_stock(
    service: FulfillmentService, quantities: Mapping[str, int], *, hold: Callable[[], None], at: datetime
) -> Report:
    """Set the levels at a service's location to what it says.

    Args:
        service: Whose report it is.
        quantities: By SKU.
        hold: Called at the beginning of each transaction; raises where the report is out of date.
        at: When.
    """
    report = Report()
    skus = sorted(quantities)
    for start in range(0, len(skus), _BATCH):
        batch = {sku: quantities[sku] for sku in skus[start : start + _BATCH]}
        with transaction.atomic():
            hold()
            _apply(service, batch, report, at=at)
    return report


def _apply(service: FulfillmentService, quantities: Mapping[str, int], report: Report, *, at: datetime) -> None:
    items = list(_items(service, quantities).order_by("pk"))
    report.unknown += sorted(quantities.keys() - {item.sku for item in items})
    actor = f"app:{service.app_id}"
    stocked = _stocked(service, items)
    if missing := [item for item in items if item.pk not in stocked]:
        # All at once and before any level, as everybody does.
        stock.lock_items(item.pk for item in items)
        for item in missing:
            try:
                with transaction.atomic():
                    stock.connect(item, service.location, actor=actor, at=at)
            except NotShared:
                report.unshared.append(item.sku)
    levels = InventoryLevel.objects.select_for_update().filter(
        item_id__in=[item.pk for item in items], location_id=service.location_id
    )
    available = dict(levels.order_by("item_id").values_list("item_id", "available"))
    moves = [
        Move(item.pk, service.location_id, quantities[item.sku] - available[item.pk])
        for item in items
        if item.pk in available
    ]
    changed = movements.apply(moves, reason=StockMovement.Reason.SERVICE, actor=actor, at=at, reference=service.name)
    report.changed += len(changed)


def _items(service: FulfillmentService, skus: Mapping[str, int]) -> QuerySet[InventoryItem]:
    """The items of these SKUs that lie at the service's location, or whose variants name it."""
    lies_there = InventoryLevel.objects.filter(item=OuterRef("pk"), location_id=service.location_id)
    named = Variant.objects.filter(inventory_item=OuterRef("pk"), fulfillment_service=service.handle)
    known = [sku for sku in skus if sku and len(sku) <= MAX_SKU]
    return InventoryItem.objects.filter(Exists(lies_there) | Exists(named), sku__in=known)


def _stocked(service: FulfillmentService, items: Sequence[InventoryItem]) -> set[int]:
    levels = InventoryLevel.objects.filter(item__in=items, location_id=service.location_id)
    return set(levels.values_list("item_id", flat=True))
