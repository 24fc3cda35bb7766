import socket
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.support.servers.http import Behavior, FakeResolver, Serve, Server, SilentServer


@pytest.fixture
def run_server() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(behave: Behavior, **options: object) -> Server:
        servers.append(Server(behave, **options))  # type: ignore[arg-type]
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def silent_server() -> Iterator[SilentServer]:
    listening = SilentServer()
    yield listening
    listening.close()


@pytest.fixture(autouse=True)
def outgoing_settings(settings: Settings) -> Settings:
    """Forbid all private addresses, regardless of environment variables."""
    settings.OUTGOING_ALLOW = []
    settings.OUTGOING_BLOCKED_HOSTS = []
    settings.OUTGOING_BLOCKED_HOST_CHECK = ""
    return settings


@pytest.fixture
def fake_resolver(monkeypatch: pytest.MonkeyPatch) -> FakeResolver:
    resolver = FakeResolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver
