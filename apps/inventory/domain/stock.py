"""What can be done with stock: count it, adjust it, move it, take it for an order, put it back.

Each function is one transaction, leaves a row in the ledger for every changed level and an event for it. Several levels
that change together go through one call of ``apps.inventory.domain.movements.apply``.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.domain.changes import assign
from apps.events.domain.recording import Happening, record_event, record_events
from apps.ground.attrs import Attrs
from apps.ground.batches import together
from apps.ground.errors import DomainError, Gone
from apps.ground.locks import reread
from apps.ground.phrases import at_least, at_most
from apps.ground.rows import delete_rows
from apps.ground.statements import Instances, Statement
from apps.ground.tenancy import current_shop
from apps.inventory.domain import low, movements
from apps.inventory.domain.listeners import tell_items, tell_stock
from apps.inventory.domain.movements import Move, NotStocked, QuantityOutOfRange, total_available
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location, StockMovement
from apps.shops.domain.currency import has_finer_amounts
from apps.shops.models import Shop

__all__ = [
    "CONTINUE",
    "DENY",
    "LastLevel",
    "NotShared",
    "adjust",
    "connect",
    "create_items",
    "delete_items",
    "disconnect",
    "hold_primary",
    "lock_items",
    "primary_location",
    "put_back",
    "set_available",
    "take",
    "total_available",
    "update_item",
    "update_items",
]

Reason = StockMovement.Reason
_HELD_ITEMS: Statement[tuple[int]] = Statement(
    lambda items: (
        InventoryItem.objects.select_for_update(no_key=True).filter(pk__any=items).order_by("pk").values_list("pk")
    ),
    list,
)
_LEVEL = Instances(
    InventoryLevel, lambda item, place: InventoryLevel.objects.filter(item=item, location=place), int, int
)
_HELD_LEVEL = Instances(
    InventoryLevel,
    lambda item, place: InventoryLevel.objects.select_for_update().filter(item=item, location=place),
    int,
    int,
)
# What a variant says about selling more than there is.
DENY, CONTINUE = "deny", "continue"


class LastLevel(DomainError):
    """An item is stocked somewhere as long as it lives."""

    code = "last_level"


class NotShared(DomainError):
    """The item would lie at two locations of which one does not share its items."""

    code = "not_shared"


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
    """Set a level to what was counted; the location stocks the item from then on.

    Args:
        item: What was counted.
        location: Where.
        available: How many.
        actor: Who, for the ledger.
        at: When.
        reason: Why, for the ledger.
        reference: What it belongs to.
        relocate: As of ``connect``.

    Raises:
        Gone: The item was deleted meanwhile.
        QuantityOutOfRange: The number is below zero or too large.
        LocationInactive: The location is deactivated.
        NotShared: The item lies at a location that does not share its items, and must not be relocated.
    """
    if available < 0:
        raise QuantityOutOfRange(at_least(0))
    if available > MAX_AVAILABLE:
        raise QuantityOutOfRange(at_most(MAX_AVAILABLE))
    connect(item, location, actor=actor, at=at, relocate=relocate)
    (level,) = _HELD_LEVEL.fetch(item.pk, location.pk)
    move = Move(item.pk, location.pk, available - level.available)
    changed = movements.apply([move], reason=reason, actor=actor, at=at, reference=reference)
    return changed[0] if changed else level


@transaction.atomic
def adjust(
    item_id: int,
    location_id: int,
    delta: int,
    *,
    actor: str,
    at: datetime,
    reason: Reason = Reason.CORRECTION,
    reference: str = "",
) -> InventoryLevel:
    """Add to a level, or take away; of simultaneous adjustments none is lost.

    Raises:
        NotStocked: The location does not stock the item, or there are none of these ids.
        OutOfStock: The level would fall below zero.
        QuantityOutOfRange: The level would be too large.
        LocationInactive: The location is deactivated.
    """
    moves = [Move(item_id, location_id, delta)]
    changed = movements.apply(moves, reason=reason, actor=actor, at=at, reference=reference)
    return changed[0] if changed else _level(item_id, location_id)


@transaction.atomic
def take(
    item: InventoryItem,
    location: Location,
    quantity: int,
    *,
    policy: str,
    actor: str,
    at: datetime,
    reference: str = "",
) -> InventoryLevel | None:
    """Take units for an order.

    Args:
        item: What was sold; of an untracked item nothing is taken.
        location: Where it is taken from.
        quantity: How many.
        policy: ``deny`` never goes below zero; ``continue`` may, and sells what the location does not stock.
        actor: Who, for the ledger.
        at: When.
        reference: The order's name.

    Raises:
        OutOfStock: There are fewer, under ``deny``.
        NotStocked: The location does not stock the item, under ``deny``.
        LocationInactive: The location is deactivated.
    """
    if not item.tracked:
        return None
    oversells = policy == CONTINUE
    move = Move(item.pk, location.pk, -quantity, may_oversell=oversells, connect=oversells)
    changed = movements.apply([move], reason=Reason.SALE, actor=actor, at=at, reference=reference)
    return changed[0] if changed else None


@transaction.atomic
def put_back(
    item: InventoryItem, location: Location, quantity: int, *, actor: str, at: datetime, reference: str = ""
) -> InventoryLevel | None:
    """Put units back on the shelf, at a location that need not have stocked them; None for an untracked item.

    Raises:
        LocationInactive: The location is deactivated.
    """
    if not item.tracked:
        return None
    move = Move(item.pk, location.pk, quantity, connect=True)
    changed = movements.apply([move], reason=Reason.RESTOCK, actor=actor, at=at, reference=reference)
    return changed[0] if changed else None


@transaction.atomic
def connect(
    item: InventoryItem, location: Location, *, actor: str, at: datetime, relocate: bool = False
) -> InventoryLevel:
    """Let a location stock an item; nothing happens where it does already.

    Args:
        item: What.
        location: Where.
        actor: Who, for the ledger.
        at: When.
        relocate: Where the item cannot lie at both, take it off its other locations.

    Raises:
        Gone: The item was deleted meanwhile.
        LocationInactive: The location is deactivated.
        NotShared: The item lies at another location, one of the two does not share its items, and it must not be
            relocated.
    """
    # Two locations connected at once would each see no other.
    lock_items([item.pk])
    if known := _LEVEL.fetch(item.pk, location.pk):
        return known[0]
    others = list(InventoryLevel.objects.filter(item=item).select_related("location").order_by("location_id"))
    if not location.permits_sku_sharing:
        in_the_way = others
    else:
        in_the_way = [level for level in others if not level.location.permits_sku_sharing]
    if in_the_way and not relocate:
        names = ", ".join(level.location.name for level in in_the_way)
        text = _("The item is stocked at {names}, which excludes {name}.")
        raise NotShared(text.format(names=names, name=location.name))
    for level in in_the_way:
        take_off(item, level.location, actor=actor, at=at)
    level = movements.connect_level(item.pk, location.pk, actor=actor, at=at)
    movements.hold_active([location.pk])
    return level


@transaction.atomic
def disconnect(item: InventoryItem, location: Location, *, actor: str, at: datetime) -> None:
    """Let a location stock an item no longer; what is left there leaves the books.

    Raises:
        Gone: The item was deleted meanwhile.
        NotStocked: The location does not stock the item.
        LastLevel: No other location stocks it.
    """
    lock_items([item.pk])
    if list(InventoryLevel.objects.filter(item=item).values_list("location_id", flat=True)[:2]) == [location.pk]:
        raise LastLevel(_("{name} is the only location that stocks the item.").format(name=location.name))
    take_off(item, location, actor=actor, at=at)


def take_off(item: InventoryItem, location: Location, *, actor: str, at: datetime) -> None:
    """Take an item off a location, be it the last one: where another follows, or the location itself goes."""
    # Whoever holds the item may rely on its levels' being there.
    lock_items([item.pk])
    level = InventoryLevel.objects.select_for_update().filter(item=item, location=location).first()
    if level is None:
        raise NotStocked(_("The item is not stocked at this location."))
    left = level.available
    record_event("inventory_levels/disconnect", level, actor=actor, at=at)
    if left:
        move = Move(item.pk, location.pk, -left)
        with together() as batch:
            movements.write_movements([move], [0], batch=batch, reason=Reason.DISCONNECTED, actor=actor, at=at)
    level.delete()
    tell_stock({item.pk: -left}, actor=actor, at=at)


def lock_items(item_ids: Iterable[int]) -> None:
    """Hold items, so that no level of theirs comes or goes, before any level is locked.

    Rows that refer to them may still be added: movements.

    Raises:
        Gone: One was deleted meanwhile.
    """
    wanted = set(item_ids)
    if len(_HELD_ITEMS.fetch(list(wanted))) < len(wanted):
        raise Gone


@transaction.atomic
def create_items(rows: Sequence[Attrs], *, actor: str, at: datetime) -> list[InventoryItem]:
    """Make items, each stocked, with none available yet, at the shop's primary location.

    Args:
        rows: The columns of each item.
        actor: Who.
        at: When.
    """
    shop = current_shop()
    items = InventoryItem.objects.bulk_create([InventoryItem(shop_id=shop.pk, created_at=at, **row) for row in rows])
    primary = hold_primary()
    is_low = low.is_new_low()
    levels = InventoryLevel.objects.bulk_create(
        [
            InventoryLevel(shop_id=shop.pk, item_id=item.pk, location_id=primary, is_low=is_low, created_at=at)
            for item in items
        ]
    )
    made = [Happening("inventory_items/create", item) for item in items]
    record_events([*made, *(Happening("inventory_levels/connect", level) for level in levels)], actor=actor, at=at)
    return items


@transaction.atomic
def update_item(item: InventoryItem, attrs: Attrs, *, actor: str, at: datetime) -> InventoryItem:
    """Change an item in place; what shows its data, such as its variant, is told.

    Raises:
        Gone: It was deleted meanwhile.
    """
    reread(item, no_key=True)
    update_items([(item, attrs)], actor=actor, at=at)
    return item


@transaction.atomic
def update_items(wanted: Iterable[tuple[InventoryItem, Attrs]], *, actor: str, at: datetime) -> bool:
    """Change items in place, each to columns of its own; the caller holds them. Returns whether any differed."""
    changed = [(item, changes) for item, attrs in wanted if (changes := assign(item, attrs))]
    if not changed:
        return False
    names = {name for _, changes in changed for name in changes}
    InventoryItem.objects.bulk_update([item for item, _ in changed], sorted(names))
    tell_items([item.pk for item, _ in changed])
    happened = [Happening("inventory_items/update", item, changes) for item, changes in changed]
    record_events(happened, actor=actor, at=at)
    return True


@transaction.atomic
def delete_items(item_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    """Delete items with their levels and their ledger; call it once what they belonged to is gone."""
    items = list(InventoryItem.objects.select_for_update().filter(pk__in=item_ids).order_by("pk"))
    record_events([Happening("inventory_items/delete", item) for item in items], actor=actor, at=at)
    delete_rows(items)


def object_to_currency(shop: Shop, currency: str) -> str | None:
    """Why the shop's currency cannot change: what items cost could not be written in the new one."""
    finer = has_finer_amounts(InventoryItem.objects.all(), "cost", currency)
    return _("some items have costs with more decimals than it has") if finer else None


def primary_location() -> Location:
    """The active location where new items of the current shop are stocked."""
    return Location.objects.get(pk=_primary())


def hold_primary() -> int:
    """The id of the primary location, which stays active until the transaction ends.

    Raises:
        LocationInactive: It, and then its heir, were deactivated at this moment.
    """
    primary = _primary()
    try:
        movements.hold_active([primary])
    except movements.LocationInactive:
        primary = _primary()
        movements.hold_active([primary])
    return primary


def _primary() -> int:
    # Read afresh: the shop of the scope may be older than its present primary location.
    pk = Shop.objects.values_list("primary_location_id", flat=True).get(pk=current_shop().pk)
    if pk is None:
        raise Location.DoesNotExist("The shop has no primary location")
    return pk


def _level(item_id: int, location_id: int) -> InventoryLevel:
    found = _LEVEL.fetch(item_id, location_id)
    if not found:
        raise NotStocked(_("The item is not stocked at this location."))
    return found[0]
