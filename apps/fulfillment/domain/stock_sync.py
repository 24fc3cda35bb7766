"""Sync stock from a fulfillment service: parse the response, and set the inventory levels at the service's location.

SKUs that are not stocked with the service are skipped. The rest of a response is applied completely or not at all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from apps.catalog.models import Variant
from apps.fulfillment.domain.service_responses import InvalidResponse, parse_json_object, quote_text
from apps.fulfillment.models import FulfillmentService
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.domain.stock import NotShared
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, StockMovement

MAX_SKU = 255
_BATCH = 500
_DIGITS = 20
# The maximum number of SKUs that a message lists.
_MAX_LISTED = 10


@dataclass(slots=True)
class StockSyncResult:
    """The result of a stock sync.

    Attributes:
        changed: The number of changed inventory levels.
        unknown: SKUs that the shop does not stock with the service.
        unshared: SKUs that can't be stocked at several locations.
    """

    changed: int = 0
    unknown: list[str] = field(default_factory=list)
    unshared: list[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        """Return a message about skipped SKUs, or an empty string if there are none."""
        groups = (
            ("not stocked with this service", self.unknown),
            ("stocked at a location that does not share its items", self.unshared),
        )
        return " ".join(
            f"{len(skus)} of the SKUs are {text}: {', '.join(map(quote_text, skus[:_MAX_LISTED]))}"
            f"{' …' * (len(skus) > _MAX_LISTED)}."
            for text, skus in groups
            if skus
        )


def parse_stock(body: bytes) -> dict[str, int]:
    """Parse a response into a dict of quantities, keyed by SKU.

    Raises:
        InvalidResponse: If the response is not ``{"<SKU>": <quantity>}`` or a quantity is out of range.
    """
    return {sku: _parse_quantity(sku, value) for sku, value in parse_json_object(body).items()}


def _parse_quantity(sku: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    # ``bool`` is a subclass of ``int``, so booleans are rejected explicitly.
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidResponse(f"The quantity of {quote_text(sku)} is not a whole number.")
    if not 0 <= value <= MAX_AVAILABLE:
        raise InvalidResponse(f"The quantity of {quote_text(sku)} is not between 0 and {MAX_AVAILABLE}.")
    return value


def set_reported_stock(
    service: FulfillmentService, quantities: Mapping[str, int], *, hold: Callable[[], None], at: datetime
) -> StockSyncResult:
    """Set the inventory levels at a service's location to the reported quantities.

    Args:
        service: The service.
        quantities: The reported quantities, keyed by SKU.
        hold: Called at the start of each transaction. The function raises an exception if the result is outdated.
        at: The current time.
    """
    report = StockSyncResult()
    skus = sorted(quantities)
    for start in range(0, len(skus), _BATCH):
        batch = {sku: quantities[sku] for sku in skus[start : start + _BATCH]}
        with transaction.atomic():
            hold()
            _apply_batch(service, batch, report, at=at)
    return report


def _apply_batch(
    service: FulfillmentService, quantities: Mapping[str, int], report: StockSyncResult, *, at: datetime
) -> None:
    items = list(_get_items(service, quantities).order_by("pk"))
    report.unknown += sorted(quantities.keys() - {item.sku for item in items})
    actor = f"app:{service.app_id}"
    stocked = _get_stocked_ids(service, items)
    if missing := [item for item in items if item.pk not in stocked]:
        # Lock all items before any inventory level, in the same order as all other functions, to avoid deadlocks.
        stock.lock_items(item.pk for item in items)
        for item in missing:
            try:
                with transaction.atomic():
                    stock.connect_item(item, service.location, actor=actor, at=at)
            except NotShared:
                report.unshared.append(item.sku)
    levels = InventoryLevel.objects.select_for_update().filter(
        item_id__in=[item.pk for item in items], location_id=service.location_id
    )
    available = dict(levels.order_by("item_id").values_list("item_id", "available"))
    moves = [
        StockChange(item.pk, service.location_id, quantities[item.sku] - available[item.pk])
        for item in items
        if item.pk in available
    ]
    changed = movements.apply_stock_changes(
        moves, reason=StockMovement.Reason.SERVICE, actor=actor, at=at, reference=service.name
    )
    report.changed += len(changed)


def _get_items(service: FulfillmentService, skus: Mapping[str, int]) -> QuerySet[InventoryItem]:
    """Return items with these SKUs that are stocked at the service's location or have a variant with this service."""
    is_stocked = InventoryLevel.objects.filter(item=OuterRef("pk"), location_id=service.location_id)
    has_service = Variant.objects.filter(inventory_item=OuterRef("pk"), fulfillment_service=service.handle)
    valid_skus = [sku for sku in skus if sku and len(sku) <= MAX_SKU]
    return InventoryItem.objects.filter(Exists(is_stocked) | Exists(has_service), sku__in=valid_skus)


def _get_stocked_ids(service: FulfillmentService, items: Sequence[InventoryItem]) -> set[int]:
    levels = InventoryLevel.objects.filter(item__in=items, location_id=service.location_id)
    return set(levels.values_list("item_id", flat=True))
