import socket
from collections.abc import Callable

import pytest
from pytest_django import Settings

from apps.core.http.errors import BadResponse, BadStatus, HttpRequestFailed, HttpRequestRefused, Unreachable
from apps.core.http.sync_client import CALLBACK, Limits, download_file, send_request
from tests.outgoing.test_ssrf_guard import PRIVATE_HOSTS
from tests.support.servers.http import FakeResolver, Serve, SilentServer, send_response

NOT_ALLOWED = "^address not allowed$"
QUICK = Limits(max_bytes=64 * 1024, total_seconds=5, connect_seconds=2)
# For requests that must time out.
SHORT = Limits(max_bytes=64 * 1024, total_seconds=1, connect_seconds=0.5)
CLIENTS = [
    pytest.param(lambda url, limits=QUICK: download_file(url, limits=limits), id="fetch"),
    pytest.param(lambda url, limits=QUICK: send_request("POST", url, body=b"{}", limits=limits), id="request"),
]


@pytest.mark.usefixtures("allow_loopback")
def test_fetch_stores_the_body_of_any_length_at_its_start(run_server: Serve) -> None:
    body = bytes(range(256)) * 16 * 1024
    server = run_server(send_response(body, "Content-Type: image/png"))

    with download_file(server.url + "a.png?v=1", limits=Limits(max_bytes=len(body), total_seconds=5)) as download:
        assert download.file.read() == body

    assert (download.size, download.content_type, download.url) == (len(body), "image/png", server.url + "a.png?v=1")
    assert download.file.closed
    assert server.requests[0].startswith(b"GET /a.png?v=1 HTTP/1.1\r\n")


@pytest.mark.usefixtures("allow_loopback")
def test_request_sends_what_it_is_given_and_returns_any_status(run_server: Serve) -> None:
    server = run_server(send_response(b"gone", "X-Reason: closed", status="410 Gone"))

    received = send_request("POST", server.url + "hook", body=b'{"a":1}', headers={"X-Signature": "s1"})

    assert (received.status, received.ok, received.body, received.truncated) == (410, False, b"gone", False)
    assert received.headers["x-reason"] == "closed"
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert body == b'{"a":1}'
    assert b"X-Signature: s1\r\n" in head + b"\r\n"
    assert b"Accept-Encoding: identity" in head


@pytest.mark.usefixtures("allow_loopback")
@pytest.mark.parametrize("length", [65_535, 65_536, 65_537, 300_000])
def test_request_keeps_64_kib_of_the_answer(run_server: Serve, length: int) -> None:
    server = run_server(send_response(b"x" * length))

    received = send_request("GET", server.url)

    assert CALLBACK.max_bytes == 65_536
    assert len(received.body) == min(length, 65_536)
    assert received.truncated == (length > 65_536)


@pytest.mark.usefixtures("allow_loopback")
@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified", "404 Not Found", "500 Oops"])
def test_fetch_takes_no_status_but_200(run_server: Serve, status: str) -> None:
    server = run_server(send_response(status=status))

    with pytest.raises(BadStatus, match=f"^status {status[:3]}$"):
        download_file(server.url, limits=QUICK)


@pytest.mark.usefixtures("allow_loopback")
def test_proxies_and_credentials_of_the_environment_are_ignored(
    run_server: Serve, silent_server: SilentServer, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    (netrc := tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b")  # type: ignore[operator]
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{silent_server.port}")
    server = run_server(send_response(b"direct"))

    with download_file(server.url, limits=QUICK) as download:
        assert download.file.read() == b"direct"

    assert not silent_server.was_broken()
    assert b"authorization" not in server.requests[0].lower()


@pytest.mark.parametrize("call", CLIENTS)
@pytest.mark.parametrize("host", [*PRIVATE_HOSTS, socket.gethostname()])
def test_private_hosts_are_refused(silent_server: SilentServer, call: Callable[[str], object], host: str) -> None:
    with pytest.raises(HttpRequestRefused, match=NOT_ALLOWED):
        call(f"https://{host}:{silent_server.port}/")

    assert not silent_server.was_broken()


@pytest.mark.parametrize("call", CLIENTS)
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"])
def test_names_of_private_addresses_are_never_connected(
    silent_server: SilentServer, fake_resolver: FakeResolver, call: Callable[[str], object], address: str
) -> None:
    fake_resolver.answers["shop.example"] = [[address]]

    with pytest.raises(HttpRequestRefused, match=NOT_ALLOWED):
        call(f"https://shop.example:{silent_server.port}/")

    assert not silent_server.was_broken()
    assert fake_resolver.lookups == ["shop.example"]


@pytest.mark.usefixtures("allow_loopback")
@pytest.mark.parametrize("call", CLIENTS)
def test_the_port_is_reached_once_it_is_allowed(silent_server: SilentServer, call: Callable[..., object]) -> None:
    with pytest.raises(HttpRequestFailed, match="timed out"):
        call(f"http://127.0.0.1:{silent_server.port}/", limits=SHORT)

    assert silent_server.was_broken()


def test_the_vetted_address_is_connected(run_server: Serve, fake_resolver: FakeResolver, settings: Settings) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.2"]
    vetted = run_server(send_response(b"vetted"), host="127.0.0.2")
    fake_resolver.answers["shop.example"] = [["127.0.0.2"], ["127.0.0.1"]]

    with download_file(f"http://shop.example:{vetted.port}/", limits=QUICK) as download:
        assert download.file.read() == b"vetted"
    # With a second lookup, the client could connect to a different address.
    assert fake_resolver.lookups == ["shop.example"]
    with pytest.raises(HttpRequestRefused, match=NOT_ALLOWED):
        download_file(f"http://shop.example:{vetted.port}/", limits=QUICK)

    assert len(vetted.requests) == 1
    assert f"Host: shop.example:{vetted.port}\r\n".encode() in vetted.requests[0]


def test_one_private_record_is_enough(
    silent_server: SilentServer, fake_resolver: FakeResolver, settings: Settings
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    fake_resolver.answers["shop.example"] = [["127.0.0.1", "10.0.0.1"]]

    with pytest.raises(HttpRequestRefused, match=NOT_ALLOWED):
        download_file(f"http://shop.example:{silent_server.port}/", limits=QUICK)

    assert not silent_server.was_broken()


def test_the_next_record_is_tried_too(run_server: Serve, fake_resolver: FakeResolver, settings: Settings) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.0/8"]
    server = run_server(send_response(b"second"), host="127.0.0.2")
    fake_resolver.answers["shop.example"] = [["127.0.0.1", "127.0.0.2"]]

    with download_file(f"http://shop.example:{server.port}/", limits=QUICK) as download:
        assert download.file.read() == b"second"


@pytest.mark.usefixtures("allow_loopback")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "[::ffff:127.0.0.2]", "localhost", "127.1", "10.0.0.1"])
def test_fetch_vets_each_redirect(run_server: Serve, silent_server: SilentServer, status: str, host: str) -> None:
    server = run_server(send_response(b"", f"Location: http://{host}:{silent_server.port}/", status=status))

    with pytest.raises(HttpRequestRefused, match=NOT_ALLOWED):
        download_file(server.url, limits=QUICK)

    assert not silent_server.was_broken()
    assert len(server.requests) == 1


@pytest.mark.usefixtures("allow_loopback")
@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://shop.example/", "gopher://x/", "javascript:x"])
def test_fetch_vets_the_scheme_of_a_redirect(run_server: Serve, location: str) -> None:
    server = run_server(send_response(b"", f"Location: {location}", status="302 Found"))

    with pytest.raises(HttpRequestRefused, match=r"^the URL must use http or https$"):
        download_file(server.url, limits=QUICK)


@pytest.mark.usefixtures("allow_loopback")
def test_fetch_gives_up_in_a_redirect_loop(run_server: Serve) -> None:
    server = run_server(send_response(b"", "Location: /again", status="302 Found"))

    with pytest.raises(BadResponse, match=r"^too many redirects$"):
        download_file(server.url, limits=QUICK)

    assert len(server.requests) == 4


@pytest.mark.usefixtures("allow_loopback")
def test_fetch_follows_three_redirects_to_other_hosts_and_paths(run_server: Serve) -> None:
    last = run_server(send_response(b"here"))
    third = run_server(send_response(b"", f"Location: {last.url}caf\u00e9 1.png#top", status="308 Permanent Redirect"))
    second = run_server(send_response(b"", f"Location: //127.0.0.1:{third.port}/b", status="307 Temporary Redirect"))
    first = run_server(send_response(b"", f"Location: {second.url}", status="301 Moved Permanently"))

    with download_file(first.url, limits=QUICK) as download:
        assert download.file.read() == b"here"

    assert download.url == f"{last.url}caf%C3%A9%201.png"
    assert third.requests[0].startswith(b"GET /b ")
    assert all(b"Referer" not in server.requests[0] for server in (second, third, last))


@pytest.mark.usefixtures("allow_loopback")
def test_redirects_to_another_host_send_no_headers_of_the_first(run_server: Serve) -> None:
    last = run_server(send_response(b"here"))
    first = run_server(send_response(b"", f"Location: {last.url}", "Set-Cookie: session=s1", status="302 Found"))

    with download_file(f"{first.url}a.zip?token=t1", limits=QUICK):
        head = last.requests[0].decode()

    names = [line.partition(":")[0].lower() for line in head.split("\r\n")[1:] if line]
    assert sorted(names) == ["accept-encoding", "connection", "host", "user-agent"]
    assert "t1" not in head
    assert "s1" not in head


@pytest.mark.usefixtures("allow_loopback")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_request_follows_no_redirect(run_server: Serve, silent_server: SilentServer, status: int) -> None:
    location = f"Location: http://127.0.0.1:{silent_server.port}/"
    server = run_server(send_response(b"", location, status=f"{status} Moved"))

    received = send_request("POST", server.url, body=b"{}", headers={"X-Signature": "s1"})

    assert (received.status, received.ok) == (status, False)
    assert not silent_server.was_broken()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://shop.example/", "the URL must use https"),
        ("https://good\\@127.0.0.1/", "the URL is not a valid URL"),
        ("https://a:b@shop.example/", "the URL must not contain a user name or password"),
        ("https://shop.example:22/", "the URL must use port 80, 443, or 1024 and above"),
    ],
)
def test_request_refuses_urls_by_their_text(fake_resolver: FakeResolver, url: str, reason: str) -> None:
    with pytest.raises(HttpRequestRefused, match=f"^{reason}$"):
        send_request("POST", url)

    assert fake_resolver.lookups == []


@pytest.mark.usefixtures("allow_loopback")
def test_a_closed_port_gives_a_short_error(silent_server: SilentServer) -> None:
    silent_server.close()

    with pytest.raises(Unreachable, match=r"^connection failed$"):
        download_file(f"http://127.0.0.1:{silent_server.port}/", limits=QUICK)


def test_an_unknown_name_gives_a_short_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_args: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(Unreachable, match=r"^host not found$"):
        download_file("https://nowhere.example/", limits=QUICK)
