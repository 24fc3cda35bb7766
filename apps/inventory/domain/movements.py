"""Change inventory levels, and record each change in the ledger. No other module changes quantities.

A call makes either all changes or none.

All code acquires locks in the same order: first items (if levels are created or deleted), then levels sorted by item
and location, then rows that the listeners change, and finally locations. The UPDATE itself prevents negative stock: if
two transactions sell the last unit concurrently, only the first UPDATE matches the row.

Concurrent changes to the same level wait for the lock. The code therefore makes only two round trips to the database
while the level is locked: the UPDATE that locks and returns the level, and one batch with all other statements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from apps.core.db.compiled_queries import CompiledModelQuery, bind_ids, build_returning_clause, get_any_operator
from apps.core.db.prepared_sql import Rows, StatementCall, execute_batch
from apps.core.db.statement_batches import StatementBatch, collect_statements, should_change_together
from apps.core.events.recording import EventInput, record_event, record_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import between
from apps.core.i18n.messages import define_message, define_text
from apps.core.models import create_version
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.domain import low_stock
from apps.inventory.domain.hooks import notify_stock_listeners
from apps.inventory.domain.low_stock import LevelKey
from apps.inventory.models import MAX_AVAILABLE, InventoryLevel, StockMovement

_NOT_ENOUGH = define_message("inventory.not_enough", "is not enough: {available} available, {wanted} requested")
NOT_STOCKED = define_text("inventory.not_stocked", "The item is not stocked at this location.")
_NOT_ACTIVE = define_text("inventory.not_active", "is not active")

Reason = StockMovement.Reason
_LEVELS = CompiledModelQuery(
    InventoryLevel,
    lambda items, locations: InventoryLevel.objects.filter(item_id__any=items, location_id__any=locations).order_by(
        "item_id", "location_id"
    ),
    list,
    list,
)
# ``shop_id + 0`` prevents the use of indexes that begin with the shop, see ``UnindexedExact``.
_CHANGE = (
    "UPDATE inventory_inventorylevel SET available = available + %s, updated_at = %s, version = %s, "  # noqa: S608
    "is_low = EXISTS(SELECT 1 FROM shops_shop WHERE id = %s AND low_stock_at >= available + %s) "
    "WHERE shop_id + 0 = %s AND item_id = %s AND location_id = %s AND available BETWEEN %s AND %s "
    + build_returning_clause(InventoryLevel)
)
# The same for many levels, on PostgreSQL. An UPDATE locks rows in any order, so the levels are locked first.
_LOCK_TOGETHER = """
SELECT FROM inventory_inventorylevel
WHERE shop_id + 0 = %s AND (item_id, location_id) IN (SELECT * FROM unnest(%s::bigint[], %s::bigint[]))
ORDER BY item_id, location_id
FOR NO KEY UPDATE
"""
_CHANGE_TOGETHER = (
    "UPDATE inventory_inventorylevel SET available = available + delta, updated_at = %s, version = %s, "  # noqa: S608
    "is_low = EXISTS(SELECT 1 FROM shops_shop WHERE id = %s AND low_stock_at >= available + delta) "
    "FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::bigint[], %s::bigint[]) "
    "AS c (item, location, delta, least, most) "
    "WHERE shop_id + 0 = %s AND item_id = item AND location_id = location AND available BETWEEN least AND most "
    + build_returning_clause(InventoryLevel)
)


class OutOfStock(DomainError):
    field = "available"


class NotStocked(DomainError):
    pass


class LocationInactive(DomainError):
    field = "location_id"


class QuantityOutOfRange(DomainError):
    field = "available"


@dataclass(frozen=True, slots=True)
class StockChange:
    """A change to one inventory level. ``may_oversell`` allows a negative quantity.

    ``connect`` connects the item to the location if necessary, instead of raising an error.
    """

    item_id: int
    location_id: int
    delta: int
    may_oversell: bool = False
    connect: bool = False

    @property
    def key(self) -> LevelKey:
        return self.item_id, self.location_id


def apply_stock_changes(
    moves: Iterable[StockChange],
    *,
    reason: Reason,
    actor: str,
    at: datetime,
    reference: str = "",
    other_locations: Iterable[int] = (),
) -> list[InventoryLevel]:
    """Make either all changes or none, and return the changed levels, sorted by item and location.

    Call this function only once per transaction, to avoid deadlocks. A change of 0 is ignored. The ledger records the
    reason, the actor and the reference (for example the name of an order). The locations of the changes and
    ``other_locations`` must be active, and stay active until the commit.

    Raises:
        OutOfStock: A level would become negative, and overselling is not allowed.
        NotStocked: An item is not connected to the location.
        LocationInactive: A location is inactive.
        QuantityOutOfRange: A level would be outside the allowed range.
    """
    ordered = sorted((move for move in moves if move.delta), key=lambda move: move.key)
    connect_missing(ordered, actor=actor, at=at)
    changed = _update_levels(ordered, at)
    # If a level was changed several times, the dict contains the level after the last change.
    levels = {move.key: level for move, level in zip(ordered, changed, strict=True)}
    deltas: dict[int, int] = {}
    level_deltas: dict[LevelKey, int] = {}
    for move in ordered:
        deltas[move.item_id] = deltas.get(move.item_id, 0) + move.delta
        level_deltas[move.key] = level_deltas.get(move.key, 0) + move.delta
    with collect_statements() as batch:
        quantities = [level.available for level in changed]
        insert_movements(ordered, quantities, batch=batch, reason=reason, actor=actor, at=at, reference=reference)
        notify_stock_listeners(deltas, batch=batch, actor=actor, at=at)
        low_stock.notify_low_stock_listeners(levels, level_deltas, batch=batch, actor=actor, at=at)
        lock_active_locations({*other_locations, *(move.location_id for move in ordered)}, batch=batch)
        events = [
            EventInput(
                "inventory_levels/update", level, {"available": [level.available - level_deltas[key], level.available]}
            )
            for key, level in levels.items()
        ]
        record_events(events, batch=batch, actor=actor, at=at)
    return list(levels.values())


def get_or_create_level(item_id: int, location_id: int, *, actor: str, at: datetime) -> InventoryLevel:
    level, is_new = InventoryLevel.objects.get_or_create(
        item_id=item_id,
        location_id=location_id,
        defaults={"shop": get_current_shop(), "created_at": at, "is_low": low_stock.is_new_level_low()},
    )
    if is_new:
        record_event("inventory_levels/connect", level, actor=actor, at=at)
    return level


def connect_missing(moves: Sequence[StockChange], *, actor: str, at: datetime) -> None:
    """Connect the items of changes with ``connect`` to the locations that do not stock them yet."""
    connecting = [move for move in moves if move.connect]
    present = _get_levels(connecting) if connecting else {}
    absent = sorted({move.key for move in connecting} - present.keys())
    if not absent:
        return
    shop, is_low = get_current_shop(), low_stock.is_new_level_low()
    rows = [
        InventoryLevel(shop=shop, item_id=item, location_id=location, is_low=is_low, created_at=at)
        for item, location in absent
    ]
    try:
        with transaction.atomic():
            levels = InventoryLevel.objects.bulk_create(rows)
    except IntegrityError:
        # Another transaction has already connected some of the items, so connect the items one by one.
        for item, location in absent:
            get_or_create_level(item, location, actor=actor, at=at)
    else:
        record_events([EventInput("inventory_levels/connect", level) for level in levels], actor=actor, at=at)


def _update_levels(moves: Sequence[StockChange], at: datetime) -> list[InventoryLevel]:
    """Change the levels, which also locks them. Return the levels after each change."""
    if should_change_together(len(moves)) and len({move.key for move in moves}) == len(moves):
        return _update_together(moves, at)
    shop = get_current_shop().pk
    shared_params = connection.ops.adapt_datetimefield_value(at), create_version(), shop
    calls = [
        StatementCall(_CHANGE, [move.delta, *shared_params, move.delta, shop, *move.key, *_get_allowed_range(move)])
        for move in moves
    ]
    results = execute_batch(calls)
    for index, (move, rows) in enumerate(zip(moves, results, strict=True)):
        if not rows:
            later_results = zip(moves[index + 1 :], results[index + 1 :], strict=True)
            raise _build_error(
                move,
                since=sum(
                    later_move.delta
                    for later_move, later_rows in later_results
                    if later_rows and later_move.key == move.key
                ),
            )
    return _LEVELS.build_returned_instances([row for (row,) in results])


def _update_together(moves: Sequence[StockChange], at: datetime) -> list[InventoryLevel]:
    """Change different levels with one statement, after another has locked them in order."""
    shop = get_current_shop().pk
    items, locations = [move.item_id for move in moves], [move.location_id for move in moves]
    least, most = map(list, zip(*map(_get_allowed_range, moves), strict=True))
    changes = [items, locations, [move.delta for move in moves], least, most]
    _, rows = execute_batch(
        [
            StatementCall(_LOCK_TOGETHER, [shop, items, locations]),
            StatementCall(_CHANGE_TOGETHER, [at, create_version(), shop, *changes, shop]),
        ]
    )
    levels = {(level.item_id, level.location_id): level for level in _LEVELS.build_returned_instances(rows)}
    for move in moves:
        if move.key not in levels:
            raise _build_error(move, since=0)
    return [levels[move.key] for move in moves]


def _get_allowed_range(move: StockChange) -> tuple[int, int]:
    """Return the lowest and highest current quantity at which the change is allowed."""
    least = -MAX_AVAILABLE - move.delta
    return max(least, -move.delta) if move.delta < 0 and not move.may_oversell else least, MAX_AVAILABLE - move.delta


def _build_error(move: StockChange, since: int) -> DomainError:
    """Return the error for a change that failed. ``since`` is the sum of the same call's later changes to the level."""
    (item, location) = move.key
    level = InventoryLevel.objects.filter(item_id=item, location_id=location).first()
    if level is None:
        return NotStocked(NOT_STOCKED)
    available = level.available - since
    if move.delta < 0 and not move.may_oversell and available + move.delta < 0:
        return OutOfStock(_NOT_ENOUGH(available=available, wanted=-move.delta))
    return QuantityOutOfRange(between(-MAX_AVAILABLE, MAX_AVAILABLE))


def _get_levels(moves: Sequence[StockChange]) -> dict[LevelKey, InventoryLevel]:
    items, locations = {move.item_id for move in moves}, {move.location_id for move in moves}
    keys = {move.key for move in moves}
    rows = _LEVELS.fetch(sorted(items), sorted(locations))
    return {key: row for row in rows if (key := (row.item_id, row.location_id)) in keys}


def insert_movements(
    moves: Sequence[StockChange],
    quantities: Sequence[int],
    *,
    batch: StatementBatch,
    reason: Reason,
    actor: str,
    at: datetime,
    reference: str = "",
) -> None:
    """Insert a ledger row for each change, with the resulting quantity of the level."""
    shop = get_current_shop()
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
            for move, available in zip(moves, quantities, strict=True)
        ]
    )


def lock_active_locations(location_ids: Iterable[int], *, batch: StatementBatch | None = None) -> None:
    """Check that locations are active, and prevent their deactivation until the commit.

    The rows are locked ``FOR SHARE``. The query waits until a concurrent deactivation has finished, and then reads its
    result. A later deactivation waits for this transaction and then finds the stock. Foreign keys are not sufficient,
    because they do not prevent the deactivation of a location. With a batch, ``LocationInactive`` is raised when the
    batch runs.
    """
    ids = sorted(set(location_ids))
    if not ids:
        return
    share = "FOR SHARE" if connection.vendor == "postgresql" else ""
    condition = f"shop_id + 0 = %s AND id {get_any_operator()}"
    active = f"SELECT active FROM inventory_location WHERE {condition} ORDER BY id {share}"  # noqa: S608
    with collect_statements(batch) as current_batch:
        current_batch.add(StatementCall(active, [get_current_shop().pk, bind_ids(ids)]), _check_active)


def _check_active(rows: Rows) -> None:
    if not all(active for (active,) in rows):
        raise LocationInactive(_NOT_ACTIVE)
