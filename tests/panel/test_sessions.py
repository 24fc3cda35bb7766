"""Tests for the list of a user's sessions, and for signing out on other devices."""

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.shops.models import Shop
from apps.staff.domain.sessions import delete_expired_sessions, describe_device
from apps.staff.models import User
from tests import factories
from tests.panel.conftest import PASSWORD

HOME = "/s/acme/admin/"
PROFILE = "/accounts/profile/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1"


@pytest.fixture
def member(shop: Shop) -> User:
    user = factories.make_member(shop, email="kim@example.com")
    user.set_password(PASSWORD)
    user.save()
    return user


def log_in_browser(email: str = "kim@example.com", agent: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": agent})
    client.post("/accounts/login/", {"login": email, "password": PASSWORD})
    return client


def is_logged_in(client: Client) -> bool:
    return client.get(HOME).status_code == 200


@pytest.mark.parametrize(
    ("agent", "device"),
    [
        (FIREFOX, "Firefox on Linux"),
        (SAFARI, "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0", "Edge on Windows"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/120.0 Safari/537",
            "Chrome on macOS",
        ),
        ("curl/8.5.0", "Unknown device"),
        ("", "Unknown device"),
    ],
)
def test_a_device_is_named_in_words(agent: str, device: str) -> None:
    assert describe_device(agent) == device


def test_the_profile_lists_ones_own_sessions(member: User, shop: Shop) -> None:
    other = factories.make_member(shop, email="lee@example.com")
    other.set_password(PASSWORD)
    other.save()
    own_browser, phone = log_in_browser(), log_in_browser(agent=SAFARI)
    log_in_browser("lee@example.com")

    sessions = own_browser.get(PROFILE).context["sessions"]

    assert [(session.device, session.is_this) for session in sessions] == [
        ("Firefox on Linux", True),
        ("Safari on iPhone", False),
    ]
    assert is_logged_in(phone)


def test_one_other_session_is_signed_out(member: User) -> None:
    own_browser, phone, tablet = log_in_browser(), log_in_browser(agent=SAFARI), log_in_browser()
    pk = UserSession.objects.get(session_key=phone.session.session_key).pk

    own_browser.post(f"/accounts/sessions/{pk}/end/")

    assert (is_logged_in(own_browser), is_logged_in(phone), is_logged_in(tablet)) == (True, False, True)


def test_signing_out_everywhere_else_keeps_this_one(member: User) -> None:
    own_browser, phone, tablet = log_in_browser(), log_in_browser(agent=SAFARI), log_in_browser()

    page = own_browser.post("/accounts/sessions/end-others/", follow=True)

    assert (is_logged_in(own_browser), is_logged_in(phone), is_logged_in(tablet)) == (True, False, False)
    assert len(page.context["sessions"]) == 1


def test_users_cannot_sign_out_other_users(member: User, shop: Shop) -> None:
    other = factories.make_member(shop, email="lee@example.com")
    other.set_password(PASSWORD)
    other.save()
    kim, lee = log_in_browser(), log_in_browser("lee@example.com")
    theirs = UserSession.objects.get(user=other).pk

    answers = [kim.post(f"/accounts/sessions/{theirs}/end/"), kim.post("/accounts/sessions/end-others/")]

    assert [response.status_code for response in answers] == [404, 302]
    assert is_logged_in(lee)


@pytest.mark.parametrize("path", ["/accounts/sessions/1/end/", "/accounts/sessions/end-others/"])
def test_signing_out_needs_a_login_and_a_post(member: User, path: str) -> None:
    stranger, own_browser = Client(), log_in_browser()

    assert stranger.post(path).headers["Location"].startswith("/accounts/login/")
    assert own_browser.get(path).status_code == 405


def test_a_session_is_seen_again_after_five_minutes_and_not_at_every_click(member: User) -> None:
    own_browser = log_in_browser()
    own_browser.get(HOME)
    long_ago = timezone.now() - timedelta(days=1)
    UserSession.objects.update(last_seen_at=long_ago)

    own_browser.get(HOME)
    unmoved = UserSession.objects.get().last_seen_at
    cache.clear()
    own_browser.get(HOME, headers={"user-agent": SAFARI})

    session = UserSession.objects.get()
    assert unmoved == long_ago
    assert session.last_seen_at > long_ago
    assert session.user_agent == SAFARI


def test_a_session_from_before_they_were_listed_appears(member: User) -> None:
    cache.clear()
    own_browser = Client()
    own_browser.force_login(member)

    sessions = own_browser.get(PROFILE).context["sessions"]

    assert [session.is_this for session in sessions] == [True]


def test_expired_sessions_are_cleared(member: User) -> None:
    own_browser, closed_browser = log_in_browser(), log_in_browser()
    Session.objects.filter(pk=closed_browser.session.session_key).update(
        expire_date=timezone.now() - timedelta(seconds=1)
    )

    cleared = delete_expired_sessions(timezone.now())

    assert cleared == 1
    assert is_logged_in(own_browser)
    assert UserSession.objects.count() == 1
