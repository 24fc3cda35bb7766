"""Share one shop between tests in a transaction that remains open.

Creating a shop takes longer than most tests. Each test runs in a savepoint of the transaction, so every test starts
with the shop in its initial state. The transaction is never committed. Tests that use no shop, and tests with their own
transactions, run on a database without the shop.

The mark ``@pytest.mark.shop_with(fill=…)`` names a function that adds rows to the shop. The function runs once for
consecutive tests with the same mark. The fixture ``shared_rows`` returns the function's result.
"""

from collections.abc import Callable

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.databases.statistics import vacuum_tables

TRANSACTIONAL = {"transactional_db", "live_server"}

Fill = Callable[[Shop], object]


def make_acme() -> Shop:
    return factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")


def uses_shop(test: pytest.Item) -> bool:
    names = set(getattr(test, "fixturenames", ()))
    mark = test.get_closest_marker("django_db")
    return "shop" in names and not names & TRANSACTIONAL and not (mark and mark.kwargs.get("transaction"))


def get_fill(test: pytest.Item) -> Fill | None:
    mark = test.get_closest_marker("shop_with")
    return mark.kwargs["fill"] if mark else None


class SharedShop:
    """The shared shop of this process and its transaction."""

    blocker: DjangoDbBlocker

    def __init__(self) -> None:
        self._transaction: transaction.Atomic | None = None
        self._pk = 0
        self._fill: Fill | None = None
        # The result of ``fill``. It is shared by several tests, so ``fill`` must return keys instead of objects.
        self.filled: object = None

    @property
    def is_open(self) -> bool:
        return self._transaction is not None

    def suits(self, test: pytest.Item) -> bool:
        return uses_shop(test) and get_fill(test) is self._fill

    def open(self, fill: Fill | None) -> None:
        """Create and fill the shop, unless a test's own transaction is already open.

        On PostgreSQL, traces of earlier tests are removed before the shop is filled.
        """
        if connection.closed_in_transaction:
            self.close()  # The shop was rolled back when the connection was closed.
        if self.is_open or connection.in_atomic_block:
            return
        with self.blocker.unblock():
            if fill and connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    vacuum_tables(cursor)
            self._transaction = transaction.atomic()
            self._transaction.__enter__()
            shop = make_acme()
            self._pk, self._fill = shop.pk, fill
            self.filled = fill(shop) if fill else None

    def fetch(self) -> Shop:
        return Shop.objects.get(pk=self._pk)

    def close(self) -> None:
        if self._transaction is not None:
            with self.blocker.unblock():
                transaction.set_rollback(True)
                self._transaction.__exit__(None, None, None)
            self._transaction = None


SHARED = SharedShop()
