"""Fixtures for content tests: a file server and ZIP archives."""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.core.http.guarded_connections import create_tls_context
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.servers.files import FileServer, _certificate


@pytest.fixture
def file_server(settings: Settings) -> Iterator[FileServer]:
    """Return a file server that acts as a third party and that outgoing requests may reach."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    settings.OUTGOING_BLOCKED_HOSTS = []
    server = FileServer()
    yield server
    server.close()


@pytest.fixture
def secure_file_server(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Return a file server with TLS and a certificate that outgoing requests trust."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    settings.OUTGOING_BLOCKED_HOSTS = []
    file = tmp_path / "certificate.pem"
    file.write_bytes(_certificate())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    create_tls_context.cache_clear()
    server = FileServer(context)
    yield server
    server.close()
    create_tls_context.cache_clear()


@pytest.fixture
def run_jobs(shop: Shop) -> Callable[[], list[Job]]:
    """Return a function that runs all waiting jobs of the shop, as a worker would."""

    def run() -> list[Job]:
        with shop_scope(shop):
            waiting = list(Job.objects.filter(state=Job.State.WAITING).order_by("id"))
        for job in waiting:
            jobs.run_job(job.key)
        with shop_scope(shop):
            return list(Job.objects.filter(pk__in=[job.pk for job in waiting]).order_by("id"))

    return run
