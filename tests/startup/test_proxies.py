"""Tests that clients behind trusted proxies are identified by their own address, which they cannot fake."""

from ipaddress import ip_network

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.middleware import get_client_address
from tests.support import factories

PROXY = "10.0.0.1"

CASES = [
    ("203.0.113.9", "", "203.0.113.9"),
    ("203.0.113.9", "198.51.100.7", "203.0.113.9"),
    (PROXY, "198.51.100.7", "198.51.100.7"),
    (PROXY, "6.6.6.6, 198.51.100.7", "198.51.100.7"),
    (PROXY, "6.6.6.6, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
    (PROXY, "10.0.0.3, 10.0.0.2", "10.0.0.3"),
    (PROXY, "198.51.100.7:4711", "198.51.100.7"),
    (PROXY, "[2001:db8::7]:443", "2001:db8::7"),
    (PROXY, "2001:db8::7", "2001:db8::7"),
    (PROXY, "nonsense", PROXY),
    (PROXY, "198.51.100.7, nonsense", PROXY),
    (PROXY, "", PROXY),
    ("", "198.51.100.7", ""),
]


@pytest.fixture(autouse=True)
def trusted_proxy(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def test_the_client_address_is_the_last_hop_before_our_proxies() -> None:
    assert [
        (peer, forwarded, get_client_address({"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": forwarded}))
        for peer, forwarded, _ in CASES
    ] == CASES


def test_the_header_is_ignored_without_trusted_proxies(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ()

    assert get_client_address({"REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": "198.51.100.7"}) == PROXY


@pytest.mark.django_db
def test_failed_logins_lock_out_only_their_client_and_are_logged(
    shop: Shop, settings: Settings, time_machine: TimeMachineFixture
) -> None:
    # The limit recovers with time, so a slow machine must not get a new attempt.
    time_machine.move_to(timezone.now(), tick=False)
    member = factories.make_member(shop, "orders")
    member.set_password("a long password")
    member.save()

    def log_in(client_ip: str, email: str, password: str) -> int:
        client = Client(REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_FOR=f"6.6.6.6, {client_ip}")
        return client.post("/accounts/login/", {"login": email, "password": password}).status_code

    wrong = [log_in("198.51.100.66", f"nobody{number}@example.com", "wrong") for number in range(31)]
    locked = log_in("198.51.100.66", member.email, "a long password")
    welcome = log_in("198.51.100.7", member.email, "a long password")
    log_in("198.51.100.8", member.email, "wrong")

    assert (wrong[0], wrong[-1], locked, welcome) == (200, 429, 429, 302)
    with shop_scope(shop):
        assert Event.objects.filter(topic="staff/login_failed").latest("id").address == "198.51.100.8"
    assert UserSession.objects.get(user=member).ip == "198.51.100.7"
