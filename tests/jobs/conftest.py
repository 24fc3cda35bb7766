"""What the tests of jobs share."""

import uuid

import pytest

from apps.jobs.domain import queue


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """The keys for which the bell was rung."""
    heard: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "_notifiers", [heard.append])
    return heard
