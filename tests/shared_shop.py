"""The shop that most tests start from: opened once, in a transaction that stays open from test to test.

Opening a shop takes longer than most tests do. Each test runs in a savepoint within that transaction, so it finds the
shop just as it was opened, whatever the tests before it did; nothing is ever committed. Tests that ask for no shop, and
tests with transactions of their own, find a database without it.

The mark ``@pytest.mark.shop_with(fill=…)`` names a function that puts more rows into the shop, once for all tests with
the same mark that follow each other; the fixture ``filled`` is what it answered.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from apps.shops.models import Shop
from tests import factories

TRANSACTIONAL = {"transactional_db", "live_server"}

Fill = Callable[[Shop], Any]


def make_acme() -> Shop:
    """The shop of the tests, new."""
    return factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")


def wants_shop(test: pytest.Item) -> bool:
    """Whether a test asks for a shop, and for no transactions of its own."""
    names = set(getattr(test, "fixturenames", ()))
    mark = test.get_closest_marker("django_db")
    return "shop" in names and not names & TRANSACTIONAL and not (mark and mark.kwargs.get("transaction"))


def wanted_rows(test: pytest.Item) -> Fill | None:
    """What shall be in the shop that a test asks for."""
    mark = test.get_closest_marker("shop_with")
    return mark.kwargs["fill"] if mark else None


class SharedShop:
    """The shop of this process, for as long as the transaction lasts in which it was opened.

    Attributes:
        filled: What ``fill`` answered; its tests must not change it, so keys do better than objects.
    """

    blocker: DjangoDbBlocker

    def __init__(self) -> None:
        self._transaction: transaction.Atomic | None = None
        self._pk = 0
        self._fill: Fill | None = None
        self.filled: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it can be had just now."""
        return self._transaction is not None

    def suits(self, test: pytest.Item) -> bool:
        """Whether a test may find it as it is."""
        return wants_shop(test) and wanted_rows(test) is self._fill

    def open(self, fill: Fill | None) -> None:
        """Open and fill it; where a test's own transaction has begun already, the shop can only be the test's own."""
        if connection.closed_in_transaction:
            self.close()  # Who closes the connection loses what was not committed.
        if self.is_open or connection.in_atomic_block:
            return
        with self.blocker.unblock():
            self._transaction = transaction.atomic()
            self._transaction.__enter__()
            shop = make_acme()
            self._pk, self._fill = shop.pk, fill
            self.filled = fill(shop) if fill else None

    def fetch(self) -> Shop:
        """The shop, as it stands in the database."""
        return Shop.objects.get(pk=self._pk)

    def close(self) -> None:
        """Take everything back."""
        if self._transaction is not None:
            with self.blocker.unblock():
                transaction.set_rollback(True)
                self._transaction.__exit__(None, None, None)
            self._transaction = None


SHARED = SharedShop()
