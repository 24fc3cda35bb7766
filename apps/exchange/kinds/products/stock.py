"""The stock that rows of products say: in all, or at each location; counted, so that the ledger says so."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from django.utils.translation import gettext_noop

from apps.catalog.models import Variant
from apps.exchange.domain.rows import RowRefused
from apps.exchange.kinds.products.known import Places
from apps.ground.attrs import Attrs
from apps.ground.retelling import tells
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import Move
from apps.inventory.models import MAX_AVAILABLE, StockMovement

_NO_NUMBER = tells(gettext_noop("Variant Inventory Qty: {value} is no whole number"))
_OUT_OF_RANGE = tells(gettext_noop("Variant Inventory Qty: must be between 0 and {limit}"))
_SEVERAL_PLACES = gettext_noop(
    "Variant Inventory Qty: the item lies at several locations; say how many lie where in Variant Inventory Levels"
)
_NO_PLACE = tells(gettext_noop("Variant Inventory Levels: no active location is called {name}"))
_TWO_PLACES = tells(gettext_noop("Variant Inventory Levels: more than one active location is called {name}"))

# By location, how many are to be available.
Wanted: TypeAlias = dict[int, int]
REFERENCE = "Import"


def levels_wanted(row: Attrs, present: Mapping[int, int], places: Places) -> Wanted:
    """What is to be changed of the stock of a variant.

    A quantity alone is that of all locations together: it can be set where one location stocks the item.

    Args:
        row: Of the variant.
        present: How many are available where.
        places: The shop's locations.

    Raises:
        RowRefused: It is no quantity, or it cannot be told where.
    """
    if row.get("inventory_levels"):
        return _of_each(row["inventory_levels"], present, places)
    if row.get("inventory_quantity") in (None, ""):
        return {}
    quantity = _number(row["inventory_quantity"])
    if quantity == sum(present.values()):
        return {}
    if len(present) > 1:
        raise RowRefused(_SEVERAL_PLACES)
    return {next(iter(present), places.primary): _possible(quantity)}


def _of_each(levels: object, present: Mapping[int, int], places: Places) -> Wanted:
    wanted: Wanted = {}
    for level in levels if isinstance(levels, list) else [None]:
        name = level.get("location") if isinstance(level, Mapping) else None
        if not isinstance(level, Mapping) or not isinstance(name, str):
            raise RowRefused(gettext_noop("inventory_levels: is not a list of locations with what is available there"))
        found: Sequence[object] = places.locations.get(name, ())
        if len(found) != 1:
            raise RowRefused((_TWO_PLACES if found else _NO_PLACE).format(name=repr(name)))
        place, quantity = places.locations[name][0].pk, _number(level.get("available"))
        if present.get(place) != quantity:
            wanted[place] = _possible(quantity)
    return wanted


def _number(value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.removeprefix("-").isdecimal() or len(text) > 11:
        raise RowRefused(_NO_NUMBER.format(value=repr(text[:50])))
    return int(text)


def _possible(quantity: int) -> int:
    if not 0 <= quantity <= MAX_AVAILABLE:
        raise RowRefused(_OUT_OF_RANGE.format(limit=MAX_AVAILABLE))
    return quantity


def moves_of(
    variants: Sequence[Variant],
    wanted: Mapping[tuple[str, ...], Wanted],
    levels: Mapping[int, Mapping[int, int]],
    places: Places,
    *,
    actor: str,
    at: datetime,
) -> list[Move]:
    """The movements that make levels what they are to be; locations that do not stock an item do from now on.

    Raises:
        DomainError: A location must not stock an item.
    """
    moves: list[Move] = []
    for variant in variants:
        present = levels.get(variant.inventory_item_id, {places.primary: 0})
        for place, quantity in wanted.get(tuple(variant.options), {}).items():
            if place not in present:
                stock.connect(variant.inventory_item, places.by_id[place], actor=actor, at=at)
            if quantity != present.get(place, 0):
                moves.append(Move(variant.inventory_item_id, place, quantity - present.get(place, 0)))
    return moves


def count(moves: Sequence[Move], *, actor: str, at: datetime) -> None:
    """Move the stock of many products together."""
    if moves:
        movements.apply(moves, reason=StockMovement.Reason.COUNT, actor=actor, at=at, reference=REFERENCE)
