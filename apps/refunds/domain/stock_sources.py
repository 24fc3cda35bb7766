"""Find the locations that the items of an order were taken from."""

from functools import cached_property

from apps.fulfillment.domain.fulfillment_orders import quantities
from apps.orders.models import LineItem, Order


class StockSources:
    """The locations of an order's unfulfilled and fulfilled items, loaded only for lines that have both.

    ``LineItem.taken_from`` contains both. The items in a fulfillment order were taken from its location.
    """

    def __init__(self, order: Order) -> None:
        self._order = order

    @cached_property
    def _waiting(self) -> dict[int, dict[int, int]]:
        return quantities.get_waiting_quantities(self._order)

    def get_waiting(self, line: LineItem) -> dict[int, int]:
        """Return the unfulfilled quantities that were taken from stock, by location."""
        taken = {int(location): units for location, units in line.taken_from.items()}
        if len(taken) < 2 or not line.fulfilled_quantity:
            return taken
        waiting = self._waiting.get(line.pk, {})
        return {location: min(units, waiting.get(location, 0)) for location, units in taken.items()}

    def get_sent(self, line: LineItem) -> dict[int, int]:
        """Return the fulfilled quantities that were taken from stock, by location."""
        taken = {int(location): units for location, units in line.taken_from.items()}
        if len(taken) < 2 or not line.fulfillable_quantity:
            return taken
        waiting = self.get_waiting(line)
        return {location: units - waiting[location] for location, units in taken.items()}
