"""Assign numbers and names to new orders, and lock the shop currency as soon as the shop has orders."""

import re
from collections.abc import Collection, Sequence

from django.db.models import F

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.orders.models import Order, OrderCounter
from apps.orders.models.orders import FIRST_NAME

MAX_NAME_LENGTH = 64
# Names with more digits do not set the order number, because a single such name could use up the number range.
MAX_KEPT_NUMBER = 10**9 - FIRST_NAME
_OUR_NAME = re.compile(r"#([1-9][0-9]{3,8})", re.ASCII)


class CurrencyChanged(DomainError):
    field = "currency"
    status = 409


def get_currency_objection(shop: Shop, currency: str) -> str | None:
    """Lock the order counter so that new orders wait, and return the reason why the currency cannot change, if any."""
    OrderCounter.objects.bulk_create([OrderCounter(shop=shop)], ignore_conflicts=True)
    OrderCounter.objects.select_for_update().get(shop=shop)
    return "the shop has orders" if Order.objects.exists() else None


def assign_numbers(orders_with_names: Sequence[tuple[Order, str]]) -> None:
    """Assign numbers and names to unsaved orders, and lock the shop's counter until the end of the transaction.

    A new order gets the next number and the name derived from the number. An imported order keeps its name from the
    other system if that name is not taken. A name like ``#1234`` also sets the number, so that the number is not
    assigned twice. With any other name, the order gets the number that it already has, if that number is not taken, or
    the next number.
    """
    next_number = _take_next_number()
    used_numbers, used_names = _used_numbers_and_names(orders_with_names)
    last = next_number - 1
    for order, name in orders_with_names:
        last = _assign(order, name, last, used_numbers, used_names)
        used_numbers.add(order.number)
        used_names.add(order.name)
    if last != next_number:
        OrderCounter.objects.filter(shop=get_current_shop()).update(last_number=last)


def preview_numbers(orders_with_names: Sequence[tuple[Order, str]]) -> None:
    """Assign the number and name that each order would get if created separately, without saving anything."""
    shop = get_current_shop()
    counter_row = OrderCounter.objects.filter(shop=shop).values_list("last_number", "shop__currency").first()
    last, currency = counter_row or (0, shop.currency)
    _check_currency(currency)
    numbers, names = _used_numbers_and_names(orders_with_names)
    for order, name in orders_with_names:
        _assign(order, name, last, numbers, names)


def _take_next_number() -> int:
    """Increment the shop's last order number, which stays locked until the end of the transaction."""
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
        raise CurrencyChanged("has just changed in the shop's settings; send the order again")


def _assign(order: Order, name: str, last: int, used_numbers: Collection[int], used_names: Collection[str]) -> int:
    """Set an order's number and name. ``last`` is the last used number. Return the new last used number."""
    wanted_number = _get_wanted_number(order, name)
    order.number = new_last = last + 1
    if wanted_number and wanted_number not in used_numbers:
        order.number, new_last = wanted_number, max(last, wanted_number)
    if not _number_in(name) and 0 < len(name) <= MAX_NAME_LENGTH and name not in used_names:
        order.name = name
    order.name = order.name or f"#{order.number + FIRST_NAME - 1}"
    return new_last


def _used_numbers_and_names(orders_with_names: Sequence[tuple[Order, str]]) -> tuple[set[int], set[str]]:
    requested_names = {name for _, name in orders_with_names if name}
    own_numbers = {number for order, name in orders_with_names if (number := _get_wanted_number(order, name))}
    foreign_names = {name for name in requested_names if not _number_in(name) and len(name) <= MAX_NAME_LENGTH}
    numbers = Order.objects.filter(number__in=own_numbers).values_list("number", flat=True)
    names = Order.objects.filter(name__in=foreign_names).values_list("name", flat=True)
    return set(numbers), set(names)


def _get_wanted_number(order: Order, name: str) -> int:
    """Return the number in a name like ``#1001``, or the number that an order from another shop has, or 0."""
    number = _number_in(name)
    return number or (order.number if name and order.number and order.number <= MAX_KEPT_NUMBER else 0)


def _number_in(name: str) -> int:
    """Return the order number for a name like ``#1001``, or 0 for a name in another format."""
    match = _OUR_NAME.fullmatch(name)
    return max(int(match[1]) - FIRST_NAME + 1, 0) if match else 0
