"""Fixtures for job tests."""

import uuid

import pytest

from apps.jobs.domain import queue


@pytest.fixture
def notified_jobs(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Return a list that collects each job key passed to the notifier."""
    keys: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "_notifiers", [keys.append])
    return keys
