"""A model of the items of one order and of the stock, with its own arithmetic and no code of the product.

Items wait in fulfillment orders, leave in fulfillments, and come back. Line items, fulfillment orders, fulfillments and
locations are ids of the product.
"""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class StockModel:
    """The expected state of an order.

    ``current`` are the items that belong to the order, without refunded items and items that an edit removed.
    ``refundable`` are the items that were not refunded, also if an edit removed them. ``kept`` are the items that wait
    or are at the customer although they were refunded.
    """

    takes_stock: bool
    stock: Counter[tuple[int, int]]
    variants: dict[int, int | None]
    current: Counter[int] = field(default_factory=Counter)
    refundable: Counter[int] = field(default_factory=Counter)
    kept: Counter[int] = field(default_factory=Counter)
    waiting: dict[int, Counter[int]] = field(default_factory=dict)
    locations: dict[int, int] = field(default_factory=dict)
    sent: dict[int, tuple[int, Counter[int]]] = field(default_factory=dict)
    returned: Counter[int] = field(default_factory=Counter)

    def count_waiting(self, line: int) -> int:
        return sum(units[line] for units in self.waiting.values())

    def count_sent(self, line: int, *, without: int | None = None) -> int:
        return sum(units[line] for pk, (_, units) in self.sent.items() if pk != without)

    def count_at_customer(self, line: int) -> int:
        return self.count_sent(line) - self.returned[line]

    def get_line_status(self, line: int) -> str | None:
        if self.count_sent(line):
            return "partial" if self.count_waiting(line) else "fulfilled"
        return None if self.current[line] or self.count_waiting(line) or self.kept[line] else "restocked"

    def get_order_status(self) -> str | None:
        lines = list(self.variants)
        if all(self.get_line_status(line) == "restocked" for line in lines):
            return "restocked"
        if not any(self.count_sent(line) for line in lines):
            return None
        return "partial" if any(self.count_waiting(line) for line in lines) else "fulfilled"

    def add_stock(self, line: int, location: int, quantity: int) -> None:
        variant = self.variants[line]
        if self.takes_stock and variant is not None:
            self.stock[variant, location] += quantity

    def order(self, line: int, variant: int | None, fulfillment_order: int, location: int, quantity: int) -> None:
        """Add ordered items that were routed to a new or known fulfillment order."""
        self.variants[line] = variant
        self.current[line] += quantity
        self.refundable[line] += quantity
        self.waiting.setdefault(fulfillment_order, Counter())[line] += quantity
        self.locations[fulfillment_order] = location
        self.add_stock(line, location, -quantity)

    def fulfill(self, fulfillment_order: int, line: int, quantity: int, fulfillment: int) -> None:
        self.waiting[fulfillment_order][line] -= quantity
        self.sent[fulfillment] = (self.locations[fulfillment_order], Counter({line: quantity}))

    def take_back(self, fulfillment: int, new_fulfillment_order: int) -> None:
        """Cancel a fulfillment. Returned items belong to the other fulfillments as long as these have enough items."""
        location, units = self.sent[fulfillment]
        for line, quantity in units.items():
            gone = max(self.returned[line] - self.count_sent(line, without=fulfillment), 0)
            self.returned[line] -= gone
            if quantity > gone:
                self.waiting.setdefault(new_fulfillment_order, Counter())[line] += quantity - gone
                self.locations[new_fulfillment_order] = location
        del self.sent[fulfillment]

    def move(self, fulfillment_order: int, line: int, quantity: int, target: int, new_fulfillment_order: int) -> None:
        self.add_stock(line, self.locations[fulfillment_order], quantity)
        self.add_stock(line, target, -quantity)
        self.waiting[fulfillment_order][line] -= quantity
        self.waiting[new_fulfillment_order] = Counter({line: quantity})
        self.locations[new_fulfillment_order] = target

    def edit_out(self, line: int, quantity: int) -> None:
        self.current[line] -= quantity
        for fulfillment_order, count in self._remove(line, quantity, first=None):
            self.add_stock(line, self.locations[fulfillment_order], count)

    def refund(self, line: int, quantity: int, kind: str, location: int) -> None:
        """Refund items. Current items are refunded before items that an edit removed."""
        from_current = min(quantity, self.current[line])
        self.current[line] -= from_current
        self.refundable[line] -= quantity
        if kind == "no_restock":
            self.kept[line] += from_current
            return
        self.kept[line] -= quantity - from_current
        if kind == "cancel":
            self._remove(line, quantity, first=location)
        else:
            self.returned[line] += quantity
        self.add_stock(line, location, quantity)

    def _remove(self, line: int, quantity: int, *, first: int | None) -> list[tuple[int, int]]:
        """Remove items from the oldest fulfillment orders, first from those at one location."""
        removed = []
        for pk in sorted(self.waiting, key=lambda pk: (self.locations[pk] != first, pk)):
            count = min(quantity, self.waiting[pk][line])
            self.waiting[pk][line] -= count
            quantity -= count
            removed.append((pk, count))
        assert not quantity
        return removed

    def may_restock_all(self) -> bool:
        """Return False if some waiting items stay out of stock, and the location of these items is not defined."""
        for line in self.variants:
            locations = {self.locations[pk] for pk, units in self.waiting.items() if units[line]}
            if self.kept[line] and len(locations) > 1:
                return False
        return True

    def cancel(self, *, restock: bool) -> None:
        """Cancel the order. Items that were refunded without restocking stay out of stock."""
        if restock:
            kept = self.kept.copy()
            for pk, units in self.waiting.items():
                for line, count in units.items():
                    out_of_stock = min(count, kept[line])
                    kept[line] -= out_of_stock
                    self.add_stock(line, self.locations[pk], count - out_of_stock)
            self.current.clear()
        self.waiting.clear()

    @property
    def waiting_items(self) -> dict[int, dict[int, int]]:
        return {pk: +units for pk, units in self.waiting.items() if +units}
