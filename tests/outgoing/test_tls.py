import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pytest_django import Settings

from apps.core.http.errors import TimedOut, TooLarge, Unreachable
from apps.core.http.guarded_connections import create_tls_context
from apps.core.http.sync_client import Limits, download_file
from tests.outgoing.test_async_client import describe_outcome, post_concurrently
from tests.support.servers.http import FakeResolver, Serve, send_repeatedly, send_response

QUICK = Limits(max_bytes=65536, total_seconds=2)
NOW = datetime.now(UTC)
DAY = timedelta(days=1)
Certify = Callable[..., ssl.SSLContext]


def create_certificate(name: str, expires: datetime = NOW + DAY) -> bytes:
    """Return a self-signed certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 3 * DAY)
        .not_valid_after(expires)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(pem)


@pytest.fixture
def make_tls_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certify:
    def make(name: str = "shop.example", expires: datetime = NOW + DAY, *, trusted: bool = True) -> ssl.SSLContext:
        file = tmp_path / "certificate.pem"
        file.write_bytes(create_certificate(name, expires))
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    return make


@pytest.fixture(autouse=True)
def fresh_context(fake_resolver: FakeResolver, settings: Settings) -> Iterator[None]:
    """Resolve shop.example to an allowed loopback address, and clear the cached trust store afterwards."""
    fake_resolver.answers["shop.example"] = [["127.0.0.1"]]
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    create_tls_context.cache_clear()
    yield
    create_tls_context.cache_clear()


def test_fetch_verifies_the_name_at_the_pinned_address(run_server: Serve, make_tls_context: Certify) -> None:
    context = make_tls_context()
    server_names: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: server_names.append(name)
    server = run_server(send_response(b"secret"), tls=context)

    with download_file(f"https://shop.example:{server.port}/", limits=QUICK) as download:
        assert download.file.read() == b"secret"

    assert server_names == ["shop.example"]
    assert f"Host: shop.example:{server.port}\r\n".encode() in server.requests[0]


@pytest.mark.parametrize(
    ("name", "expires", "trusted"),
    [
        pytest.param("shop.example", NOW + DAY, False, id="self-signed"),
        pytest.param("shop.example", NOW - DAY, True, id="expired"),
        pytest.param("other.example", NOW + DAY, True, id="wrong host"),
    ],
)
def test_fetch_refuses_a_certificate_that_does_not_hold(
    run_server: Serve, make_tls_context: Certify, name: str, expires: datetime, trusted: bool
) -> None:
    server = run_server(send_response(b"secret"), tls=make_tls_context(name, expires, trusted=trusted))

    with pytest.raises(Unreachable, match=r"^invalid certificate$"):
        download_file(f"https://shop.example:{server.port}/", limits=QUICK)

    assert server.requests == []


def test_fetch_refuses_tls_before_1_2(run_server: Serve, make_tls_context: Certify) -> None:
    context = make_tls_context()
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.deprecated_call():
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    server = run_server(send_response(b"secret"), tls=context)

    with pytest.raises(Unreachable, match=r"^connection failed$"):
        download_file(f"https://shop.example:{server.port}/", limits=QUICK)

    assert server.requests == []


def test_limits_hold_inside_tls(run_server: Serve, make_tls_context: Certify) -> None:
    context = make_tls_context()
    dripping = run_server(send_repeatedly(b"HTTP/1.1 200 OK\r\n\r\n", b"a", pause=0.05), tls=context)
    endless = run_server(send_repeatedly(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65536), tls=context)

    with pytest.raises(TimedOut):
        download_file(f"https://shop.example:{dripping.port}/", limits=Limits(max_bytes=65536, total_seconds=0.4))
    with pytest.raises(TooLarge):
        download_file(f"https://shop.example:{endless.port}/", limits=QUICK)


def test_the_loops_client_checks_certificates_as_well(
    run_server: Serve, make_tls_context: Certify, fake_resolver: FakeResolver, settings: Settings
) -> None:
    settings.OUTGOING_ALLOW = ["shop.example", "other.example"]
    fake_resolver.answers |= {name: [["127.0.0.1"]] for name in settings.OUTGOING_ALLOW}
    outcomes = {}
    # The untrusted certificate is first, because SSL_CERT_FILE remains set after a trusted certificate is created.
    for name, options, host in (
        ("unknown", {"trusted": False}, "shop.example"),
        ("good", {}, "shop.example"),
        ("another name", {}, "other.example"),
        ("expired", {"expires": NOW - DAY}, "shop.example"),
    ):
        server = run_server(send_response(b"ok"), tls=make_tls_context(**options))
        create_tls_context.cache_clear()
        ((result, _),) = post_concurrently(f"https://{host}:{server.port}/")
        outcomes[name] = describe_outcome(result)

    assert outcomes == {"unknown": "tls", "good": "200", "another name": "tls", "expired": "tls"}
