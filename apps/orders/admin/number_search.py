"""Find orders by the end of their number, such as #1307 by "307", also if the name has a prefix or suffix."""

import re
from collections.abc import Iterator

from django.db.models import QuerySet

from apps.core.db.lookups import MIN_TRIGRAM_LENGTH
from apps.orders.models import Order, OrderCounter
from apps.orders.models.orders import FIRST_NAME

# The maximum number of order names that are looked up. The names of the newest orders come first.
MAX_NAMES = 1_000
_NUMBER = re.compile(r"#?([0-9]{1,9})", re.ASCII)
_OWN_NAME = r"^#[0-9]+$"


def find_by_number(orders: QuerySet[Order], term: str, limit: int) -> Iterator[QuerySet[Order]]:
    """Yield querysets of the orders with exactly this name, otherwise with a name or number that ends with the term.

    Other orders can end with the number of the order with exactly this name. They would hide the order.
    """
    exact = orders.filter(name__in={term, f"#{term.removeprefix('#')}"})
    yield exact
    if not any(character.isdigit() for character in term) or exact.order_by().values("pk")[:1].exists():
        return
    if match := _NUMBER.fullmatch(term):
        yield orders.filter(name__in=_list_names(match[1], min(limit, MAX_NAMES)))
    ending = term.removeprefix("#")
    if len(ending) >= MIN_TRIGRAM_LENGTH:
        # A suffix without digits may follow. PostgreSQL has an index of names in other formats than "#1307". SQLite
        # scans the index of the shop's names, and only compares names that contain the term with the slower patterns.
        pattern = rf"{re.escape(ending)}[^0-9]*$"
        yield orders.filter(name__icontains=ending).filter(name__iregex=pattern).exclude(name__regex=_OWN_NAME)


def _list_names(digits: str, limit: int) -> list[str]:
    """Return up to ``limit`` names in the format "#1307" that end with the digits, newest first."""
    last_number = OrderCounter.objects.values_list("last_number", flat=True).first() or 0
    step, ending = 10 ** len(digits), int(digits)
    newest = last_number + FIRST_NAME - 1
    newest -= (newest - ending) % step
    return [f"#{number}" for number in range(newest, FIRST_NAME - 1, -step)[:limit]]
