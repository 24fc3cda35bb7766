"""What making a refund would do, found out without doing it: for people, who look twice before money moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.ground.money import ZERO
from apps.inventory.models import Location
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.domain import paybacks, restocking
from apps.refunds.domain.calculation import Calculation
from apps.refunds.domain.requests import Books, Free, Named, Wanted, work_out


@dataclass(frozen=True, slots=True)
class Left:
    """Units of a line that can be refunded, by where they are.

    Attributes:
        line: Whose.
        state: ``unsent``, ``sent``, or ``gone`` for those that left the order without money, or came back already.
        most: How many at most; all of a line's together are at most what of it was not refunded.
    """

    line: LineItem
    state: str
    most: int


@dataclass(frozen=True, slots=True)
class Preview:
    """A refund before it is made.

    Attributes:
        named: The units.
        places: Where each of them go; None for those that are not restocked.
        found: What it comes to.
        rows: Its transactions, not saved; their ``parent`` is the payment.
        given: What they come to in the order's currency.
    """

    named: Sequence[Named]
    places: Sequence[Location | None]
    found: Calculation
    rows: Sequence[Transaction]
    given: Decimal

    @property
    def discrepancy(self) -> Decimal:
        """What is kept of the suggested money (positive), or given beyond what is due (negative)."""
        return self.found.discrepancy(self.given)


def units_left(books: Books) -> list[Left]:
    """The units of an order that can be refunded, line by line; lines of which none can are left out."""
    free, found = Free(books), []
    for line in books.lines:
        refundable = free.refundable[line.pk]
        unsent = min(free.unsent[line.pk], refundable)
        sent = min(free.sent[line.pk], refundable)
        gone = refundable - unsent - sent
        found += [
            Left(line, state, most) for state, most in (("unsent", unsent), ("sent", sent), ("gone", gone)) if most > 0
        ]
    return found


def preview(order: Order, wanted: Wanted, *, at: datetime) -> Preview:
    """What a refund would be, checked as it is when it is made; nothing is written or locked.

    Raises:
        RefundRefused: ``{field: [messages]}`` of all that cannot be.
    """
    books = Books.of(order)
    named, found = work_out(books, wanted)
    places = restocking.find_places(named, wanted)
    rows = paybacks.draft_all(books, wanted, at=at, user_id=None, source_name="")
    return Preview(named, places, found, rows, sum((row.shop_amount for row in rows), ZERO))
