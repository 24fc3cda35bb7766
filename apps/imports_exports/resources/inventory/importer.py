"""Set the stock of a batch of rows with one lookup, one lock and one stock change."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.catalog.models import Variant
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import COLUMN_ERROR, Message, define_message, define_text, join_messages
from apps.imports_exports.domain.rows import (
    UNCHANGED,
    Body,
    ImportRow,
    RowOutcome,
    RowRefused,
    RowResult,
    create_failed_outcome,
    get_text,
)
from apps.imports_exports.resources.inventory.matching import (
    VariantIndex,
    find_location,
    get_option_values,
    load_locations,
)
from apps.imports_exports.resources.inventory.quantities import get_target, is_not_stocked
from apps.imports_exports.resources.inventory.table import LOCATION
from apps.imports_exports.resources.products.row_changes import OVERSOLD, STOCK_AT
from apps.inventory.domain import movements, stock
from apps.inventory.domain.low_stock import LevelKey
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryItem, InventoryLevel, Location, StockMovement

_TWICE = define_text("inventory_imports.location_twice", "is listed twice")
_NO_LEVELS = define_text("inventory_imports.no_levels", "expected a list of locations with quantities")
_UNTRACKED = define_text(
    "inventory_imports.untracked", "The inventory of this variant is not tracked, so sales do not change its stock"
)
_STILL_STOCKED = define_message(
    "inventory_imports.still_stocked", "The item stays stocked at {name}. Remove the location on the page of the item"
)
_LABEL_PREFIX = "item:"


def get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    """Return a key for each level of a row."""
    variant = "|".join((get_text(body, "sku"), get_text(body, "handle"), *get_option_values(body)))
    levels = body.get("levels")
    places = (
        [str(level.get("location")) for level in levels if isinstance(level, Mapping)]
        if isinstance(levels, list)
        else []
    )
    return [f"{variant}@{place.casefold()}" for place in places] or [row.digest]


@dataclass(slots=True)
class _Request:
    """The quantities that a row sets at locations, and the result of the row so far."""

    variant: Variant
    levels: list[tuple[Location, Mapping[str, object]]]
    moves: list[StockChange] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)

    @property
    def item_id(self) -> int:
        return self.variant.inventory_item_id


def import_rows(rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[RowOutcome]:
    """Change the levels that differ. A dry run also writes, and the caller rolls the changes back."""
    variants, locations = VariantIndex([body for _, body in rows]), load_locations()
    requests: list[_Request | DomainError] = []
    for _, body in rows:
        try:
            requests.append(_Request(variants.find(body), _find_levels(body, locations)))
        except DomainError as error:
            requests.append(error)
    valid_requests = [request for request in requests if isinstance(request, _Request)]
    levels = _LockedLevels(valid_requests)
    outcomes = [_apply(request, levels) for request in requests]
    moves = [
        move
        for request, outcome in zip(requests, outcomes, strict=True)
        if isinstance(request, _Request) and outcome.result != RowResult.FAILED
        for move in request.moves
    ]
    if moves:
        movements.connect_missing(moves, actor=actor, at=at)
        reason = StockMovement.Reason.COUNT
        movements.apply_stock_changes(moves, reason=reason, actor=actor, at=at, reference="Import")
    return outcomes


def _find_levels(
    body: Body, locations: Mapping[str, Sequence[Location]]
) -> list[tuple[Location, Mapping[str, object]]]:
    levels = body.get("levels")
    if not isinstance(levels, list) or not all(isinstance(level, Mapping) for level in levels):
        raise RowRefused(COLUMN_ERROR(column="levels", error=_NO_LEVELS))
    names = (level.get("location") for level in levels)
    found = [
        (find_location(name if isinstance(name, str) else "", locations), level)
        for name, level in zip(names, levels, strict=True)
    ]
    if len({location.pk for location, _level in found}) < len(found):
        raise RowRefused(COLUMN_ERROR(column=LOCATION, error=_TWICE))
    return found


class _LockedLevels:
    """The quantities of the items of a batch, locked until the transaction ends."""

    def __init__(self, requests: Sequence[_Request]) -> None:
        item_ids = {request.item_id for request in requests}
        wanted = {(request.item_id, location.pk) for request in requests for location, _ in request.levels}
        rows = InventoryLevel.objects.filter(item_id__in=item_ids)
        missing = wanted - set(rows.values_list("item_id", "location_id"))
        # Items are locked before levels, and only if a level will be created.
        stock.lock_items({item_id for item_id, _ in missing})
        self.quantities: dict[LevelKey, int] = {}
        self.places: dict[int, list[Location]] = {}
        levels = rows.select_for_update(of=("self",)).select_related("location").order_by("item_id", "location_id")
        for level in levels:
            self.quantities[level.item_id, level.location_id] = level.available
            self.places.setdefault(level.item_id, []).append(level.location)


def _apply(request: _Request | DomainError, levels: _LockedLevels) -> RowOutcome:
    if isinstance(request, DomainError):
        return create_failed_outcome(request)
    try:
        for location, level in request.levels:
            _compare(request, location, level, levels)
    except DomainError as error:
        return create_failed_outcome(error)
    for move in request.moves:
        levels.quantities[move.key] = levels.quantities.get(move.key, 0) + move.delta
    label = f"{_LABEL_PREFIX}{request.item_id}"
    if not request.changes:
        return RowOutcome(RowResult.SKIPPED, label, join_messages([UNCHANGED, *request.notes]))
    if not request.variant.inventory_item.tracked:
        request.notes.append(_UNTRACKED)
    reason = join_messages(request.notes) if request.notes else None
    return RowOutcome(RowResult.CHANGED, label, reason, changes=request.changes)


def _compare(request: _Request, location: Location, level: Mapping[str, object], levels: _LockedLevels) -> None:
    """Add the stock change that brings a level to the quantity in the file, if the quantity differs."""
    key = request.item_id, location.pk
    current = levels.quantities.get(key)
    if is_not_stocked(level):
        if current is not None:
            request.notes.append(_STILL_STOCKED(name=location.name))
        return
    target = get_target(level, current or 0)
    if target is None or target == current:
        return
    if current is None:
        others = levels.places.get(request.item_id, [])
        if conflicting := [other for other in others if not stock.may_share(location, other)]:
            names = ", ".join(other.name for other in conflicting)
            raise RowRefused(COLUMN_ERROR(column=LOCATION, error=stock.NOT_SHARED(names=names, name=location.name)))
        levels.places.setdefault(request.item_id, []).append(location)
    if target < 0:
        request.notes.append(OVERSOLD(quantity=str(target)))
    request.moves.append(StockChange(*key, target - (current or 0), may_oversell=True, connect=True))
    request.changes[STOCK_AT(place=location.name)] = (current, target)


def find_items(labels: Collection[str]) -> dict[str, InventoryItem]:
    ids = [int(number) for label in labels if (number := label.removeprefix(_LABEL_PREFIX)).isdecimal()]
    return {f"{_LABEL_PREFIX}{item.pk}": item for item in InventoryItem.objects.filter(pk__in=ids)}


def describe_missing(label: str) -> str:
    return f"#{number}" if (number := label.removeprefix(_LABEL_PREFIX)) != label else label
