"""Tests for the SQLite backend: how a writer waits for another writer."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction
from pytest_django import DjangoDbBlocker

from backoffice.sqlite import base

ALIAS = "writers"
TIMEOUT = 2.0


@dataclass
class FakeClock:
    """A clock that only advances while a writer pauses. ``on_pause`` is called after each pause."""

    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    on_pause: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        # Advance at least a little, because adding a tiny number of seconds may not change the float.
        self.now = max(self.now + seconds, self.now + 1e-9)
        self.on_pause()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(base, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def database_path(
    tmp_path: Path, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    file = tmp_path / "writers.sqlite3"
    with contextlib.closing(sqlite3.connect(file)) as plain:
        plain.execute("PRAGMA journal_mode=WAL")
        plain.execute("CREATE TABLE written (id INTEGER PRIMARY KEY, name TEXT)")
    options = {"transaction_mode": "IMMEDIATE", "timeout": TIMEOUT}
    database = {"ENGINE": "backoffice.sqlite", "NAME": str(file), "OPTIONS": options}
    settings = connections.configure_settings({"default": {}, ALIAS: database})
    monkeypatch.setitem(connections.settings, ALIAS, settings[ALIAS])
    with django_db_blocker.unblock():
        yield file
        connections[ALIAS].close()
        del connections[ALIAS]


@pytest.fixture
def other_writer(database_path: Path) -> Iterator[sqlite3.Connection]:
    """Return a connection outside of Django that has a write transaction."""
    with contextlib.closing(sqlite3.connect(database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def write_name(name: str) -> None:
    with transaction.atomic(ALIAS), connections[ALIAS].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES (%s)", [name])


def run(statement: str) -> Any:
    with connections[ALIAS].cursor() as cursor:
        return cursor.execute(statement).fetchall()


def test_pauses_become_shorter_until_the_writer_starts(other_writer: sqlite3.Connection, clock: FakeClock) -> None:
    def commit_after_fifty_pauses() -> None:
        if len(clock.pauses) == 50:
            other_writer.execute("COMMIT")

    clock.on_pause = commit_after_fifty_pauses
    write_name("waited")

    assert run("SELECT name FROM written") == [("waited",)]
    assert clock.pauses == sorted(clock.pauses, reverse=True)
    assert (clock.pauses[0], clock.pauses[-1], len(clock.pauses)) == (base.FIRST_PAUSE, base.SHORTEST_PAUSE, 50)


def test_a_writer_gets_sqlites_error_after_the_timeout(other_writer: sqlite3.Connection, clock: FakeClock) -> None:
    with pytest.raises(OperationalError, match="database is locked") as error_info:
        write_name("never")

    assert sum(clock.pauses) == pytest.approx(TIMEOUT)
    assert isinstance(error_info.value.__cause__, sqlite3.OperationalError)
    other_writer.execute("COMMIT")
    write_name("later")
    assert run("SELECT name FROM written") == [("later",)]


def test_the_timeout_of_the_connection_holds_and_remains(other_writer: sqlite3.Connection, clock: FakeClock) -> None:
    for timeout in (0, 300):
        clock.pauses.clear()
        run(f"PRAGMA busy_timeout = {timeout}")
        with pytest.raises(OperationalError, match="database is locked"):
            write_name("never")
        assert sum(clock.pauses) == pytest.approx(timeout / 1000)
        assert run("PRAGMA busy_timeout") == [(timeout,)]

    other_writer.execute("COMMIT")
    write_name("later")
    assert run("PRAGMA busy_timeout") == [(300,)]


def test_other_errors_are_raised_at_once(clock: FakeClock) -> None:
    run("BEGIN")
    # SQLite refuses a transaction within a transaction.
    with pytest.raises(OperationalError, match="within a transaction"):
        connections[ALIAS].set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)

    assert clock.pauses == []


@pytest.mark.usefixtures("other_writer")
def test_readers_never_wait(clock: FakeClock) -> None:
    assert run("SELECT count(*) FROM written") == [(0,)]
    assert clock.pauses == []


def test_a_writer_of_another_thread_starts_after_the_commit(other_writer: sqlite3.Connection) -> None:
    """Check the waiting with the real clock: the other writer commits while this writer waits."""
    waits = threading.Event()

    def write() -> None:
        connections[ALIAS].ensure_connection()
        connections[ALIAS].connection.set_trace_callback(lambda statement: waits.set())
        write_name("waited")
        connections[ALIAS].close()

    thread = threading.Thread(target=write)
    thread.start()
    assert waits.wait(60)
    time.sleep(0.05)
    other_writer.execute("COMMIT")
    thread.join(60)

    assert not thread.is_alive()
    assert run("SELECT name FROM written") == [("waited",)]
