"""Choose a location for each line so that an order ships from as few locations as possible.

The functions are pure: they return the same result for the same stock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Available quantities, keyed by location and then by item. Items that a location does not stock have no entry.
Stock = Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class LineRequest:
    """A line and quantity that need a location. ``item`` is None if the line can ship from any location."""

    line: int
    item: int | None
    units: int


def choose_locations(line_requests: Sequence[LineRequest], locations: Sequence[int], stock: Stock) -> dict[int, int]:
    """Choose a location for each line.

    The location with enough stock for the most lines is chosen first, then the best location for the remaining lines.
    If several locations are equally good, the first location in the list is chosen. If no location has enough stock for
    a line, the location with the most stock ships the line, preferably a location that already ships other lines of the
    order.

    Args:
        line_requests: The lines.
        locations: The candidate locations, sorted by priority. At least one is required.
        stock: The available quantities at the locations.

    Returns:
        The chosen locations, keyed by line.
    """
    location_by_line: dict[int, int] = {}
    remaining = list(line_requests)
    open_locations = list(locations)
    while remaining and open_locations:
        covered = {location: _get_covered_lines(remaining, stock.get(location, {})) for location in open_locations}
        best = max(open_locations, key=lambda location: len(covered[location]))
        if not covered[best]:
            break
        location_by_line |= dict.fromkeys(covered[best], best)
        remaining = [line_request for line_request in remaining if line_request.line not in covered[best]]
        open_locations.remove(best)
    shipping_locations = set(location_by_line.values())
    for line_request in remaining:
        location_by_line[line_request.line] = max(
            locations,
            key=lambda location: (
                stock.get(location, {}).get(line_request.item or 0, -(10**12)),
                location in shipping_locations,
            ),
        )
    return location_by_line


def _get_covered_lines(line_requests: Sequence[LineRequest], stock: Mapping[int, int]) -> set[int]:
    """Return the lines that a location has enough stock for. Small quantities are served first, to cover more lines."""
    available = dict(stock)
    lines = set()
    for line_request in sorted(line_requests, key=lambda line_request: line_request.units):
        if line_request.item is None:
            lines.add(line_request.line)
        elif available.get(line_request.item, 0) >= line_request.units:
            available[line_request.item] -= line_request.units
            lines.add(line_request.line)
    return lines
