"""Set and adjust quantities, and create, connect and delete items.

Each function runs in one transaction and writes a ledger row and an event for every changed level. To change several
levels, call ``apps.inventory.domain.movements.apply_stock_changes``.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.compiled_queries import CompiledModelQuery, CompiledQuery
from apps.core.db.row_locks import refresh_for_update
from apps.core.db.statement_batches import collect_statements
from apps.core.events.recording import EventInput, apply_changes, has_audience, record_events
from apps.core.exceptions import DomainError, RowDeleted
from apps.core.i18n.error_messages import at_least, at_most
from apps.core.i18n.messages import define_message
from apps.core.models import delete_rows
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.inventory.domain import low_stock, movements
from apps.inventory.domain.hooks import notify_item_listeners, notify_stock_listeners
from apps.inventory.domain.movements import (
    NOT_STOCKED,
    NotStocked,
    QuantityOutOfRange,
    StockChange,
)
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location, StockMovement
from apps.shops.domain.settings import has_finer_amounts

NOT_SHARED = define_message(
    "inventory.not_shared", "The item is stocked at {names} and can't be stocked at {name} as well."
)

Reason = StockMovement.Reason
DISCONNECTED = "inventory_levels/disconnect"
_LOCK_ITEMS: CompiledQuery[tuple[int]] = CompiledQuery(
    lambda items: (
        InventoryItem.objects.select_for_update(no_key=True).filter(pk__any=items).order_by("pk").values_list("pk")
    ),
    list,
)
_LEVEL = CompiledModelQuery(
    InventoryLevel, lambda item, location: InventoryLevel.objects.filter(item=item, location=location), int, int
)
_LOCK_LEVEL = CompiledModelQuery(
    InventoryLevel,
    lambda item, location: InventoryLevel.objects.select_for_update().filter(item=item, location=location),
    int,
    int,
)


class LastLevel(DomainError):
    pass


class NotShared(DomainError):
    """Raised when an item would be stocked at two locations, but one location does not share its items."""


@transaction.atomic
def set_available(
    item: InventoryItem,
    location: Location,
    available: int,
    *,
    actor: str,
    at: datetime,
    reason: Reason = Reason.COUNT,
    reference: str = "",
    relocate: bool = False,
) -> InventoryLevel:
    """Set the available quantity of a level. Connect the item to the location if necessary (see ``connect_item``)."""
    if available < 0:
        raise QuantityOutOfRange(at_least(0))
    if available > MAX_AVAILABLE:
        raise QuantityOutOfRange(at_most(MAX_AVAILABLE))
    connect_item(item, location, actor=actor, at=at, relocate=relocate)
    (level,) = _LOCK_LEVEL.fetch(item.pk, location.pk)
    move = StockChange(item.pk, location.pk, available - level.available)
    changed = movements.apply_stock_changes([move], reason=reason, actor=actor, at=at, reference=reference)
    return changed[0] if changed else level


@transaction.atomic
def adjust_available(
    item_id: int,
    location_id: int,
    delta: int,
    *,
    actor: str,
    at: datetime,
    reason: Reason = Reason.CORRECTION,
    reference: str = "",
) -> InventoryLevel:
    """Change the available quantity by ``delta``. Concurrent adjustments add up."""
    moves = [StockChange(item_id, location_id, delta)]
    changed = movements.apply_stock_changes(moves, reason=reason, actor=actor, at=at, reference=reference)
    return changed[0] if changed else _get_level(item_id, location_id)


@transaction.atomic
def connect_item(
    item: InventoryItem, location: Location, *, actor: str, at: datetime, relocate: bool = False
) -> InventoryLevel:
    """Connect an item to a location, unless the location already stocks the item.

    Without ``relocate``, ``NotShared`` is raised if another location stocks the item and one of the two does not share
    items. With ``relocate``, the item is disconnected from the locations that cannot share it.
    """
    # Lock the item. Otherwise concurrent calls would not see each other's uncommitted levels, and both would succeed.
    lock_items([item.pk])
    if existing := _LEVEL.fetch(item.pk, location.pk):
        return existing[0]
    other_levels = list(InventoryLevel.objects.filter(item=item).select_related("location").order_by("location_id"))
    conflicting = [level for level in other_levels if not may_share(location, level.location)]
    if conflicting and not relocate:
        names = ", ".join(level.location.name for level in conflicting)
        raise NotShared(NOT_SHARED(names=names, name=location.name))
    for level in conflicting:
        remove_from_location(item, level.location, actor=actor, at=at)
    level = movements.get_or_create_level(item.pk, location.pk, actor=actor, at=at)
    movements.lock_active_locations([location.pk])
    return level


def may_share(first: Location, second: Location) -> bool:
    """Return True if both locations may stock the same item."""
    return first.permits_sku_sharing and second.permits_sku_sharing


@transaction.atomic
def disconnect_item(item: InventoryItem, location: Location, *, actor: str, at: datetime) -> None:
    """Disconnect an item from a location and record the removal of the remaining quantity."""
    lock_items([item.pk])
    if list(InventoryLevel.objects.filter(item=item).values_list("location_id", flat=True)[:2]) == [location.pk]:
        raise LastLevel(_("{name} is the only location that stocks the item.").format(name=location.name))
    remove_from_location(item, location, actor=actor, at=at)


def remove_from_location(item: InventoryItem, location: Location, *, actor: str, at: datetime) -> None:
    """Disconnect an item from a location, even if no other location stocks it.

    Call this function only before connecting the item to another location or deleting this location.
    """
    # Lock the item, because other transactions lock items to prevent the deletion of levels.
    lock_items([item.pk])
    level = InventoryLevel.objects.select_for_update().filter(item=item, location=location).first()
    if level is None:
        raise NotStocked(NOT_STOCKED)
    remove_levels([level], actor=actor, at=at)


def remove_levels(levels: Sequence[InventoryLevel], *, actor: str, at: datetime) -> None:
    """Delete locked levels, and record the removal of the remaining quantities. See ``remove_from_location``."""
    record_events([EventInput(DISCONNECTED, level) for level in levels], actor=actor, at=at)
    moves = [StockChange(level.item_id, level.location_id, -level.available) for level in levels if level.available]
    deltas: dict[int, int] = {}
    for move in moves:
        deltas[move.item_id] = deltas.get(move.item_id, 0) + move.delta
    with collect_statements() as batch:
        movements.insert_movements(moves, [0] * len(moves), batch=batch, reason=Reason.DISCONNECTED, actor=actor, at=at)
    delete_rows(levels)
    notify_stock_listeners(deltas, actor=actor, at=at)


def lock_items(item_ids: Iterable[int]) -> None:
    """Lock items, so that no level is created or deleted. Inventory changes can still be inserted.

    Call this function before locking levels.
    """
    ids = set(item_ids)
    if len(_LOCK_ITEMS.fetch(list(ids))) < len(ids):
        raise RowDeleted


@transaction.atomic
def create_items(
    rows: Sequence[Attrs], *, actor: str, at: datetime, location_ids: Mapping[int, int] | None = None
) -> list[InventoryItem]:
    """Create items, each with a level of 0 at a location.

    ``location_ids`` is keyed by the index of the row. The default location is the shop's primary location.
    """
    shop = get_current_shop()
    items = InventoryItem.objects.bulk_create([InventoryItem(shop_id=shop.pk, created_at=at, **row) for row in rows])
    primary, other_ids = lock_primary_location(), location_ids or {}
    movements.lock_active_locations(other_ids.values())
    is_low = low_stock.is_new_level_low()
    levels = InventoryLevel.objects.bulk_create(
        [
            InventoryLevel(
                shop_id=shop.pk,
                item_id=item.pk,
                location_id=other_ids.get(index, primary),
                is_low=is_low,
                created_at=at,
            )
            for index, item in enumerate(items)
        ]
    )
    item_events = [EventInput("inventory_items/create", item) for item in items]
    record_events(
        [*item_events, *(EventInput("inventory_levels/connect", level) for level in levels)], actor=actor, at=at
    )
    return items


@transaction.atomic
def update_item(item: InventoryItem, attrs: Attrs, *, actor: str, at: datetime) -> InventoryItem:
    refresh_for_update(item, no_key=True)
    update_items([(item, attrs)], actor=actor, at=at)
    return item


@transaction.atomic
def update_items(requested: Iterable[tuple[InventoryItem, Attrs]], *, actor: str, at: datetime) -> bool:
    """Update locked items in place, each with the given column values. Return True if anything changed."""
    changed = [(item, changes) for item, attrs in requested if (changes := apply_changes(item, attrs))]
    if not changed:
        return False
    names = {name for _, changes in changed for name in changes}
    InventoryItem.objects.bulk_update([item for item, _ in changed], sorted(names))
    notify_item_listeners([item.pk for item, _ in changed], actor=actor, at=at)
    events = [EventInput("inventory_items/update", item, changes) for item, changes in changed]
    record_events(events, actor=actor, at=at)
    return True


@transaction.atomic
def delete_items(item_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    """Delete items with their levels and inventory changes. Rows that refer to the items must already be deleted."""
    items = list(InventoryItem.objects.select_for_update().filter(pk__in=item_ids).order_by("pk"))
    if has_audience(DISCONNECTED):
        levels = InventoryLevel.objects.filter(item__in=items).order_by("item_id", "location_id")
        record_events([EventInput(DISCONNECTED, level) for level in levels], actor=actor, at=at)
    record_events([EventInput("inventory_items/delete", item) for item in items], actor=actor, at=at)
    delete_rows(items)


def check_cost_decimals(shop: Shop, currency: str) -> str | None:
    """Return an objection to a currency with fewer decimals than the stored costs, or None."""
    finer = has_finer_amounts(InventoryItem.objects.all(), "cost", currency)
    return _("some items have costs with more decimal places than the currency allows") if finer else None


def get_primary_location() -> Location:
    """Return the active location where new items of the current shop are stocked."""
    return Location.objects.get(pk=_get_primary_location_id())


def lock_primary_location() -> int:
    """Lock the primary location so that it stays active until the commit, and return its id."""
    primary = _get_primary_location_id()
    try:
        movements.lock_active_locations([primary])
    except movements.LocationInactive:
        primary = _get_primary_location_id()
        movements.lock_active_locations([primary])
    return primary


def _get_primary_location_id() -> int:
    # Query the database, because the shop instance of the current scope may be outdated.
    pk = Shop.objects.values_list("primary_location_id", flat=True).get(pk=get_current_shop().pk)
    if pk is None:
        raise Location.DoesNotExist("The shop has no primary location")
    return pk


def _get_level(item_id: int, location_id: int) -> InventoryLevel:
    levels = _LEVEL.fetch(item_id, location_id)
    if not levels:
        raise NotStocked(NOT_STOCKED)
    return levels[0]
