"""The one writer of stock: applies movements to levels, all or none, each with its row in the ledger.

Locks are taken in one order by everybody: items where levels come or go, levels by item and location, then what the
listeners change, then locations. The guard against negative stock stands inside the UPDATE, so of two takers of the
last piece one finds no row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Sum
from django.utils.translation import gettext as _

from apps.events.domain.recording import Happening, record_event, record_events
from apps.ground.errors import DomainError
from apps.ground.phrases import between
from apps.ground.rows import fresh_version
from apps.ground.sql import execute, execute_each
from apps.ground.statements import Instances
from apps.ground.tenancy import current_shop
from apps.inventory.domain import low
from apps.inventory.domain.listeners import tell_stock
from apps.inventory.models import MAX_AVAILABLE, InventoryLevel, Location, StockMovement

Reason = StockMovement.Reason
_LEVELS = Instances(
    InventoryLevel,
    lambda items, places: InventoryLevel.objects.filter(item_id__any=items, location_id__any=places).order_by(
        "item_id", "location_id"
    ),
    list,
    list,
)


class OutOfStock(DomainError):
    """Fewer are available than are asked for."""

    code = "out_of_stock"
    field = "available"


class NotStocked(DomainError):
    """The item is not connected with the location."""

    code = "not_stocked"


class LocationInactive(DomainError):
    """A deactivated location stocks nothing."""

    code = "location_inactive"
    field = "location_id"


class QuantityOutOfRange(DomainError):
    """The level would leave the range that a level can have."""

    code = "quantity_out_of_range"
    field = "available"


@dataclass(frozen=True, slots=True)
class Move:
    """A change of one level.

    Attributes:
        item_id: What is moved.
        location_id: Where.
        delta: How many more (fewer, if negative) are available then.
        may_oversell: Whether the level may fall below zero by it.
        connect: Whether an item that the location does not stock is connected first, and not refused.
    """

    item_id: int
    location_id: int
    delta: int
    may_oversell: bool = False
    connect: bool = False


def apply(
    moves: Iterable[Move], *, reason: Reason, actor: str, at: datetime, reference: str = ""
) -> list[InventoryLevel]:
    """Apply movements; all or none. Call it once per transaction, so that two callers cannot deadlock.

    Args:
        moves: What changes; those that change nothing leave no row.
        reason: Why, for the ledger.
        actor: Who, for the ledger.
        at: When.
        reference: What the movements belong to, e.g. an order's name.

    Returns:
        The changed levels as they are now, by item and location.

    Raises:
        OutOfStock: A level would fall below zero and may not.
        NotStocked: An item is not connected with the location.
        LocationInactive: A location is deactivated.
        QuantityOutOfRange: A level would leave the possible range.
    """
    ordered = sorted((move for move in moves if move.delta), key=lambda move: (move.item_id, move.location_id))
    _connect(ordered, actor=actor, at=at)
    _change_all(ordered, at)
    levels = _read(ordered)
    write_movements(ordered, levels, reason=reason, actor=actor, at=at, reference=reference)
    changes: dict[int, int] = {}
    for move in ordered:
        changes[move.item_id] = changes.get(move.item_id, 0) + move.delta
    tell_stock(changes, actor=actor, at=at)
    hold_active({move.location_id for move in ordered})
    record_events([Happening("inventory_levels/update", level) for level in levels.values()], actor=actor, at=at)
    return list(levels.values())


def connect_level(item_id: int, location_id: int, *, actor: str, at: datetime) -> InventoryLevel:
    """The level of an item at a location, made where there is none yet."""
    level, made = InventoryLevel.objects.get_or_create(
        item_id=item_id,
        location_id=location_id,
        defaults={"shop": current_shop(), "created_at": at, "is_low": low.is_new_low()},
    )
    if made:
        record_event("inventory_levels/connect", level, actor=actor, at=at)
    return level


def _connect(moves: Sequence[Move], *, actor: str, at: datetime) -> None:
    """Make the levels that moves may make, and that there are not yet."""
    wanted = [move for move in moves if move.connect]
    present = _read(wanted) if wanted else {}
    absent = sorted({(move.item_id, move.location_id) for move in wanted} - present.keys())
    if not absent:
        return
    shop, is_low = current_shop(), low.is_new_low()
    rows = [
        InventoryLevel(shop=shop, item_id=item, location_id=place, is_low=is_low, created_at=at)
        for item, place in absent
    ]
    try:
        with transaction.atomic():
            made = InventoryLevel.objects.bulk_create(rows)
    except IntegrityError:
        # Somebody else has connected some of them meanwhile: one by one it shows which.
        for item, place in absent:
            connect_level(item, place, actor=actor, at=at)
    else:
        record_events([Happening("inventory_levels/connect", level) for level in made], actor=actor, at=at)


def _change_all(moves: Sequence[Move], at: datetime) -> None:
    """Change the levels together; where one must not be changed, one by one, which finds out why."""
    if len(moves) == 1:
        if _changed_together(moves, at):
            return
    elif moves:
        with transaction.atomic():
            if _changed_together(moves, at) == len(moves):
                return
            transaction.set_rollback(True)
    for move in moves:
        _change(move, at)


def _changed_together(moves: Sequence[Move], at: datetime) -> int:
    """The guarded UPDATE of several levels, in their order; how many it met."""
    shop = current_shop().pk
    same = connection.ops.adapt_datetimefield_value(at), fresh_version(), shop
    return execute_each(
        "UPDATE inventory_inventorylevel SET available = available + %s, updated_at = %s, version = %s, "
        "is_low = EXISTS(SELECT 1 FROM shops_shop WHERE id = %s AND low_stock_at >= available + %s) "
        "WHERE shop_id = %s AND item_id = %s AND location_id = %s AND available BETWEEN %s AND %s",
        [(move.delta, *same, move.delta, shop, move.item_id, move.location_id, *_bounds(move)) for move in moves],
    )


def _bounds(move: Move) -> tuple[int, int]:
    """The least and the most that may be available before a move."""
    least = -MAX_AVAILABLE - move.delta
    return max(least, -move.delta) if move.delta < 0 and not move.may_oversell else least, MAX_AVAILABLE - move.delta


def _change(move: Move, at: datetime) -> None:
    """The guarded UPDATE of one level; finds out why where it met no row."""
    level = InventoryLevel.objects.filter(item_id=move.item_id, location_id=move.location_id)
    if level.filter(available__range=_bounds(move)).update(
        available=F("available") + move.delta, is_low=low.falls_low(move.delta), updated_at=at
    ):
        return
    found = level.first()
    if found is None:
        raise NotStocked(_("The item is not stocked at this location."))
    if move.delta < 0 and not move.may_oversell and found.available + move.delta < 0:
        text = _("is not enough: {available} of {wanted} available")
        raise OutOfStock(text.format(available=found.available, wanted=-move.delta))
    raise QuantityOutOfRange(between(-MAX_AVAILABLE, MAX_AVAILABLE))


def _read(moves: Sequence[Move]) -> dict[tuple[int, int], InventoryLevel]:
    """The levels as they are now, locked by the updates before."""
    items, places = {move.item_id for move in moves}, {move.location_id for move in moves}
    wanted = {(move.item_id, move.location_id) for move in moves}
    rows = _LEVELS.fetch(sorted(items), sorted(places))
    return {key: row for row in rows if (key := (row.item_id, row.location_id)) in wanted}


def write_movements(
    moves: Sequence[Move],
    levels: Mapping[tuple[int, int], InventoryLevel],
    *,
    reason: Reason,
    actor: str,
    at: datetime,
    reference: str = "",
) -> None:
    """Write the ledger's rows for moves that are done already."""
    shop = current_shop()
    left = {key: level.available for key, level in levels.items()}
    rows = []
    for move in reversed(moves):
        key = (move.item_id, move.location_id)
        rows.append(
            StockMovement(
                shop=shop,
                item_id=move.item_id,
                location_id=move.location_id,
                delta=move.delta,
                available=left[key],
                reason=reason,
                actor=actor,
                reference=reference,
                at=at,
                created_at=at,
            )
        )
        left[key] -= move.delta
    StockMovement.objects.bulk_create(reversed(rows))


def hold_active(location_ids: Iterable[int]) -> None:
    """Refuse deactivated locations, and keep the others from being deactivated until the commit.

    The rows are locked for sharing: this waits for a deactivation that is under way and sees its outcome, and one that
    comes later waits and sees the stock. The foreign keys alone would not do, as they are checked at the commit only.
    """
    ids = sorted(set(location_ids))
    if not ids:
        return
    if connection.vendor == "postgresql":
        active = "SELECT active FROM inventory_location WHERE shop_id = %s AND id = ANY(%s) ORDER BY id FOR SHARE"
        refused = not all(row[0] for row in execute(active, [current_shop().pk, ids]))
    else:
        refused = Location.objects.filter(pk__in=ids, active=False).exists()
    if refused:
        raise LocationInactive(_("is not active"))


def total_available(item_ids: Iterable[int]) -> dict[int, int]:
    """How many of each item are available at all locations together; 0 for one that is stocked nowhere."""
    ids = list(item_ids)
    rows = InventoryLevel.objects.filter(item_id__in=ids).order_by().values_list("item_id").annotate(Sum("available"))
    return dict.fromkeys(ids, 0) | dict(rows)
