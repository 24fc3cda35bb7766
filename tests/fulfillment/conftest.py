"""Fixtures for fulfillment tests."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.support.servers.http import Server, send_response


@pytest.fixture
def warehouse(settings: Settings) -> Iterator[Server]:
    """Return a server that answers the requests to a fulfillment service."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    server = Server(send_response(b"{}"))
    yield server
    server.close()
