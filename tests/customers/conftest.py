from collections.abc import Iterator
from unittest.mock import patch

import pytest

from apps.core.events.recording import audiences


@pytest.fixture
def subscribed_app() -> Iterator[None]:
    """Render the payloads of all events, as if an app had subscribed to every topic."""
    with patch.dict(audiences, {lambda shop, topic: frozenset({"2026-10"}): None}):
        yield
