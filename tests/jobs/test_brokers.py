import threading
import time
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from apps.core import circuit_breaker
from backoffice.broker.filesystem import FolderTransport
from backoffice.celery import app as celery
from tests.support.servers.ports import find_free_port

PAUSE = 5.0


def test_one_of_many_threads_tries_again_after_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    threads_count = 8
    start = threading.Barrier(threads_count)
    attempts: list[int] = []
    results: list[str] = []

    def read_clock() -> float:
        # Let other threads run between the comparison and the next step.
        time.sleep(0.01)
        return now

    def notify() -> None:
        attempts.append(1)
        time.sleep(0.2)
        raise ConnectionError("no broker")

    def call() -> None:
        start.wait()
        try:
            breaker.call(notify)
        except (ConnectionError, circuit_breaker.CircuitOpen) as error:
            results.append(type(error).__name__)

    monkeypatch.setattr(circuit_breaker, "time", SimpleNamespace(monotonic=read_clock))
    breaker = circuit_breaker.CircuitBreaker(PAUSE)
    with pytest.raises(ConnectionError):
        breaker.call(notify)
    now += PAUSE
    threads = [threading.Thread(target=call) for _ in range(threads_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(attempts) == 2
    assert sorted(results) == ["CircuitOpen"] * (threads_count - 1) + ["ConnectionError"]


def test_a_failed_notification_pauses_further_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    attempted_keys: list[str] = []
    away = True

    def notify(key: str) -> None:
        attempted_keys.append(key)
        if away:
            raise ConnectionError("no broker")

    now = 1000.0
    monkeypatch.setattr(circuit_breaker, "time", SimpleNamespace(monotonic=lambda: now))
    breaker = circuit_breaker.CircuitBreaker(PAUSE)
    first, second, third, *rest = list("abcdef")

    with pytest.raises(ConnectionError):
        breaker.call(notify, first)
    for key in rest:
        with pytest.raises(circuit_breaker.CircuitOpen):
            breaker.call(notify, key)
    now += PAUSE
    with pytest.raises(ConnectionError):
        breaker.call(notify, second)
    with pytest.raises(circuit_breaker.CircuitOpen):
        breaker.call(notify, third)
    now, away = now + PAUSE, False
    for key in (third, *rest):
        breaker.call(notify, key)

    assert attempted_keys == [first, second, third, *rest]


def test_a_redis_that_is_away_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("redis.retry.sleep", slept.append)
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)

    with celery.connection(f"redis://127.0.0.1:{find_free_port()}/0") as connection, pytest.raises(OperationalError):
        connection.SimpleQueue("none").put("x")

    assert slept == []


class ReadWhileWritten:
    """A message that calls a reader while the message is being written."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __json__(self) -> str:
        with pytest.raises(Empty):
            self.reader._get("letters")
        return "Dear Ada"


def test_a_message_that_is_being_written_is_not_taken(tmp_path: Path) -> None:
    for name in ("messages", "control"):
        (tmp_path / name).mkdir()
    where = str(tmp_path / "messages")
    options = {"data_folder_in": where, "data_folder_out": where, "control_folder": tmp_path / "control"}
    connection: Any = Connection(transport=FolderTransport, transport_options=options)  # type: ignore[no-untyped-call]
    with connection, connection.channel() as writer, connection.channel() as reader:
        writer._put("letters", ReadWhileWritten(reader))

        assert reader._get("letters") == "Dear Ada"

    assert list((tmp_path / "messages").iterdir()) == []
