"""Tests for the write queue for SQLite: threads and processes write in order, and no writer blocks the queue."""

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

from tests.support.timing import wait_until

Process = subprocess.Popen[str]
SECONDS = 60
# The timeout is longer than the time limit of a test, so that a writer that waits by mistake fails the test.
LONG_TIMEOUT = 3600
# Engine and timeout of each connection to the file.
ALIASES = {
    "gated": ("backoffice.sqlite", LONG_TIMEOUT),
    "plain": ("django.db.backends.sqlite3", LONG_TIMEOUT),
    "hasty": ("backoffice.sqlite", 0.05),
}

# The code of another process, which writes each received name in a transaction. With "hold" and "fork", the process
# ends before the transaction does.
WRITER = """
import os, sys
import django
from django.conf import settings  # noqa: E402

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
def database_path(
    tmp_path: Path, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
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
        close_connections()


@pytest.fixture
def start_process(database_path: Path) -> Iterator[Callable[[], Process]]:
    started: list[Process] = []

    def start() -> Process:
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(database_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(child)
        assert read_reply(child) == "ready"
        return child

    yield start
    for child_process in started:
        with child_process:
            child_process.kill()


def send_name(process: Process, name: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()


def read_reply(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def close_connections() -> None:
    for alias in ALIASES:
        connections[alias].close()
        del connections[alias]


def write_name(name: str, alias: str = "gated") -> None:
    with transaction.atomic(alias), connections[alias].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES (%s)", [name])


@contextlib.contextmanager
def write_in_thread(name: str, alias: str = "gated") -> Iterator[threading.Thread]:
    """Start a writer in another thread. At the end of the block, wait until the name is written."""

    def work() -> None:
        write_name(name, alias)
        close_connections()

    thread = threading.Thread(target=work, name=name)
    thread.start()
    yield thread
    thread.join(SECONDS)
    assert not thread.is_alive()


def read_names(alias: str = "gated") -> list[str]:
    with connections[alias].cursor() as cursor:
        return [name for (name,) in cursor.execute("SELECT name FROM written ORDER BY id").fetchall()]


def wait_for_queue_length(path: Path, number: int) -> None:
    """Wait until ``number`` writers are in the queue, including the active writer."""
    inode = f":{Path(f'{path}-gate').stat().st_ino} "
    wait_until(lambda: Path("/proc/locks").read_text().count(inode), number.__eq__, seconds=SECONDS)


def run_returning_writer(path: Path, alias: str) -> list[str]:
    """Write four names in one thread and "waited" in another thread, which waits from the start; return the names."""
    trying = threading.Event()

    def work() -> None:
        connections[alias].ensure_connection()
        connections[alias].connection.set_trace_callback(lambda statement: trying.set())
        write_name("waited", alias)
        close_connections()

    waiter = threading.Thread(target=work)
    with transaction.atomic(alias), connections[alias].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES ('first')")
        waiter.start()
        if alias == "plain":
            assert trying.wait(SECONDS)
            # By now, SQLite sleeps 100 ms between two attempts of the waiting writer.
            time.sleep(0.4)
        else:
            wait_for_queue_length(path, 2)
    for name in ("second", "third", "fourth"):
        write_name(name, alias)
    waiter.join(SECONDS)
    return read_names(alias)


def test_a_returning_writer_queues_behind_waiting_writers(database_path: Path) -> None:
    assert run_returning_writer(database_path, "gated") == ["first", "waited", "second", "third", "fourth"]


def test_waiting_writers_are_overtaken_without_the_queue(database_path: Path) -> None:
    assert run_returning_writer(database_path, "plain") == ["first", "second", "third", "fourth", "waited"]


def test_threads_and_processes_are_served_in_order(database_path: Path, start_process: Callable[[], Process]) -> None:
    """Check the order of waiting writers, and kill one of the processes while it waits."""
    first, second, killed = start_process(), start_process(), start_process()
    with contextlib.ExitStack() as stack, transaction.atomic("gated"):
        for position, name in enumerate("abcdefg", start=2):
            if name in "beg":
                send_name({"b": first, "e": killed, "g": second}[name], name)
            else:
                stack.enter_context(write_in_thread(name))
            wait_for_queue_length(database_path, position)
        killed.kill()
        killed.wait(SECONDS)
        wait_for_queue_length(database_path, 7)
    assert (read_reply(first), read_reply(second)) == ("written", "written")

    assert read_names() == ["a", "b", "c", "d", "f", "g"]


def test_a_killed_process_blocks_no_other_writer(database_path: Path, start_process: Callable[[], Process]) -> None:
    """Check a process that is killed in a transaction, and a process that is killed after a fork in a transaction."""
    for name in ("hold", "fork"):
        holder = start_process()
        send_name(holder, name)
        assert read_reply(holder) == name
        with write_in_thread(f"after {name}"):
            wait_for_queue_length(database_path, 2)
            holder.kill()

    assert read_names() == ["after hold", "after fork"]


def fail_statement() -> None:
    with transaction.atomic("gated"), connections["gated"].cursor() as cursor:
        with pytest.raises(IntegrityError), transaction.atomic("gated"):
            cursor.execute("INSERT INTO pointing (unlike) VALUES (1), (1)")
        cursor.execute("INSERT INTO pointing (unlike) VALUES (2), (2)")


def fail_commit() -> None:
    with transaction.atomic("gated"), connections["gated"].cursor() as cursor:
        cursor.execute("INSERT INTO pointing (id) VALUES (1000)")


def close_in_transaction() -> None:
    with transaction.atomic("gated"):
        connections["gated"].close()


def end_thread_in_transaction() -> None:
    """End a thread with an open transaction, so that the garbage collector closes the connection."""

    def work() -> None:
        transaction.atomic("gated").__enter__()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(SECONDS)
    gc.collect()


def fail_begin(path: Path) -> None:
    """Try to begin a transaction while a connection outside the queue has locked the file; expect an error."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="database is locked"):
            write_name("never", "hasty")


def test_every_end_of_a_transaction_lets_the_next_writer_continue(database_path: Path) -> None:
    ends: list[tuple[Callable[[], None], type[Exception] | None]] = [
        (lambda: write_name("committed"), None),
        (fail_statement, IntegrityError),
        (fail_commit, IntegrityError),
        (close_in_transaction, None),
        (end_thread_in_transaction, None),
        (lambda: fail_begin(database_path), None),
    ]
    for number, (end, error) in enumerate(ends):
        with pytest.raises(error) if error else contextlib.nullcontext():
            end()
        with write_in_thread(f"after {number}"):
            pass

    assert read_names() == ["committed", *(f"after {number}" for number in range(len(ends)))]


def test_a_writer_that_times_out_gets_sqlites_error(database_path: Path) -> None:
    """Check the timeout while the same thread has an open transaction in another connection."""
    with transaction.atomic("gated"):
        with pytest.raises(OperationalError, match="database is locked") as error_info:
            write_name("never", "hasty")
        # With this PRAGMA the connection does not wait at all, in spite of its long timeout.
        with contextlib.closing(connections.create_connection("gated")) as other, other.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
            with pytest.raises(OperationalError, match="database is locked"):
                other.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        wait_for_queue_length(database_path, 1)
    write_name("later", "hasty")

    assert isinstance(error_info.value.__cause__, sqlite3.OperationalError)
    assert read_names() == ["later"]


def test_readers_never_wait() -> None:
    with transaction.atomic("gated"), connections["gated"].cursor() as cursor:
        cursor.execute("INSERT INTO written (name) VALUES ('unseen')")
        other = connections.create_connection("gated")
        with contextlib.closing(other), other.cursor() as reader:
            assert reader.execute("SELECT count(*) FROM written").fetchone() == (0,)
