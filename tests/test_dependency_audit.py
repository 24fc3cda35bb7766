"""Tests of ``make audit``. They need no internet: a local proxy replaces the vulnerability service."""

import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings

from tests.outgoing.test_tls import create_certificate
from tests.support import dependency_audit
from tests.support.dependency_audit import ALLOWED, LOCK, Allowance, list_locked_packages, read_allowances

TODAY = datetime.now(UTC).date()
# How far in the future an allowance may end.
LONGEST = timedelta(days=90)
FLAW = {
    "id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "fixed_in": ["5.2.99"], "details": "", "summary": "",
    "withdrawn": None,
}  # fmt: skip


class FakePyPI(BaseHTTPRequestHandler):
    """A proxy that answers requests to pypi.org: Django has a vulnerability, and idna is unknown."""

    context: ssl.SSLContext

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        with self.context.wrap_socket(self.connection, server_side=True) as tls:
            head = tls.recv(65536)
            name = head.split(b" ")[1].decode().split("/")[2]
            status, vulnerabilities = (404, []) if name == "idna" else (200, [FLAW] if name == "django" else [])
            body = json.dumps({"vulnerabilities": vulnerabilities}).encode()
            lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json", f"Content-Length: {len(body)}"]
            tls.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def fake_pypi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    certificate = tmp_path / "certificate.pem"
    certificate.write_bytes(create_certificate("pypi.org"))
    FakePyPI.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    FakePyPI.context.load_cert_chain(certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakePyPI)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    yield
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _few_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = ["django==5.2.1", "idna==3.10", "networkx==3.6", "networkx==3.7"]
    monkeypatch.setattr(dependency_audit, "list_locked_packages", lambda: packages)
    monkeypatch.setattr(dependency_audit, "read_allowances", list)
    monkeypatch.setenv("NO_PROXY", "")


def test_a_vulnerability_fails_the_audit(fake_pypi: None) -> None:
    lines, status = dependency_audit.run_audit()

    assert status == 1
    assert lines[:-1] == [
        "django 5.2.1: PYSEC-2026-1, CVE-2026-1 (fixed in 5.2.99; NOT ALLOWED)",
        "Checked 3 of 4 packages.",
    ]
    assert lines[-1] == "WARNING: 1 packages were NOT checked, because the service has no data: idna"


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (Allowance("CVE-2026-1", "django", "Not affected.", TODAY), 0),
        (Allowance("CVE-2026-1", "django", "Not affected.", TODAY - timedelta(days=1)), 1),
        (Allowance("CVE-2026-1", "idna", "Not affected.", TODAY), 1),
        (Allowance("CVE-2026-2", "django", "Not affected.", TODAY), 1),
    ],
    ids=["allowed", "expired", "another package", "another id"],
)
def test_an_allowance_covers_its_vulnerability_until_its_date(
    entry: Allowance, status: int, fake_pypi: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependency_audit, "read_allowances", lambda: [entry])
    today = datetime.combine(TODAY, time(12), UTC)
    monkeypatch.setattr(dependency_audit, "datetime", SimpleNamespace(now=lambda zone: today))

    lines, result = dependency_audit.run_audit()

    assert result == status
    assert ("allowed: Not affected." in lines[0]) == (status == 0)


def test_a_service_that_is_away_is_reported_and_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

    lines, status = dependency_audit.run_audit()

    assert status == 0
    assert lines[0].startswith("WARNING: 4 packages were NOT checked, because the service is not available: ")


def test_an_error_of_pip_audit_fails_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependency_audit, "list_locked_packages", lambda: ["no requirement"])

    lines, status = dependency_audit.run_audit()

    assert status == 1
    assert lines[0].startswith("pip-audit failed: ")


def test_all_locked_packages_are_audited() -> None:
    packages = list_locked_packages(LOCK)

    assert len(packages) > 200
    assert {name.partition("==")[0] for name in packages} >= {"django", "django-unfold", "pillow", "aio-pika", "pytest"}


def test_allowances_have_a_reason_and_are_not_past_their_date() -> None:
    for entry in read_allowances(ALLOWED):
        assert TODAY <= entry.until <= TODAY + LONGEST, f"check {entry.id} again"
        assert entry.reason.endswith(".")
        assert any(package.startswith(f"{entry.package}==") for package in list_locked_packages(LOCK)), entry.package


def test_ci_runs_the_audit() -> None:
    assert "\nmake audit\n" in Path(settings.BASE_DIR, ".ci/run").read_text()
