"""Fixtures of the HTTP client tests: servers, host names, settings."""

import socket
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from .servers import Behaviour, FakeResolver, Serve, Server, SilentServer


@pytest.fixture
def run_server() -> Iterator[Serve]:
    """Return a function that starts a server: `serve(behaviour, host="127.0.0.1", tls=None)`."""
    servers: list[Server] = []

    def start(behave: Behaviour, **options: object) -> Server:
        servers.append(Server(behave, **options))  # type: ignore[arg-type]
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def silent_server() -> Iterator[SilentServer]:
    """Yield a port that must not be reached."""
    listening = SilentServer()
    yield listening
    listening.close()


@pytest.fixture(autouse=True)
def outgoing_settings(settings: Settings) -> Settings:
    """Forbid all private addresses, independent of the environment."""
    settings.OUTGOING_ALLOW = []
    settings.OUTGOING_BLOCKED_HOSTS = []
    settings.OUTGOING_BLOCKED_HOST_CHECK = ""
    return settings


@pytest.fixture
def allow_loopback(settings: Settings) -> None:
    """Allow the client 127.0.0.1 and no other private address."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]


@pytest.fixture
def fake_resolver(monkeypatch: pytest.MonkeyPatch) -> FakeResolver:
    """Return a DNS resolver that the test controls."""
    resolver = FakeResolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver
