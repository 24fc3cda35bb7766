"""Fixtures for customer tests."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from apps.core.events.recording import audiences
from apps.core.tenancy.models import Shop


@pytest.fixture
def subscribed_app() -> Iterator[None]:
    """Render the payloads of all events, as if an app had subscribed to every topic."""

    def audience(shop: Shop, topic: str) -> frozenset[str]:
        return frozenset({"2026-07"})

    with patch.dict(audiences, {audience: None}):
        yield
