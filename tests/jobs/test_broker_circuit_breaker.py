"""Tests for the circuit breaker for the broker: a broker outage never delays writers, and calls resume later."""

import uuid
from types import SimpleNamespace

import pytest
from kombu.exceptions import OperationalError

from apps.jobs.domain import broker_circuit_breaker
from backoffice.celery import app as celery
from tests.client.conftest import find_free_port


def test_a_failed_notification_pauses_further_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    attempted_keys: list[uuid.UUID] = []
    away = True

    def notify(key: uuid.UUID) -> None:
        attempted_keys.append(key)
        if away:
            raise ConnectionError("no broker")

    now = 1000.0
    monkeypatch.setattr(broker_circuit_breaker, "time", SimpleNamespace(monotonic=lambda: now))
    breaker = broker_circuit_breaker.BrokerCircuitBreaker(notify)
    first, second, third, *rest = (uuid.uuid4() for _ in range(6))

    with pytest.raises(ConnectionError):
        breaker(first)
    for key in rest:
        with pytest.raises(broker_circuit_breaker.BrokerUnavailable):
            breaker(key)
    now += broker_circuit_breaker.OPEN_SECONDS
    with pytest.raises(ConnectionError):
        breaker(second)
    with pytest.raises(broker_circuit_breaker.BrokerUnavailable):
        breaker(third)
    now, away = now + broker_circuit_breaker.OPEN_SECONDS, False
    for key in (third, *rest):
        breaker(key)

    assert attempted_keys == [first, second, third, *rest]


def test_a_redis_that_is_away_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("redis.retry.sleep", slept.append)

    with celery.connection(f"redis://127.0.0.1:{find_free_port()}/0") as connection, pytest.raises(OperationalError):
        connection.SimpleQueue("none").put("x")

    assert slept == []
