"""The numbers and names of new orders: the shop's next number, or the name that an order had elsewhere."""

import re
from collections.abc import Callable, Sequence

from django.db.models import F

from apps.ground.tenancy import current_shop
from apps.orders.domain import books
from apps.orders.models import Order, OrderCounter
from apps.orders.models.orders import FIRST_NAME

MAX_NAME = 64
# Beyond nine digits it is no number of a shop, and would leave none for the orders behind it.
_OUR_NAME = re.compile(r"#([1-9][0-9]{3,8})", re.ASCII)


def number(order: Order, name: str) -> None:
    """Give an order its number and name; the shop's counter is kept from others until the transaction ends.

    That is the next number, and the name that follows from it. An order that has a name already keeps it where no
    other has it: ``#1234`` with the number that goes with it, so that it is never given again, and any other beside
    the next number.

    Args:
        order: Not saved yet.
        name: The one that it has, or blank.

    Raises:
        CurrencyChanged: The order was priced in another currency than the shop has by now.
    """
    last = _held()
    after = _give(
        order,
        name,
        last - 1,
        number_taken=lambda number: Order.objects.filter(number=number).exists(),
        name_taken=lambda name: Order.objects.filter(name=name).exists(),
    )
    if after != last:
        OrderCounter.objects.filter(shop=current_shop()).update(last_number=after)


def number_many(named: Sequence[tuple[Order, str]]) -> None:
    """The same of several orders, one after the other, with as many statements as for one.

    Raises:
        CurrencyChanged: As ``number``.
    """
    held = _held()
    numbers, names = _taken(named)
    last = held - 1
    for order, name in named:
        last = _give(order, name, last, number_taken=numbers.__contains__, name_taken=names.__contains__)
        numbers.add(order.number)
        names.add(order.name)
    if last != held:
        OrderCounter.objects.filter(shop=current_shop()).update(last_number=last)


def foresee(named: Sequence[tuple[Order, str]]) -> None:
    """Give each of several orders the number and name that it would have if it alone came now; nothing is written.

    Raises:
        CurrencyChanged: As ``number``.
    """
    shop = current_shop()
    found = OrderCounter.objects.filter(shop=shop).values_list("last_number", "shop__currency").first()
    last, currency = found or (0, shop.currency)
    _refuse_other(currency)
    numbers, names = _taken(named)
    for order, name in named:
        _give(order, name, last, number_taken=numbers.__contains__, name_taken=names.__contains__)


def _held() -> int:
    """The shop's next number; its counter is moved there, and kept from others until the transaction ends."""
    shop = current_shop()
    counter = OrderCounter.objects.filter(shop=shop)
    if not counter.update(last_number=F("last_number") + 1):
        OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
        counter.update(last_number=F("last_number") + 1)
    following: int
    following, currency = counter.values_list("last_number", "shop__currency").get()
    _refuse_other(currency)
    return following


def _refuse_other(currency: str) -> None:
    if currency != current_shop().currency:
        raise books.CurrencyChanged("has just changed in the shop's settings; send the order again")


def _give(
    order: Order, name: str, last: int, *, number_taken: Callable[[int], bool], name_taken: Callable[[str], bool]
) -> int:
    """Set number and name of an order that comes after the number ``last``; returns the last number with it."""
    order.number = following = last + 1
    if ours := _number_in(name):
        if not number_taken(ours):
            order.number, following = ours, max(last, ours)
    elif 0 < len(name) <= MAX_NAME and not name_taken(name):
        order.name = name
    order.name = order.name or f"#{order.number + FIRST_NAME - 1}"
    return following


def _taken(named: Sequence[tuple[Order, str]]) -> tuple[set[int], set[str]]:
    """Which of the numbers and names that orders come with others have."""
    wanted = {name for _, name in named if name}
    ours = {number for name in wanted if (number := _number_in(name))}
    theirs = {name for name in wanted if not _number_in(name) and len(name) <= MAX_NAME}
    numbers = set(Order.objects.filter(number__in=ours).values_list("number", flat=True)) if ours else set()
    names = set(Order.objects.filter(name__in=theirs).values_list("name", flat=True)) if theirs else set()
    return numbers, names


def _number_in(name: str) -> int:
    """The number that goes with a name like those that we give; 0 for other names."""
    match = _OUR_NAME.fullmatch(name)
    return max(int(match[1]) - FIRST_NAME + 1, 0) if match else 0
