import socket
import sys
from ipaddress import ip_address
from types import ModuleType

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from apps.core.http.apps import OutgoingConfig
from apps.core.http.ssrf_guard import (
    AddressRefused,
    Target,
    UrlRefused,
    check_addresses,
    check_url,
    is_own_address,
    is_public,
    resolve_host,
)
from tests.support.servers.http import FakeResolver

PUBLIC = "93.184.216.34"
REFUSED = r"^is not an allowed address$"
BOTH = ("http", "https")

PRIVATE_HOSTS = [
    *["127.0.0.1", "127.0.0.1.", "127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "①②⑦.0.0.1"],
    *["127。0。0。1", "127.0.0.%31", "0", "0.0.0.0", "169.254.169.254", "100.64.0.1", "10.0.0.1", "10.255.255.255"],
    *["172.16.0.1", "172.31.255.255", "192.168.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1"],
    *["224.0.0.1", "240.0.0.1", "255.255.255.255"],
    *["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[64:ff9b::a9fe:a9fe]"],
    *["[64:ff9b:1::1]", "[2002:7f00:1::]", "[fe80::1%eth0]", "[fe80::1%25eth0]", "[fe80::1]", "[fec0::1]"],
    *["[fd00::1]", "[ff02::1]"],
    *["localhost", "LOCALHOST.", "db.localhost", "redis", "printer.local", "metadata.google.internal", "nas.home.arpa"],
]


@pytest.mark.parametrize("host", [*PRIVATE_HOSTS, socket.gethostname()])
def test_vet_url_refuses_private_hosts_in_every_spelling_with_one_wording(host: str) -> None:
    with pytest.raises(AddressRefused, match=REFUSED):
        check_url(f"https://{host}:8443/hook", schemes=["https"])


@pytest.mark.parametrize(
    "address",
    [
        *["0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1"],
        *["192.0.0.8", "192.0.0.9", "192.88.99.1", "198.18.0.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1"],
        *["::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1"],
        *["2001::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "4000::1", "5f00::1"],
        *["fc00::1", "fd00::1", "fe80::1", "fec0::1", "ff02::1", "ff0e::1"],
    ],
)
def test_is_public_denies_every_range_that_is_not_the_internet(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_is_public_accepts_public_hosts_wrapped_or_not(address: str) -> None:
    assert is_public(ip_address(address))


def test_is_own_knows_this_machines_addresses() -> None:
    assert is_own_address(ip_address("127.0.0.1"))
    assert not is_own_address(ip_address(PUBLIC))


def test_vet_url_refuses_a_public_address_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    check_url(f"https://{PUBLIC}/", schemes=["https"])
    monkeypatch.setattr(socket.socket, "connect", lambda *_args: None)
    monkeypatch.setattr(socket.socket, "getsockname", lambda _self: (PUBLIC, 40000))

    with pytest.raises(AddressRefused, match=REFUSED):
        check_url(f"https://{PUBLIC}/", schemes=["https"])


HOST = "https://shop.example"
BROKEN_RULES = {
    "must use https": (
        *("http://shop.example/", "ftp://shop.example/", "file:///etc/passwd", "gopher://shop.example/"),
        *("javascript:alert(1)", "//shop.example/", "/hook", ""),
    ),
    "is not a valid URL": (
        *("https://good\\@127.0.0.1/", f"{HOST}/a\\b", "https://shop.exa\tmple/", f"{HOST}/\r\nX: y", f" {HOST}/"),
        *(f"{HOST}/a b", f"{HOST}/\ud800", f"{HOST}/" + "a" * 4096, "https:///hook", "https://shop..example/"),
        *("https://sh$op.example/", "https://xn--a\u0378.example/", f"https://{'a' * 64}.example/", "https://[::1/"),
        *(f"{HOST}:99999/", f"{HOST}:８０/", f"{HOST}:-1/"),
    ),
    "must not contain a user name or password": ("https://user:pass@shop.example/", "https://@shop.example/"),
    "must not contain a fragment": (f"{HOST}/#@127.0.0.1/",),
    "must use port 80, 443, or 1024 and above": (f"{HOST}:22/", f"{HOST}:0/", f"{HOST}:1023/"),
}


@pytest.mark.parametrize(("reason", "url"), [(reason, url) for reason, urls in BROKEN_RULES.items() for url in urls])
def test_vet_url_says_which_rule_a_url_breaks(reason: str, url: str) -> None:
    with pytest.raises(UrlRefused, match=f"^{reason}$"):
        check_url(url, schemes=["https"])


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://Shop.Example", Target("https", "shop.example", 443, "/")),
        ("https://shop.example.:443/a?b=c&d=%20", Target("https", "shop.example", 443, "/a?b=c&d=%20")),
        ("http://shop.example:8080/?x", Target("http", "shop.example", 8080, "/?x")),
        ("https://faß.example/é?ü", Target("https", "xn--fa-hia.example", 443, "/%C3%A9?%C3%BC")),
        (f"http://{PUBLIC}/", Target("http", PUBLIC, 80, "/")),
        ("https://[2606:4700::1111]:1024/", Target("https", "2606:4700::1111", 1024, "/")),
    ],
)
def test_vet_url_reads_a_url_into_its_canonical_parts(url: str, target: Target) -> None:
    vetted = check_url(url, schemes=BOTH)

    assert vetted == target
    assert check_url(vetted.url, schemes=BOTH) == target


def test_vet_url_looks_no_name_up(fake_resolver: FakeResolver) -> None:
    fake_resolver.answers["unknown.example"] = [["127.0.0.1"]]

    check_url("https://unknown.example/", schemes=["https"])

    assert fake_resolver.lookups == []


@pytest.mark.parametrize("entry", ["127.0.0.1", "127.0.0.0/8", " 127.0.0.1 ", "10.0.0.0/8,127.0.0.1"])
def test_vet_url_accepts_allowed_networks_by_http_and_on_any_port(settings: Settings, entry: str) -> None:
    settings.OUTGOING_ALLOW = entry.split(",")

    assert check_url("http://127.0.0.1:22/", schemes=["https"]).port == 22
    assert check_url("http://[::ffff:127.0.0.1]/", schemes=["https"]).port == 80
    with pytest.raises(AddressRefused):
        check_url("http://192.168.0.1/", schemes=BOTH)
    with pytest.raises(UrlRefused, match="must use https"):
        check_url("ftp://127.0.0.1/", schemes=["https"])


def test_vet_url_accepts_allowed_names_wherever_they_lead(settings: Settings, fake_resolver: FakeResolver) -> None:
    settings.OUTGOING_ALLOW = ["sink", "localhost"]
    fake_resolver.answers["sink"] = [["10.1.2.3"]]

    target = check_url("http://SINK:81/", schemes=["https"])

    assert [address.sockaddr for address in resolve_host(target.host, target.port)] == [("10.1.2.3", 81)]
    assert check_url("http://localhost/", schemes=["https"]).host == "localhost"
    with pytest.raises(AddressRefused):
        check_url("http://10.1.2.3/", schemes=BOTH)


def test_refused_hosts_are_refused_by_name_and_by_address(settings: Settings, fake_resolver: FakeResolver) -> None:
    settings.OUTGOING_BLOCKED_HOSTS = ["db.example", "93.184.216.0/24"]
    fake_resolver.answers["alias.example"] = [[PUBLIC]]

    for host in ("db.example", "DB.example.", PUBLIC, f"[::ffff:{PUBLIC}]"):
        with pytest.raises(AddressRefused, match=REFUSED):
            check_url(f"https://{host}/", schemes=["https"])
    with pytest.raises(AddressRefused, match=REFUSED):
        resolve_host("alias.example", 443)


def test_allowed_wins_over_refused(settings: Settings) -> None:
    settings.OUTGOING_BLOCKED_HOSTS = settings.OUTGOING_ALLOW = ["127.0.0.1"]

    assert check_url("http://127.0.0.1:9000/", schemes=["https"]).host == "127.0.0.1"


def test_refused_host_check_is_asked_for_names(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    domains = ModuleType("own_domains")
    domains.is_ours = lambda host: host == "shop.example"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_domains", domains)
    settings.OUTGOING_BLOCKED_HOST_CHECK = "own_domains.is_ours"

    with pytest.raises(AddressRefused, match=REFUSED):
        check_url("https://Shop.example/", schemes=["https"])
    assert check_url("https://other.example/", schemes=["https"]).host == "other.example"


@pytest.mark.parametrize("name", ["OUTGOING_ALLOW", "OUTGOING_BLOCKED_HOSTS"])
@pytest.mark.parametrize("entry", ["127.0.0.1:8000", "http://sink", "10.0.0.0/33", "127.1", "*.example"])
def test_start_stops_at_an_entry_that_is_no_host(settings: Settings, name: str, entry: str) -> None:
    setattr(settings, name, [entry])

    with pytest.raises(ImproperlyConfigured, match=name):
        OutgoingConfig.create("apps.core.http").ready()


@pytest.mark.parametrize("private", ["127.0.0.1", "10.0.0.1", "::1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "fe80::1"])
@pytest.mark.parametrize("position", [0, 1])
def test_resolve_refuses_any_private_record(fake_resolver: FakeResolver, private: str, position: int) -> None:
    records = [PUBLIC]
    records.insert(position, private)
    fake_resolver.answers["shop.example"] = [records]

    with pytest.raises(AddressRefused, match=REFUSED):
        resolve_host("shop.example", 443)


def test_resolve_returns_every_record_of_a_public_name(fake_resolver: FakeResolver) -> None:
    fake_resolver.answers["shop.example"] = [[PUBLIC, "2606:4700::1111"]]

    addresses = resolve_host("shop.example", 443)

    assert [(address.family, address.sockaddr[:2]) for address in addresses] == [
        (socket.AF_INET, (PUBLIC, 443)),
        (socket.AF_INET6, ("2606:4700::1111", 443)),
    ]


@pytest.mark.parametrize("literal", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0"])
def test_resolve_refuses_what_the_c_library_reads_as_an_address(literal: str) -> None:
    with pytest.raises(AddressRefused, match=REFUSED):
        resolve_host(literal, 443)


def test_vet_addresses_vets_a_bare_address_for_a_socket(allow_loopback: None) -> None:
    check_addresses("", [PUBLIC])
    check_addresses("", ["127.0.0.1"])

    with pytest.raises(AddressRefused, match=REFUSED):
        check_addresses("", ["127.0.0.2"])
