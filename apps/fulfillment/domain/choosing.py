"""Which location sends which line: from as few locations as possible.

Pure: given what each location has of each item, the answer is always the same.
Rule: decisions, Fulfillment (routing).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What is available, by location and item; an item that is not there is not stocked.
Stock = Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Wish:
    """Units of a line for which a location is sought; ``item`` is None where stock does not matter."""

    line: int
    item: int | None
    units: int


def choose(wishes: Sequence[Wish], locations: Sequence[int], stock: Stock) -> dict[int, int]:
    """A location for each line.

    The location that has enough for the most lines comes first, then the one that has enough for the most of the rest;
    of equals the one that stands first. Lines of which none has enough go where the most is, of equals to one that
    sends a parcel anyway.

    Args:
        wishes: The lines.
        locations: Those that may be chosen, the most wanted first; at least one.
        stock: What they have.

    Returns:
        Locations by line.
    """
    chosen: dict[int, int] = {}
    left = list(wishes)
    open_locations = list(locations)
    while left and open_locations:
        covered = {where: _covered(left, stock.get(where, {})) for where in open_locations}
        best = max(open_locations, key=lambda where: len(covered[where]))
        if not covered[best]:
            break
        chosen |= dict.fromkeys(covered[best], best)
        left = [wish for wish in left if wish.line not in covered[best]]
        open_locations.remove(best)
    sends = set(chosen.values())
    for wish in left:
        chosen[wish.line] = max(
            locations, key=lambda where: (stock.get(where, {}).get(wish.item or 0, -(10**12)), where in sends)
        )
    return chosen


def _covered(wishes: Sequence[Wish], shelf: Mapping[int, int]) -> set[int]:
    """The lines for which a location has enough, those with the fewest units first: so it is the most lines."""
    left = dict(shelf)
    found = set()
    for wish in sorted(wishes, key=lambda wish: wish.units):
        if wish.item is None:
            found.add(wish.line)
        elif left.get(wish.item, 0) >= wish.units:
            left[wish.item] -= wish.units
            found.add(wish.line)
    return found
