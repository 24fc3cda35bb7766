"""A thread that ends gives its database connection back at once."""

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from backoffice import connections

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def no_collector() -> Iterator[None]:
    """The garbage collector does not come by."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "control"])
def test_a_connection_ends_with_its_thread(bound: bool) -> None:
    opened: list[Any] = []

    def work() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        opened.append(connection.connection)

    # Whoever imports the web application has bound them already.
    connections.end_with_threads() if bound else connections.outlive_threads()
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert opened[0].closed is bound
    finally:
        connections.outlive_threads()
        opened[0].close()
