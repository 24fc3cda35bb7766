"""Doing things at the same moment, on PostgreSQL: each in a thread with a connection of its own."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connections

from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop

Refusals = type[Exception] | tuple[type[Exception], ...]
WAIT_SECONDS = 120


def at_once(shop: Shop, *works: Callable[[], Any], refusals: Refusals = DomainError) -> list[Any]:
    """Run all works together, inside the shop's scope.

    Returns:
        What each returned, or the refusal that it raised; any other error fails the test.
    """
    ready = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(place: int, work: Callable[[], Any]) -> None:
        try:
            with shop_scope(shop):
                Shop.objects.exists()  # connected before the start
                ready.wait(WAIT_SECONDS)
                results[place] = work()
        except Exception as error:
            results[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert [result for result in results if isinstance(result, Exception) and not isinstance(result, refusals)] == []
    return results
