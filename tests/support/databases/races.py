"""Run functions concurrently on PostgreSQL, each in a thread with a separate connection.

A race test names its control with the mark ``@pytest.mark.race(control="test_…")``. The control is a test that turns
off the guard, such as a lock, and proves that the race then occurs. ``tests/test_race_controls.py`` enforces the mark.
Several race tests may share a control. ``race(no_guard="…")`` gives the reason why a test has no guard to turn off.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeVar

from django.db import connection, connections, models, transaction

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope

ExpectedErrors = type[Exception] | tuple[type[Exception], ...]
WAIT_SECONDS = 120
Result = TypeVar("Result")
Careless = TypeVar("Careless")


def run_concurrently(
    shop: Shop, *functions: Callable[[], object], expected_errors: ExpectedErrors = DomainError
) -> list[Any]:
    """Run all functions at the same time; return each result or expected error. Any other error fails the test."""
    ready = threading.Barrier(len(functions))
    results: list[Any] = [None] * len(functions)

    def run(index: int, function: Callable[[], object]) -> None:
        try:
            with shop_scope(shop):
                _open_patient_connection()
                ready.wait(WAIT_SECONDS)
                results[index] = function()
        except Exception as error:
            results[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    errors = [result for result in results if isinstance(result, Exception)]
    assert [error for error in errors if not isinstance(error, expected_errors)] == []
    return results


def _open_patient_connection() -> None:
    """Connect this thread to the database, and let it wait for locks as long as the test does.

    On a slow machine, the last of many threads waits longer for a row than a request may.
    """
    connection.ensure_connection()
    if connection.vendor == "postgresql" and os.environ.get("TEST_POOLER") != "on":
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")


def run_while_uncommitted(
    shop: Shop, first: Callable[[], object], second: Callable[[], Result], then: Callable[[], object] | None = None
) -> Result:
    """Run ``first`` in a transaction and ``second`` in a thread, and commit ``first`` once ``second`` waits for a lock.

    ``then`` runs in the transaction of ``first`` while ``second`` waits. Return the result of ``second``. An error in
    any function is raised.
    """
    return _run_second_in_thread(shop, first, second, then, must_wait=True)


def run_unguarded(
    shop: Shop,
    first: Callable[[], object],
    second: Callable[[], Result],
    *,
    locks: Collection[str] = (),
    conditions: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Result:
    """Run the control of a race, like ``run_while_uncommitted`` but without the guard that makes ``second`` wait.

    Args:
        locks: Tables from which both functions read rows without ``FOR UPDATE``.
        conditions: Columns, by table, that are ignored in the WHERE clauses of UPDATE statements.
    """

    def careless(work: Callable[[], Careless]) -> Callable[[], Careless]:
        def run() -> Careless:
            with _without_row_locks(locks), _without_conditions(conditions):
                return work()

        return run

    return _run_second_in_thread(shop, careless(first), careless(second), None, must_wait=False)


def _run_second_in_thread(
    shop: Shop,
    first: Callable[[], object],
    second: Callable[[], Result],
    then: Callable[[], object] | None,
    *,
    must_wait: bool,
) -> Result:
    results: list[Result | Exception] = []

    def run() -> None:
        try:
            with shop_scope(shop):
                _open_patient_connection()
                results.append(second())
        except Exception as error:
            results.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    try:
        with shop_scope(shop), transaction.atomic():
            first()
            thread.start()
            waits = _wait_for_lock(thread)
            assert waits or not must_wait, "it did not wait"
            if then:
                then()
    finally:
        if thread.ident:
            thread.join(WAIT_SECONDS)
    assert not thread.is_alive()
    (result,) = results
    if isinstance(result, Exception):
        raise result
    return result


def _wait_for_lock(thread: threading.Thread) -> bool:
    """Wait until another connection waits for this transaction, and return True. Return False if the thread ends."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    until = time.monotonic() + WAIT_SECONDS
    with connection.cursor() as cursor:
        while cursor.execute(waiting).fetchone()[0] == 0:
            if not thread.is_alive():
                return False
            assert time.monotonic() < until
            time.sleep(0.02)
    return True


_LOCKING_QUERY = re.compile(r'FROM "?(\w+)"?(?= ).*?( FOR (?:NO KEY UPDATE|UPDATE|SHARE|KEY SHARE)\b.*)', re.DOTALL)


@contextmanager
def _without_row_locks(tables: Collection[str]) -> Iterator[None]:
    """Remove ``FOR UPDATE`` from this thread's queries on these tables."""

    def read(execute: Callable[..., object], sql: str, params: object, many: bool, context: object) -> object:
        if isinstance(sql, str) and (match := _LOCKING_QUERY.search(sql)) and match[1] in tables:
            sql = sql[: match.start(2)]
        return execute(sql, params, many, context)

    with connection.execute_wrapper(read):
        yield


@contextmanager
def _without_conditions(columns: Mapping[str, Collection[str]]) -> Iterator[None]:
    """Ignore these columns in the WHERE clauses of this thread's UPDATE statements."""

    def write(execute: Callable[..., object], sql: str, params: object, many: bool, context: object) -> object:
        table = next((name for name in columns if isinstance(sql, str) and sql.startswith(f'UPDATE "{name}"')), None)
        if table is not None:
            column_names = "|".join(columns[table])
            compared = rf'"{table}"\."(?:{column_names})" (?:IS NULL|[=<>]+ (%s)|IN \((%s(?:, %s)*)\))'
            head, where, conditions = sql.partition(" WHERE ")
            sql = head + where + re.sub(compared, _build_true_condition, conditions)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write):
        yield


def _build_true_condition(condition: re.Match[str]) -> str:
    """Return a condition that is always true but has the same placeholders."""
    placeholders = condition[1] or condition[2]
    return f"COALESCE({placeholders})::text IS NOT NULL" if placeholders else "TRUE"


@contextmanager
def without_constraint(model: type[models.Model], *columns: str) -> Iterator[None]:
    """Drop a unique or foreign key within the block. Afterwards, empty the table and restore the key."""
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


# Django creates a conditional unique constraint as an index, and all other keys as constraints.
_DEFINITION = """
    SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
        format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conname = %(name)s
    UNION ALL
    SELECT format('DROP INDEX %%I', relname), pg_get_indexdef(oid)
    FROM pg_class WHERE relname = %(name)s AND oid NOT IN (SELECT conindid FROM pg_constraint)
"""
