"""Fixtures for job tests."""

import uuid

import pytest

from apps.jobs.domain import queue


@pytest.fixture
def notified_jobs(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Return a list that receives the keys of notified jobs."""
    keys: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "_notifiers", [keys.append])
    return keys
