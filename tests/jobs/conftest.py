"""Fixtures for job tests."""

import uuid

import pytest

from apps.core.jobs import queue


@pytest.fixture
def notified_jobs(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Return a list that collects each job key passed to the notifier."""
    keys: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "notifiers", {"test": keys.append})
    return keys
