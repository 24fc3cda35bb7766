"""The shop that most tests start from: opened once, in a transaction that stays open from test to test.

Opening a shop takes longer than most tests do. Each test runs in a savepoint within that transaction, so it finds the
shop just as it was opened, whatever the tests before it did; nothing is ever committed. Tests that ask for no shop, and
tests with transactions of their own, find a database without it.
"""

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from apps.shops.models import Shop
from tests import factories

TRANSACTIONAL = {"transactional_db", "live_server"}


def make_acme() -> Shop:
    """The shop of the tests, new."""
    return factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")


def wants_shop(test: pytest.Item) -> bool:
    """Whether a test asks for a shop, and for no transactions of its own."""
    names = set(getattr(test, "fixturenames", ()))
    mark = test.get_closest_marker("django_db")
    return "shop" in names and not names & TRANSACTIONAL and not (mark and mark.kwargs.get("transaction"))


class SharedShop:
    """The shop of this process, for as long as the transaction lasts in which it was opened."""

    blocker: DjangoDbBlocker

    def __init__(self) -> None:
        self._transaction: transaction.Atomic | None = None
        self._pk = 0

    @property
    def is_open(self) -> bool:
        """Whether it can be had just now."""
        return self._transaction is not None

    def open(self) -> None:
        """Open it; where a test's own transaction has begun already, the shop can only be the test's own."""
        if connection.closed_in_transaction:
            self.close()  # A test closed the connection, and with it all that it had not committed.
        if self.is_open or connection.in_atomic_block:
            return
        with self.blocker.unblock():
            self._transaction = transaction.atomic()
            self._transaction.__enter__()
            self._pk = make_acme().pk

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
