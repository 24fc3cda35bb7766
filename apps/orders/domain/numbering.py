"""Assign numbers and names to new orders: the shop's next number, or the name from another system."""

import re
from collections.abc import Callable, Sequence

from django.db.models import F

from apps.ground.tenancy import get_current_shop
from apps.orders.domain import currency_lock
from apps.orders.models import Order, OrderCounter
from apps.orders.models.orders import FIRST_NAME

MAX_NAME_LENGTH = 64
# Names with more digits do not set the order number, because a single such name could use up the number range.
_OUR_NAME = re.compile(r"#([1-9][0-9]{3,8})", re.ASCII)


def assign_number(order: Order, name: str) -> None:
    """Assign a number and name to an order, and lock the shop's counter until the end of the transaction.

    A new order gets the next number and the name derived from the number. An imported order keeps its name from the
    other system if that name is not taken. A name like ``#1234`` also sets the number, so that the number is not
    assigned twice. With any other name, the order gets the next number.

    Args:
        order: The unsaved order.
        name: The name from another system, or blank.

    Raises:
        CurrencyChanged: The shop currency has changed since the order was priced.
    """
    last = _take_next_number()
    new_last = _assign(
        order,
        name,
        last - 1,
        number_taken=lambda number: Order.objects.filter(number=number).exists(),
        name_taken=lambda name: Order.objects.filter(name=name).exists(),
    )
    if new_last != last:
        OrderCounter.objects.filter(shop=get_current_shop()).update(last_number=new_last)


def assign_numbers(orders_with_names: Sequence[tuple[Order, str]]) -> None:
    """Assign numbers and names to several orders in bulk.

    Raises:
        CurrencyChanged: See ``assign_number``.
    """
    next_number = _take_next_number()
    used_numbers, used_names = _used_numbers_and_names(orders_with_names)
    last = next_number - 1
    for order, name in orders_with_names:
        last = _assign(order, name, last, number_taken=used_numbers.__contains__, name_taken=used_names.__contains__)
        used_numbers.add(order.number)
        used_names.add(order.name)
    if last != next_number:
        OrderCounter.objects.filter(shop=get_current_shop()).update(last_number=last)


def preview_numbers(orders_with_names: Sequence[tuple[Order, str]]) -> None:
    """Assign the number and name that each order would get if created separately, without saving anything.

    Raises:
        CurrencyChanged: See ``assign_number``.
    """
    shop = get_current_shop()
    counter_row = OrderCounter.objects.filter(shop=shop).values_list("last_number", "shop__currency").first()
    last, currency = counter_row or (0, shop.currency)
    _check_currency(currency)
    numbers, names = _used_numbers_and_names(orders_with_names)
    for order, name in orders_with_names:
        _assign(order, name, last, number_taken=numbers.__contains__, name_taken=names.__contains__)


def _take_next_number() -> int:
    """Increment and return the shop's last order number. The counter is locked until the end of the transaction."""
    shop = get_current_shop()
    counter = OrderCounter.objects.filter(shop=shop)
    if not counter.update(last_number=F("last_number") + 1):
        OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
        counter.update(last_number=F("last_number") + 1)
    next_number: int
    next_number, currency = counter.values_list("last_number", "shop__currency").get()
    _check_currency(currency)
    return next_number


def _check_currency(currency: str) -> None:
    if currency != get_current_shop().currency:
        raise currency_lock.CurrencyChanged("has just changed in the shop's settings; send the order again")


def _assign(
    order: Order, name: str, last: int, *, number_taken: Callable[[int], bool], name_taken: Callable[[str], bool]
) -> int:
    """Set an order's number and name. ``last`` is the last used number. Return the new last used number."""
    order.number = new_last = last + 1
    if own_number := _number_in(name):
        if not number_taken(own_number):
            order.number, new_last = own_number, max(last, own_number)
    elif 0 < len(name) <= MAX_NAME_LENGTH and not name_taken(name):
        order.name = name
    order.name = order.name or f"#{order.number + FIRST_NAME - 1}"
    return new_last


def _used_numbers_and_names(orders_with_names: Sequence[tuple[Order, str]]) -> tuple[set[int], set[str]]:
    """Return the requested numbers and names that are already taken by existing orders."""
    requested_names = {name for _, name in orders_with_names if name}
    own_numbers = {number for name in requested_names if (number := _number_in(name))}
    foreign_names = {name for name in requested_names if not _number_in(name) and len(name) <= MAX_NAME_LENGTH}
    numbers = (
        set(Order.objects.filter(number__in=own_numbers).values_list("number", flat=True)) if own_numbers else set()
    )
    names = set(Order.objects.filter(name__in=foreign_names).values_list("name", flat=True)) if foreign_names else set()
    return numbers, names


def _number_in(name: str) -> int:
    """Return the order number for a name like ``#1001``, or 0 for a name in another format."""
    match = _OUR_NAME.fullmatch(name)
    return max(int(match[1]) - FIRST_NAME + 1, 0) if match else 0
