"""SQLite's write queue: writers of all threads and processes are served in order, and none blocks the others."""

import contextlib
import gc
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import IntegrityError, OperationalError, connections, transaction
from pytest_django import DjangoDbBlocker

Process = subprocess.Popen[str]
SECONDS = 60
# Far beyond the timeout of a test: a writer that waits by mistake would not return.
PATIENT = 3600
# Connections to the same file: the engine and the seconds to wait.
ALIASES = {
    "gated": ("backoffice.sqlite", PATIENT),
    "plain": ("django.db.backends.sqlite3", PATIENT),
    "hasty": ("backoffice.sqlite", 0.05),
}

# Another process: writes the names it receives, each in a transaction; "hold" and "fork" end within one.
WRITER = """
import os, sys
import django
from django.conf import settings

settings.configure(DATABASES={"default": {
    "ENGINE": "backoffice.sqlite", "NAME": sys.argv[1], "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 3600}
}})
django.setup()
from django.db import connection, transaction

connection.ensure_connection()
print("ready", flush=True)
for line in sys.stdin:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES (%s)", [line.strip()])
        if line.strip() == "fork" and os.fork():
            sys.stdin.readline()
        if line.strip() in {"hold", "fork"}:
            print(line.strip(), flush=True)
            os.read(0, 1)
            os._exit(0)
    print("written", flush=True)
"""


@pytest.fixture(autouse=True)
def path(tmp_path: Path, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Create a database with two tables and connect all aliases to the file."""
    file = tmp_path / "writers.sqlite3"
    with contextlib.closing(sqlite3.connect(file)) as connection_:
        connection_.execute("PRAGMA journal_mode=WAL")
        connection_.execute("CREATE TABLE written (id INTEGER PRIMARY KEY, name TEXT)")
        connection_.execute(
            "CREATE TABLE pointing (id INTEGER REFERENCES written DEFERRABLE INITIALLY DEFERRED, unlike INT UNIQUE)"
        )
    databases = {
        alias: {"ENGINE": engine, "NAME": str(file), "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": timeout}}
        for alias, (engine, timeout) in ALIASES.items()
    }
    for alias, database in connections.configure_settings({"default": {}, **databases}).items():
        if alias in ALIASES:
            monkeypatch.setitem(connections.settings, alias, database)
    with django_db_blocker.unblock():
        yield file
        forget()


@pytest.fixture
def process(path: Path) -> Iterator[Callable[[], Process]]:
    """Return a function that starts another process and returns when that process can write."""
    started: list[Process] = []

    def start() -> Process:
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(child)
        assert heard(child) == "ready"
        return child

    yield start
    for child_process in started:
        child_process.kill()
        with child_process:
            assert child_process.stdin is not None


def tell(process: Process, name: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()


def heard(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def forget() -> None:
    """Close the connections of this thread."""
    for alias in ALIASES:
        connections[alias].close()
        del connections[alias]


def write(name: str, alias: str = "gated") -> None:
    with transaction.atomic(alias), connections[alias].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES (%s)", [name])


@contextlib.contextmanager
def writing(name: str, alias: str = "gated") -> Iterator[threading.Thread]:
    """Run a writer in another thread; the thread has written when the block ends."""

    def work() -> None:
        write(name, alias)
        forget()

    thread = threading.Thread(target=work, name=name)
    thread.start()
    yield thread
    thread.join(SECONDS)
    assert not thread.is_alive()


def written(alias: str = "gated") -> list[str]:
    with connections[alias].cursor() as cursor:
        return [name for (name,) in cursor.execute("SELECT name FROM written ORDER BY id").fetchall()]


def await_places(path: Path, number: int) -> None:
    """Wait until ``number`` writers are in the queue, including the one that is writing."""
    inode = f":{Path(f'{path}-gate').stat().st_ino} "
    deadline = time.monotonic() + SECONDS
    while Path("/proc/locks").read_text().count(inode) != number:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def again_and_again(path: Path, alias: str) -> list[str]:
    """Return the order in which a writer and a second one, which returns three times, were served."""
    trying = threading.Event()

    def work() -> None:
        connections[alias].ensure_connection()
        connections[alias].connection.set_trace_callback(lambda statement: trying.set())
        write("waited", alias)
        forget()

    waiter = threading.Thread(target=work)
    with transaction.atomic(alias), connections[alias].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES ('first')")
        waiter.start()
        if alias == "plain":
            assert trying.wait(SECONDS)
            # The waiting writer sleeps 100 ms between attempts by now.
            time.sleep(0.4)
        else:
            await_places(path, 2)
    for name in ("second", "third", "fourth"):
        write(name, alias)
    waiter.join(SECONDS)
    return written(alias)


def test_who_was_served_and_comes_again_queues_behind_who_waits(path: Path) -> None:
    assert again_and_again(path, "gated") == ["first", "waited", "second", "third", "fourth"]


def test_without_the_gate_who_waits_is_passed_by(path: Path) -> None:
    assert again_and_again(path, "plain") == ["first", "second", "third", "fourth", "waited"]


def test_threads_and_processes_are_served_in_the_order_in_which_they_came(
    path: Path, process: Callable[[], Process]
) -> None:
    """Kill one process while it waits."""
    first, second, killed = process(), process(), process()
    with contextlib.ExitStack() as stack, transaction.atomic("gated"):
        for position, name in enumerate("abcdefg", start=2):
            if name in "beg":
                tell({"b": first, "e": killed, "g": second}[name], name)
            else:
                stack.enter_context(writing(name))
            await_places(path, position)
        killed.kill()
        killed.wait(SECONDS)
        await_places(path, 7)
    assert (heard(first), heard(second)) == ("written", "written")

    assert written() == ["a", "b", "c", "d", "f", "g"]


def test_a_process_that_is_killed_holds_nobody_up(path: Path, process: Callable[[], Process]) -> None:
    """Check that a process forked within the transaction does not block others either."""
    for name in ("hold", "fork"):
        holder = process()
        tell(holder, name)
        assert heard(holder) == name
        with writing(f"after {name}"):
            await_places(path, 2)
            holder.kill()

    assert written() == ["after hold", "after fork"]


def refused_statement() -> None:
    with transaction.atomic("gated"), connections["gated"].cursor() as cursor:
        with pytest.raises(IntegrityError), transaction.atomic("gated"):
            cursor.execute("INSERT INTO pointing (unlike) VALUES (1), (1)")
        cursor.execute("INSERT INTO pointing (unlike) VALUES (2), (2)")


def refused_commit() -> None:
    with transaction.atomic("gated"), connections["gated"].cursor() as cursor:
        cursor.execute("INSERT INTO pointing (id) VALUES (1000)")


def closed_in_the_midst() -> None:
    with transaction.atomic("gated"):
        connections["gated"].close()


def ended_thread() -> None:
    """Leave a transaction open and the connection to the garbage collector."""

    def work() -> None:
        transaction.atomic("gated").__enter__()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(SECONDS)
    gc.collect()


def refused_begin(path: Path) -> None:
    """Open the file from a connection that does not use the queue."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="database is locked"):
            write("never", "hasty")


def test_the_turn_is_given_up_however_a_transaction_ends(path: Path) -> None:
    ends: list[tuple[Callable[[], None], type[Exception] | None]] = [
        (lambda: write("committed"), None),
        (refused_statement, IntegrityError),
        (refused_commit, IntegrityError),
        (closed_in_the_midst, None),
        (ended_thread, None),
        (lambda: refused_begin(path), None),
    ]
    for number, (end, error) in enumerate(ends):
        with pytest.raises(error) if error else contextlib.nullcontext():
            end()
        with writing(f"after {number}"):
            pass

    assert written() == ["committed", *(f"after {number}" for number in range(len(ends)))]


def test_who_does_not_get_the_turn_in_time_is_told_what_sqlite_says(path: Path) -> None:
    """Check the timeout also next to an open transaction of the same thread, which could not end before."""
    with transaction.atomic("gated"):
        with pytest.raises(OperationalError, match="database is locked") as error_info:
            write("never", "hasty")
        # A hint that can be skipped: no waiting at all, on a connection with a long timeout.
        with contextlib.closing(connections.create_connection("gated")) as other, other.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
            with pytest.raises(OperationalError, match="database is locked"):
                other.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        await_places(path, 1)
    write("later", "hasty")

    assert isinstance(error_info.value.__cause__, sqlite3.OperationalError)
    assert written() == ["later"]


def test_readers_never_wait() -> None:
    with transaction.atomic("gated"), connections["gated"].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES ('unseen')")
        other = connections.create_connection("gated")
        with contextlib.closing(other), other.cursor() as reader:
            assert reader.execute("SELECT count(*) FROM written").fetchone() == (0,)
