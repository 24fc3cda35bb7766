"""Doing things at the same moment, on PostgreSQL: each in a thread with a connection of its own.

A test that races names its control by the mark ``@pytest.mark.race(control="test_…")``: a test in which the guard is
off, and the breach shows. ``tests/test_race_controls.py`` holds everybody to that; one control may serve several races,
and ``race(no_guard="…")`` says why there is nothing to turn off.
"""

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from django.db import connection, connections, models, transaction

from apps.ground.exceptions import DomainError
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


def meanwhile(
    shop: Shop, first: Callable[[], Any], second: Callable[[], Any], then: Callable[[], Any] | None = None
) -> Any:
    """Do ``first`` in a transaction, begin ``second`` beside it, and commit only once that waits for a lock.

    Args:
        shop: In whose scope all is done.
        first: What has been done, and is not committed, when ``second`` begins.
        second: Done with a connection of its own; it must come to wait for ``first``.
        then: What the transaction of ``first`` does while ``second`` waits.

    Returns:
        What ``second`` returned; an error of either fails the test.
    """
    return _beside(shop, first, second, then, must_wait=True)


def unguarded(
    shop: Shop,
    first: Callable[[], Any],
    second: Callable[[], Any],
    *,
    locks: Collection[str] = (),
    conditions: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Any:
    """The control of a race: as ``meanwhile`` without the guard, so that ``second`` need not wait.

    Args:
        shop: In whose scope all is done.
        first: What has been done, and is not committed, when ``second`` begins.
        second: What the guard would have held up.
        locks: Tables of which both read rows without locking them, though their code asks for it.
        conditions: By table, columns to which their updates do not look, though their conditions name them.

    Returns:
        What ``second`` returned; an error of either fails the test.
    """

    def careless(work: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with _unlocked(locks), _unconditional(conditions):
                return work()

        return run

    return _beside(shop, careless(first), careless(second), None, must_wait=False)


def _beside(
    shop: Shop,
    first: Callable[[], Any],
    second: Callable[[], Any],
    then: Callable[[], Any] | None,
    *,
    must_wait: bool,
) -> Any:
    results: list[Any] = []

    def run() -> None:
        try:
            with shop_scope(shop):
                results.append(second())
        except Exception as error:
            results.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    with shop_scope(shop), transaction.atomic():
        first()
        thread.start()
        waits = _comes_to_wait(thread)
        assert waits or not must_wait, "it did not wait"
        if then:
            then()
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


def _comes_to_wait(thread: threading.Thread) -> bool:
    """Whether somebody comes to wait for this connection's transaction before the thread ends."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    until = time.monotonic() + WAIT_SECONDS
    with connection.cursor() as cursor:
        while cursor.execute(waiting).fetchone()[0] == 0:
            if not thread.is_alive():
                return False
            assert time.monotonic() < until
            time.sleep(0.02)
    return True


_LOCKING = re.compile(r'FROM "?(\w+)"?(?= ).*?( FOR (?:NO KEY UPDATE|UPDATE|SHARE|KEY SHARE)\b.*)', re.DOTALL)


@contextmanager
def _unlocked(tables: Collection[str]) -> Iterator[None]:
    """Within it, this thread reads rows of these tables without locking them."""

    def read(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if isinstance(sql, str) and (found := _LOCKING.search(sql)) and found[1] in tables:
            sql = sql[: found.start(2)]
        return execute(sql, params, many, context)

    with connection.execute_wrapper(read):
        yield


@contextmanager
def _unconditional(columns: Mapping[str, Collection[str]]) -> Iterator[None]:
    """Within it, this thread's updates of these tables change rows whatever stands in these columns."""

    def write(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        table = next((name for name in columns if isinstance(sql, str) and sql.startswith(f'UPDATE "{name}"')), None)
        if table is not None:
            named = "|".join(columns[table])
            compared = rf'"{table}"\."(?:{named})" (?:IS NULL|[=<>]+ (%s)|IN \((%s(?:, %s)*)\))'
            head, where, conditions = sql.partition(" WHERE ")
            sql = head + where + re.sub(compared, _true, conditions)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write):
        yield


def _true(condition: re.Match[str]) -> str:
    """What holds for any row, and takes the parameters of a condition."""
    values = condition[1] or condition[2]
    return f"COALESCE({values})::text IS NOT NULL" if values else "TRUE"


@contextmanager
def without(model: type[models.Model], *columns: str) -> Iterator[None]:
    """Within it, the database holds nobody to a unique or foreign key; the table is emptied before it does again."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        keys = connection.introspection.get_constraints(cursor, table).items()
        (name,) = [
            name for name, key in keys if set(key["columns"]) == set(columns) and (key["foreign_key"] or key["unique"])
        ]
        drop, restore = cursor.execute(_DEFINITION, {"name": name}).fetchone()
        cursor.execute(drop)
        try:
            yield
        finally:
            cursor.execute(f"TRUNCATE {table} CASCADE")
            cursor.execute(restore)


# A conditional unique key is an index only, any other a constraint.
_DEFINITION = """
    SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
        format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conname = %(name)s
    UNION ALL
    SELECT format('DROP INDEX %%I', relname), pg_get_indexdef(oid)
    FROM pg_class WHERE relname = %(name)s AND oid NOT IN (SELECT conindid FROM pg_constraint)
"""
