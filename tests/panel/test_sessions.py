from datetime import UTC, date, datetime, timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.usersessions.models import UserSession
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.sessions import delete_expired_sessions, describe_device
from tests.panel.test_login import make_person
from tests.panel.test_settings import build_settings_form
from tests.support import factories
from tests.support.panel.client import PASSWORD, Panel, get_totp_code

HOME = "/s/acme/admin/"
PROFILE = "/accounts/profile/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1"


@pytest.fixture
def member(shop: Shop) -> User:
    return make_person(shop, "kim@example.com")


def log_in_browser(email: str = "kim@example.com", agent: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": agent})
    client.post("/accounts/login/", {"login": email, "password": PASSWORD})
    return client


def is_logged_in(client: Client) -> bool:
    return client.get(HOME).status_code == 200


def test_a_device_is_named_in_words() -> None:
    devices = {
        FIREFOX: "Firefox on Linux",
        SAFARI: "Safari on iPhone",
        "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0": "Edge on Windows",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/5.3 Chrome/12.0 Safari/537": "Chrome on macOS",
        "curl/8.5.0": "Unknown device",
        "": "Unknown device",
    }

    assert {agent: describe_device(agent) for agent in devices} == devices


def test_the_profile_lists_ones_own_sessions(member: User, shop: Shop) -> None:
    make_person(shop, "lee@example.com")
    own_browser, phone = log_in_browser(), log_in_browser(agent=SAFARI)
    log_in_browser("lee@example.com")

    sessions = own_browser.get(PROFILE).context["sessions"]

    listed = [("Firefox on Linux", True), ("Safari on iPhone", False)]
    assert [(session.device, session.is_this) for session in sessions] == listed
    assert is_logged_in(phone)


def test_a_single_other_session_is_signed_out(member: User) -> None:
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
    other = make_person(shop, "lee@example.com")
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


def test_last_use_of_a_session_is_saved_every_five_minutes(member: User) -> None:
    own_browser = log_in_browser()
    own_browser.get(HOME)
    long_ago = timezone.now() - timedelta(days=1)
    UserSession.objects.update(last_seen_at=long_ago)

    own_browser.get(HOME)
    unmoved = UserSession.objects.get().last_seen_at
    cache.clear()
    own_browser.get(HOME, headers={"user-agent": SAFARI})

    session = UserSession.objects.get()
    assert unmoved == long_ago < session.last_seen_at
    assert session.user_agent == SAFARI


def test_a_session_from_before_they_were_listed_appears(member: User) -> None:
    cache.clear()
    own_browser = Client()
    own_browser.force_login(member)

    sessions = own_browser.get(PROFILE).context["sessions"]

    assert [session.is_this for session in sessions] == [True]


def test_expired_sessions_are_cleared(member: User) -> None:
    own_browser, closed_browser = log_in_browser(), log_in_browser()
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(pk=closed_browser.session.session_key).update(expire_date=past)

    assert delete_expired_sessions(timezone.now()) == 1
    assert is_logged_in(own_browser)
    assert UserSession.objects.count() == 1


DAY = date(2031, 5, 6)
BEFORE, ON = datetime(2031, 5, 5, 12, tzinfo=UTC), datetime(2031, 5, 6, 12, tzinfo=UTC)


def set_required_from(shop: Shop, day: date | None) -> None:
    Shop.objects.filter(pk=shop.pk).update(two_factor_from=day)


def get_page_at(panel: Panel, moment: datetime, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to(moment)
    panel.http.force_login(panel.user)


def log_in_with_factor(panel: Panel) -> None:
    """Log in with the password and a code."""
    User.objects.filter(pk=panel.user.pk).update(password=make_password(PASSWORD))
    secret = generate_totp_secret()
    TOTP.activate(panel.user, secret)
    panel.http.post("/accounts/login/", {"login": panel.user.email, "password": PASSWORD})
    panel.http.post("/accounts/2fa/authenticate/", {"code": get_totp_code(secret)})


def test_pages_need_the_factor_from_the_day(owner_client: Panel, shop: Shop, time_machine: TimeMachineFixture) -> None:
    set_required_from(shop, DAY)
    get_page_at(owner_client, ON, time_machine)

    page = owner_client.get("shops_shop_change", shop.pk)
    change = owner_client.post("shops_shop_change", shop.pk, name="Mine now")

    shop.refresh_from_db()
    assert (page.status_code, change.status_code, shop.name) == (403, 403, "Acme")
    assert b"/accounts/2fa/totp/activate/" in page.content
    message = f"Was refused: POST {owner_client.url('shops_shop_change', shop.pk)}"
    with shop_scope(shop):
        assert Event.objects.get(topic="staff/refused").message == message


def test_staff_are_reminded_before_the_day(owner_client: Panel, shop: Shop, time_machine: TimeMachineFixture) -> None:
    set_required_from(shop, DAY)
    get_page_at(owner_client, BEFORE, time_machine)

    assert b"Starting 6 May 2031, this shop will require" in owner_client.get().content


def test_the_day_is_in_the_shops_time_zone(owner_client: Panel, shop: Shop, time_machine: TimeMachineFixture) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    set_required_from(shop, DAY)
    get_page_at(owner_client, datetime(2031, 5, 5, 13, tzinfo=UTC), time_machine)

    assert owner_client.get().status_code == 403


@pytest.mark.parametrize(("moment", "status_without"), [(BEFORE, 200), (ON, 403)])
def test_staff_notice_nothing_until_they_remove_the_factor(
    owner_client: Panel, shop: Shop, time_machine: TimeMachineFixture, moment: datetime, status_without: int
) -> None:
    set_required_from(shop, DAY)
    time_machine.move_to(moment)
    owner_client.http.logout()
    log_in_with_factor(owner_client)

    page = owner_client.get()
    Authenticator.objects.filter(user=owner_client.user).delete()

    assert (page.status_code, owner_client.get().status_code) == (200, status_without)
    assert b"must use two-factor authentication" not in page.content


def test_other_shops_policies_are_ignored(
    owner_client: Panel, other_shop: Shop, time_machine: TimeMachineFixture
) -> None:
    set_required_from(other_shop, DAY)
    get_page_at(owner_client, ON, time_machine)

    assert owner_client.get().status_code == 200


def test_the_way_to_a_second_factor_stays_open(
    owner_client: Panel, shop: Shop, time_machine: TimeMachineFixture
) -> None:
    set_required_from(shop, DAY)
    get_page_at(owner_client, ON, time_machine)

    for path in ("/accounts/profile/", "/accounts/2fa/", "/admin/shops/"):
        assert owner_client.http.get(path).status_code == 200


@pytest.mark.parametrize("shops_day", [None, date(2032, 1, 1), date(2031, 1, 1)])
def test_the_installations_day_holds_for_every_shop(
    owner_client: Panel, shop: Shop, settings: Settings, time_machine: TimeMachineFixture, shops_day: date | None
) -> None:
    settings.REQUIRE_TWO_FACTOR_FROM = DAY
    set_required_from(shop, shops_day)
    get_page_at(owner_client, ON, time_machine)

    assert owner_client.get().status_code == 403


def test_operators_need_the_factor(
    operator_client: Panel, settings: Settings, time_machine: TimeMachineFixture
) -> None:
    settings.REQUIRE_TWO_FACTOR_FROM = DAY
    get_page_at(operator_client, ON, time_machine)

    assert operator_client.http.get("/admin/shops/new/").status_code == 403
    assert operator_client.http.post("/admin/shops/new/", {"name": "Mine"}).status_code == 403


def test_staff_with_the_permission_set_the_day(owner_client: Panel, shop: Shop) -> None:
    form = build_settings_form(owner_client, shop) | {"two_factor_from": "2031-05-06"}

    response = owner_client.post("shops_shop_change", shop.pk, **form)

    shop.refresh_from_db()
    assert (response.status_code, shop.two_factor_from) == (302, DAY)
    with shop_scope(shop):
        assert Event.objects.latest("id").changes == {"two_factor_from": [None, "2031-05-06"]}


def test_a_stranger_is_sent_to_the_login_first(shop: Shop) -> None:
    set_required_from(shop, date(2020, 1, 1))
    factories.make_member(shop)

    assert Client().get("/s/acme/admin/").status_code == 302
