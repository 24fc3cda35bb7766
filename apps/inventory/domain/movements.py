"""The one writer of stock: applies movements to levels, all or none, each with its row in the ledger.

Locks are taken in one order by everybody: items where levels come or go, levels by item and location, then what the
listeners change, then locations. The guard against negative stock stands inside the UPDATE, so of two takers of the
last piece one finds no row.

All who move one item wait for its level. So two trips to the database are made while it is held, whatever is moved: the
UPDATE that takes it returns it, and everything that follows from it goes in one batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from apps.events.domain.recording import Happening, record_event, record_events
from apps.ground.batches import Batch, together
from apps.ground.errors import DomainError
from apps.ground.phrases import between
from apps.ground.rows import fresh_version
from apps.ground.sql import Call, Rows, execute_all
from apps.ground.statements import Instances, any_of, bind_ids, returning
from apps.ground.tenancy import current_shop
from apps.inventory.domain import low
from apps.inventory.domain.listeners import tell_stock
from apps.inventory.models import MAX_AVAILABLE, InventoryLevel, StockMovement

Reason = StockMovement.Reason
Key = tuple[int, int]
_LEVELS = Instances(
    InventoryLevel,
    lambda items, places: InventoryLevel.objects.filter(item_id__any=items, location_id__any=places).order_by(
        "item_id", "location_id"
    ),
    list,
    list,
)
_CHANGE = (
    "UPDATE inventory_inventorylevel SET available = available + %s, updated_at = %s, version = %s, "  # noqa: S608
    "is_low = EXISTS(SELECT 1 FROM shops_shop WHERE id = %s AND low_stock_at >= available + %s) "
    "WHERE shop_id = %s AND item_id = %s AND location_id = %s AND available BETWEEN %s AND %s "
    + returning(InventoryLevel)
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

    @property
    def key(self) -> Key:
        """Which level it changes: item and location."""
        return self.item_id, self.location_id


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
    ordered = sorted((move for move in moves if move.delta), key=lambda move: move.key)
    _connect(ordered, actor=actor, at=at)
    changed = _change(ordered, at)
    # The last movement of a level gave what it is now.
    levels = {move.key: level for move, level in zip(ordered, changed, strict=True)}
    deltas: dict[int, int] = {}
    for move in ordered:
        deltas[move.item_id] = deltas.get(move.item_id, 0) + move.delta
    with together() as batch:
        left = [level.available for level in changed]
        write_movements(ordered, left, batch=batch, reason=reason, actor=actor, at=at, reference=reference)
        tell_stock(deltas, batch=batch, actor=actor, at=at)
        hold_active({move.location_id for move in ordered}, batch=batch)
        happened = [Happening("inventory_levels/update", level) for level in levels.values()]
        record_events(happened, batch=batch, actor=actor, at=at)
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
    absent = sorted({move.key for move in wanted} - present.keys())
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


def _change(moves: Sequence[Move], at: datetime) -> list[InventoryLevel]:
    """The guarded UPDATE of each level, in their order; the levels as they are then, held by it.

    Raises:
        NotStocked: An item is not connected with the location.
        OutOfStock: A level would fall below zero and may not.
        QuantityOutOfRange: A level would leave the possible range.
    """
    shop = current_shop().pk
    same = connection.ops.adapt_datetimefield_value(at), fresh_version(), shop
    calls = [Call(_CHANGE, [move.delta, *same, move.delta, shop, *move.key, *_bounds(move)]) for move in moves]
    found = execute_all(calls)
    for place, (move, rows) in enumerate(zip(moves, found, strict=True)):
        if not rows:
            later = zip(moves[place + 1 :], found[place + 1 :], strict=True)
            raise _refusal(move, since=sum(other.delta for other, met in later if met and other.key == move.key))
    return _LEVELS.returned([row for (row,) in found])


def _bounds(move: Move) -> tuple[int, int]:
    """The least and the most that may be available before a move."""
    least = -MAX_AVAILABLE - move.delta
    return max(least, -move.delta) if move.delta < 0 and not move.may_oversell else least, MAX_AVAILABLE - move.delta


def _refusal(move: Move, since: int) -> DomainError:
    """Why a level was not changed; ``since`` is by how much later movements of the same action changed it."""
    (item, place) = move.key
    found = InventoryLevel.objects.filter(item_id=item, location_id=place).first()
    if found is None:
        return NotStocked(_("The item is not stocked at this location."))
    available = found.available - since
    if move.delta < 0 and not move.may_oversell and available + move.delta < 0:
        text = _("is not enough: {available} of {wanted} available")
        return OutOfStock(text.format(available=available, wanted=-move.delta))
    return QuantityOutOfRange(between(-MAX_AVAILABLE, MAX_AVAILABLE))


def _read(moves: Sequence[Move]) -> dict[Key, InventoryLevel]:
    """The levels that there are of those that are moved."""
    items, places = {move.item_id for move in moves}, {move.location_id for move in moves}
    wanted = {move.key for move in moves}
    rows = _LEVELS.fetch(sorted(items), sorted(places))
    return {key: row for row in rows if (key := (row.item_id, row.location_id)) in wanted}


def write_movements(
    moves: Sequence[Move],
    left: Sequence[int],
    *,
    batch: Batch,
    reason: Reason,
    actor: str,
    at: datetime,
    reference: str = "",
) -> None:
    """Write the ledger's rows for moves that are done already, with what each left at its level."""
    shop = current_shop()
    batch.insert(
        [
            StockMovement(
                shop=shop,
                item_id=move.item_id,
                location_id=move.location_id,
                delta=move.delta,
                available=available,
                reason=reason,
                actor=actor,
                reference=reference,
                at=at,
                created_at=at,
            )
            for move, available in zip(moves, left, strict=True)
        ]
    )


def hold_active(location_ids: Iterable[int], *, batch: Batch | None = None) -> None:
    """Refuse deactivated locations, and keep the others from being deactivated until the commit.

    The rows are locked for sharing: this waits for a deactivation that is under way and sees its outcome, and one that
    comes later waits and sees the stock. The foreign keys alone would not do, as they are checked at the commit only.

    Args:
        location_ids: Which.
        batch: What it is asked with.

    Raises:
        LocationInactive: One is deactivated; with a batch, once that has been run.
    """
    ids = sorted(set(location_ids))
    if not ids:
        return
    share = "FOR SHARE" if connection.vendor == "postgresql" else ""
    active = f"SELECT active FROM inventory_location WHERE shop_id = %s AND id {any_of()} ORDER BY id {share}"  # noqa: S608
    with together(batch) as said:
        said.add(Call(active, [current_shop().pk, bind_ids(ids)]), _refuse_inactive)


def _refuse_inactive(rows: Rows) -> None:
    if not all(active for (active,) in rows):
        raise LocationInactive(_("is not active"))


def total_available(item_ids: Iterable[int]) -> dict[int, int]:
    """How many of each item are available at all locations together; 0 for one that is stocked nowhere."""
    ids = list(item_ids)
    rows = InventoryLevel.objects.filter(item_id__in=ids).order_by().values_list("item_id").annotate(Sum("available"))
    return dict.fromkeys(ids, 0) | dict(rows)
