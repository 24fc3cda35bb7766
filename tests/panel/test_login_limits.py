"""The limits for login attempts: an attacker must wait, and the owner of the account can log in (A19 and A20)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import settings
from django.test import Client
from time_machine import TimeMachineFixture

from apps.core.tenancy.models import Shop, User
from apps.staff.accounts import login_limits
from backoffice.configuration.caches import MachineCache, ProcessCache
from tests.support import factories
from tests.support.panel.client import PASSWORD

EMAIL = "kim@example.com"
HERE, AWAY = "198.51.100.1", "203.0.113.9"


@pytest.fixture
def member(shop: Shop) -> User:
    user = factories.make_member(shop, "preferences", email=EMAIL)
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture(autouse=True)
def clock(time_machine: TimeMachineFixture) -> TimeMachineFixture:
    time_machine.move_to("2026-03-02T12:00:00Z", tick=False)
    return time_machine


def log_in(address: str, password: str = PASSWORD, client: Client | None = None) -> int:
    data = {"login": EMAIL, "password": password}
    return (client or Client()).post("/accounts/login/", data, REMOTE_ADDR=address).status_code


def fail(address: str, times: int) -> list[int]:
    return [log_in(address, "wrong") for _ in range(times)]


@pytest.fixture
def attacked(member: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill the bucket of the account from several networks."""
    monkeypatch.setattr(login_limits, "ACCOUNT_ATTEMPTS", 10)
    monkeypatch.setattr(login_limits, "ACCOUNT_ATTEMPTS_PER_MINUTE", 2)
    for number in range(3):
        fail(f"192.0.2.{number}", 5)


def test_refused_attempts_use_up_no_other_limit(member: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_limits, "ACCOUNT_ATTEMPTS", 10)
    monkeypatch.setattr(login_limits, "ACCOUNT_ATTEMPTS_PER_MINUTE", 2)
    for number in range(2):
        fail(f"192.0.2.{number}", 5)

    assert [log_in(HERE) for _ in range(40)] == [429] * 40

    monkeypatch.setattr(login_limits, "ACCOUNT_ATTEMPTS", 50)
    assert log_in(HERE) == 302


def test_a_full_cache_of_logins_deletes_expired_and_then_old_entries(tmp_path: Path, clock: TimeMachineFixture) -> None:
    cache, paths = MachineCache(str(tmp_path), {"max_entries": 6}), list[Path]()
    for number in range(5):
        cache.set(f"old-{number}", number, 60 if number else 3600)
        (path,) = set(tmp_path.glob("*.djcache")) - set(paths)
        os.utime(path, (number + 1, number + 1))
        paths.append(path)
    cache.set("expired", 1, 1)
    clock.shift(10)

    cache.set("new", 1, 60)

    assert cache.get("expired") is None
    assert [cache.get(f"old-{number}") for number in range(5)] == [0, 1, 2, 3, 4]
    cache.set("newer", 1, 60)
    assert [cache.get(f"old-{number}") for number in range(5)] == [None, None, 2, 3, 4]
    assert (cache.get("new"), cache.get("newer")) == (1, 1)


def test_an_attacker_does_not_keep_out_the_owner(member: User, clock: TimeMachineFixture) -> None:
    assert fail(AWAY, 10) == [200] * 5 + [429] * 5
    for minute in range(1, 31):
        clock.move_to(f"2026-03-02T12:{minute:02}:00Z", tick=False)
        assert fail(AWAY, 2) == [200, 429]

    assert (log_in(AWAY), log_in(HERE)) == (429, 302)


def test_logins_are_slowed_down_and_not_locked(member: User, clock: TimeMachineFixture) -> None:
    fail(HERE, 20)
    clock.move_to("2026-03-02T12:01:00Z", tick=False)

    assert log_in(HERE) == 302
    assert log_in(HERE) == 302


def test_addresses_of_an_ipv6_network_are_counted_together(member: User) -> None:
    addresses = [f"2001:db8:0:1::{number:x}" for number in range(1, 8)]

    assert [log_in(address, "wrong") for address in addresses] == [200] * 5 + [429] * 2
    assert log_in("2001:db8:0:2::1") == 302


def test_a_network_is_counted_for_all_accounts(member: User) -> None:
    client = Client()
    for number in range(30):
        data = {"login": f"{number}@example.com", "password": PASSWORD}
        client.post("/accounts/login/", data, REMOTE_ADDR=AWAY)

    assert (log_in(AWAY), log_in(HERE)) == (429, 302)


@pytest.fixture
def device(member: User) -> Client:
    """Return a browser that has logged in before."""
    client = Client()
    log_in(HERE, client=client)
    client.post("/accounts/logout/")
    return client


def test_a_known_device_is_let_through(device: Client, attacked: None) -> None:
    forged = Client()
    forged.cookies.load({name: "device:forged" for name in device.cookies if name.startswith("device_")})
    # Another attacker is in the owner's network.
    fail(HERE, 5)

    assert forged.cookies
    assert {log_in(AWAY), log_in(AWAY, client=forged), log_in(HERE)} == {429}
    assert log_in(HERE, client=device) == 302


def test_a_known_device_is_slowed_down_by_its_own_failures(device: Client) -> None:
    attempts = [log_in(f"192.0.2.{number}", "wrong", device) for number in range(6)]

    assert attempts == [200] * 5 + [429]


def test_an_account_with_a_second_factor_is_let_through(member: User, attacked: None) -> None:
    TOTP.activate(member, generate_totp_secret())
    client = Client()

    response = client.post("/accounts/login/", {"login": EMAIL, "password": PASSWORD}, REMOTE_ADDR=HERE)

    assert response.headers["Location"].startswith("/accounts/2fa/authenticate/")


_ADD_100 = """
from django.core.cache import cache
print(sum(cache.add(f"allauth.mfa.totp.used?code={number}", "y", 30) for number in range(100)))
"""


def test_processes_share_used_codes_by_default(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CACHE_URL"}
    environment |= {"BACKOFFICE_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "backoffice.settings"}
    command = [sys.executable, "-c", _ADD_100]
    workers = [
        subprocess.Popen(command, env=environment, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]

    assert sum(int(worker.communicate(timeout=60)[0]) for worker in workers) == 100


def test_files_contain_only_the_keys_of_logins(tmp_path: Path) -> None:
    cache, other = (ProcessCache(str(tmp_path / "cache"), {}) for _ in range(2))

    for key in ("allauth:rl:login", "login-locked:kim", "counts"):
        cache.set(key, [1], 60)

    assert len(list(tmp_path.glob("cache/*.djcache"))) == 2
    assert other.get("allauth:rl:login") == [1]
    assert (other.has_key("login-locked:kim"), other.touch("login-locked:kim", 60)) == (True, True)
    cache.set("login-count", 1, 60)
    assert (cache.incr("login-count"), other.incr("login-count")) == (2, 3)
    assert other.delete("login-locked:kim")
    assert cache.get("login-locked:kim") is None
    cache.clear()
    assert not list(tmp_path.glob("cache/*.djcache"))
