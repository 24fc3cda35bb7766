"""Fixtures for content tests: a file server and ZIP archives."""

import io
import ssl
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apps.ground.tenancy import shop_scope
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.outgoing.guarded_connections import create_tls_context
from apps.shops.models import Shop

LAYOUT = "layout/theme.liquid"


class FileServer:
    """A local web server with responses set by the test."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.status = 200
        self.requests: list[str] = []
        origin = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                origin.requests.append(path)
                body = origin.files.get(path)
                status = origin.status if body is not None else 404
                self.send_response(status)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        # By default, the server checks only every half second whether to stop, which would slow down each test.
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}{path}"

    def offer(self, path: str, body: bytes) -> str:
        self.files[path] = body
        return self.url(path)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def file_server(settings: Any) -> Iterator[FileServer]:
    """Return a file server that acts as a third party and that outgoing requests may reach."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    settings.OUTGOING_BLOCKED_HOSTS = []
    server = FileServer()
    yield server
    server.close()


@pytest.fixture
def secure_file_server(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
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


def _certificate() -> bytes:
    """Return a private key and a certificate for 127.0.0.1, in PEM format."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "origin")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + certificate.public_bytes(pem)


def create_zip(files: Mapping[str, bytes | str]) -> bytes:
    """Return a valid ZIP archive with the files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


SMALL_THEME: dict[str, bytes | str] = {
    LAYOUT: "<html>{{ content_for_layout }}</html>",
    "templates/index.liquid": "<h1>Hello</h1>",
    "assets/logo.png": bytes(range(256)),
    "config/settings_data.json": "{}",
}


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
