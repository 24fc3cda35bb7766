"""Fixtures for everything around the client: servers, names, settings."""

import socket
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from .servers import Behaviour, Names, Serve, Server, Silence


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server: `serve(behaviour, host="127.0.0.1", tls=None)`."""
    servers: list[Server] = []

    def start(behave: Behaviour, **options: object) -> Server:
        servers.append(Server(behave, **options))  # type: ignore[arg-type]
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def silence() -> Iterator[Silence]:
    """A port that must not be reached."""
    listening = Silence()
    yield listening
    listening.close()


@pytest.fixture(autouse=True)
def outgoing_settings(settings: Settings) -> Settings:
    """Settings under which nothing private may be reached, whatever the environment says."""
    settings.OUTGOING_ALLOW = []
    settings.OUTGOING_BLOCKED_HOSTS = []
    settings.OUTGOING_BLOCKED_HOST_CHECK = ""
    return settings


@pytest.fixture
def allow_loopback(settings: Settings) -> None:
    """Let the client reach 127.0.0.1, and no other address."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """The resolver of the network's edge, under the test's control."""
    resolver = Names()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver
