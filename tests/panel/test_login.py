import re
from datetime import date
from itertools import product
from typing import Any
from urllib.parse import urlencode

import argon2
import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.staff.accounts import urls as account_urls
from tests.support import factories
from tests.support.api_client import Response
from tests.support.panel.client import PASSWORD, PanelWith, get_totp_code
from tests.support.subtests import Subtests

PAGE = "/accounts/login/"
HOME = "/s/acme/admin/"
AWAY = ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "http:evil.example"]


def make_person(shop: Shop, email: str) -> User:
    """Create a staff member with a password."""
    user = factories.make_member(shop, "preferences", email=email)
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def member(shop: Shop) -> User:
    return make_person(shop, "kim@example.com")


def log_in(client: Client, password: str = PASSWORD, email: str = "kim@example.com", **data: str) -> Response:
    return client.post(PAGE, {"login": email, "password": password, **data})


def test_the_right_password_leads_to_the_shop(client: Client, member: User) -> None:
    response = client.post(PAGE, {"login": "KIM@example.com", "password": PASSWORD}, follow=True)

    assert (response.redirect_chain[-1][0], response.status_code) == (HOME, 200)


def test_an_unknown_user_and_a_wrong_password_get_the_same_answer(client: Client, member: User) -> None:
    answers = [log_in(client, "wrong"), log_in(client, email="nobody@example.com")]

    error, other_error = (response.context["form"].non_field_errors() for response in answers)
    assert error
    assert error == other_error
    assert {response.status_code for response in answers} == {200}


def test_the_sixth_attempt_has_to_wait_even_with_the_right_password(client: Client, member: User, shop: Shop) -> None:
    for _ in range(5):
        log_in(client, "wrong")

    locked = log_in(client)

    assert (locked.status_code, locked.headers["Retry-After"]) == (429, "60")
    assert client.get(HOME).status_code == 302
    with shop_scope(shop):
        events = Event.objects.filter(topic__startswith="staff/login").order_by("id")
        assert [event.topic for event in events] == [*["staff/login_failed"] * 5, "staff/login_locked"]


def test_a_login_lock_affects_only_its_user(client: Client, member: User, shop: Shop) -> None:
    make_person(shop, "lee@example.com")
    for _ in range(6):
        log_in(client, "wrong")

    assert log_in(client, email="lee@example.com").status_code == 302


def test_passwords_of_failed_logins_are_not_recorded(client: Client, member: User, shop: Shop) -> None:
    log_in(client, "hunter2-hunter2")

    with shop_scope(shop):
        assert "hunter2" not in str(list(Event.objects.values()))


def test_deactivated_staff_stay_out(client: Client, member: User) -> None:
    User.objects.filter(pk=member.pk).update(is_active=False)

    log_in(client)

    assert client.get(HOME).status_code == 302


@pytest.mark.parametrize("address", AWAY)
def test_next_stays_on_our_host(client: Client, member: User, address: str) -> None:
    assert log_in(client, next=address).headers["Location"] == "/admin/"


@pytest.mark.parametrize("address", AWAY)
@pytest.mark.parametrize("page", ["/accounts/logout/", "/s/acme/admin/logout/"])
def test_next_of_a_logout_stays_on_our_host(admin_client_with: PanelWith, page: str, address: str) -> None:
    by_form = admin_client_with().http.post(page, {"next": address})
    by_address = admin_client_with().http.post(f"{page}?{urlencode({'next': address})}")

    for response in (by_form, by_address):
        assert response.status_code in {200, 302}
        assert response.headers.get("Location", PAGE).startswith(("/accounts/", "/s/acme/"))


@pytest.mark.parametrize("address", AWAY)
def test_next_of_reauthentication_stays_on_our_host(client: Client, member: User, address: str) -> None:
    log_in(client)

    response = client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": address})

    assert (response.status_code, response.headers["Location"][0]) == (302, "/")
    assert "evil" not in response.headers["Location"]


def test_next_within_the_panel_is_followed(client: Client, member: User, shop: Shop) -> None:
    path = f"/s/acme/admin/shops/shop/{shop.pk}/change/"
    login = client.get(path).headers["Location"]

    page = client.post(login, {"login": member.email, "password": PASSWORD}, follow=True)

    assert page.redirect_chain[-1][0] == path


def test_logging_out_needs_a_post(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()

    assert (panel.get("logout").status_code, panel.get().status_code) == (405, 200)
    panel.post("logout")
    assert panel.get().status_code == 302


def test_sign_up_does_not_exist(client: Client, db: None) -> None:
    assert [client.get(f"/accounts/{path}/").status_code for path in ("signup", "email", "confirm-email")] == [404] * 3


def test_setting_up_the_second_factor_keeps_the_session_in(client: Client, member: User) -> None:
    log_in(client)
    response = client.get("/accounts/2fa/totp/activate/")
    assert response.headers["Location"].startswith("/accounts/reauthenticate/")
    client.post(response.headers["Location"], {"password": PASSWORD})
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret

    server_response = client.post("/accounts/2fa/totp/activate/", {"code": get_totp_code(secret)}, follow=True)

    assert server_response.redirect_chain[-1][0] == "/accounts/2fa/recovery-codes/"
    assert re.search(r"\b\w{8,}\b", server_response.content.decode())
    assert client.get(HOME).status_code == 200


@pytest.fixture
def totp_secret(member: User) -> str:
    """Enable a second factor for the member and return its secret."""
    new_secret: str = generate_totp_secret()
    TOTP.activate(member, new_secret)
    return new_secret


def test_the_password_alone_opens_nothing_with_a_second_factor(client: Client, totp_secret: str) -> None:
    response = log_in(client)

    assert response.headers["Location"].startswith("/accounts/2fa/authenticate/")
    pages = (HOME, "/admin/shops/", "/accounts/profile/")
    assert [client.get(path).status_code for path in pages] == [302] * 3


def can_log_in(code: str) -> bool:
    """Return True if a login with the password and this code succeeds."""
    client = Client()
    log_in(client)
    client.post("/accounts/2fa/authenticate/", {"code": code})
    return client.get(HOME).status_code == 200


def test_the_right_code_alone_opens_the_panel(totp_secret: str) -> None:
    wrong = f"{(int(get_totp_code(totp_secret)) + 1) % 1_000_000:06d}"

    assert (can_log_in(wrong), can_log_in(get_totp_code(totp_secret))) == (False, True)


def test_a_recovery_code_opens_once(totp_secret: str, member: User) -> None:
    code = RecoveryCodes.activate(member).get_unused_codes()[0]

    assert [can_log_in(code), can_log_in(code)] == [True, False]


@pytest.mark.parametrize("path", [f"{HOME}login/", "/admin/login/"])
def test_other_logins_do_not_bypass_the_second_factor(client: Client, totp_secret: str, path: str) -> None:
    client.post(path, {"username": "kim@example.com", "password": PASSWORD})

    assert client.get(HOME).status_code == 302


def test_a_session_without_the_second_factor_is_ended(client: Client, totp_secret: str, member: User) -> None:
    client.force_login(member)

    response = client.get(HOME)

    assert response.headers["Location"].startswith("/accounts/login/")
    assert "_auth_user_id" not in client.session


def test_turning_off_the_second_factor_needs_its_code(client: Client, totp_secret: str, member: User) -> None:
    client.force_login(member)

    client.post("/accounts/2fa/totp/deactivate/")

    assert Authenticator.objects.filter(user=member, type=Authenticator.Type.TOTP).exists()


def test_changing_the_password_asks_for_the_old_one(client: Client, member: User) -> None:
    log_in(client)
    data = {"password1": "another battery 7", "password2": "another battery 7"}

    for old, current in (("wrong", PASSWORD), (PASSWORD, "another battery 7")):
        client.post("/accounts/password/change/", data | {"oldpassword": old})
        member.refresh_from_db()
        assert member.check_password(current)


def test_confirming_ones_password_works_by_address(client: Client, member: User) -> None:
    log_in(client)

    response = client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": "/accounts/2fa/"})

    assert response.headers["Location"] == "/accounts/2fa/"


def test_the_own_profile_needs_no_permission(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()

    before, forged = panel.user.email, {"first_name": "Robin", "is_superuser": "on", "email": "x@example.com"}

    assert panel.http.post("/accounts/profile/", forged).status_code == 302

    panel.user.refresh_from_db()
    assert (panel.user.first_name, panel.user.email, panel.user.is_superuser) == ("Robin", before, False)


OPEN_WITHOUT_LOGIN = {
    "account_login",
    "account_logout",
    "account_inactive",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
    "mfa_authenticate",
    "mfa_login_webauthn",
}
# The pages for setting up a second factor. Users without a required second factor can still open these pages.
ON_THE_WAY_TO_A_FACTOR = {
    *("account_reauthenticate", "mfa_index", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"),
    *("mfa_activate_totp", "mfa_add_webauthn"),
}
OF_ONE = {"sessions_end", "mfa_edit_webauthn", "mfa_remove_webauthn"}
OWN_PAGES = sorted({str(route.name) for route in account_urls.urlpatterns} - OPEN_WITHOUT_LOGIN)


def get_address(name: str) -> str:
    return reverse(name, args=[1] if name in OF_ONE else [])


def test_account_pages_need_the_second_factor(client: Client, totp_secret: str, member: User) -> None:
    with Subtests() as checks:
        for name, method in product(OWN_PAGES, ("get", "post")):
            with checks(method, name):
                client.force_login(member)
                response = getattr(client, method)(get_address(name))
                assert response.headers["Location"].startswith(PAGE)
                assert "_auth_user_id" not in client.session


def test_account_pages_ask_for_the_required_factor(client: Client, member: User, settings: Settings) -> None:
    settings.REQUIRE_TWO_FACTOR_FROM = date(2020, 1, 1)
    log_in(client)

    with Subtests() as checks:
        for name in OWN_PAGES:
            with checks(name):
                response = client.get(get_address(name))
                assert (response.status_code == 403) == (name not in ON_THE_WAY_TO_A_FACTOR)


def test_setting_up_the_second_factor_ends_all_other_sessions(client: Client, member: User) -> None:
    old = Client()
    log_in(old)
    log_in(client)

    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    client.post("/accounts/2fa/totp/activate/", {"code": get_totp_code(secret)})

    assert client.get(HOME).status_code == 200
    assert not Session.objects.filter(session_key=old.cookies["sessionid"].value).exists()
    assert [session.session_key for session in UserSession.objects.filter(user=member)] == [client.session.session_key]


def test_an_old_session_does_not_bypass_the_second_factor(client: Client, totp_secret: str, member: User) -> None:
    codes = RecoveryCodes.activate(member).get_unused_codes()
    # This session represents a login with only the password, before the second factor was set up.
    client.force_login(member)

    pages = [
        client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": "/accounts/2fa/"}, follow=True),
        client.get("/accounts/2fa/recovery-codes/", follow=True),
        client.post("/accounts/2fa/totp/deactivate/", follow=True),
    ]

    assert not any(code in page.content.decode() for page in pages for code in codes)
    assert Authenticator.objects.filter(user=member, type=Authenticator.Type.TOTP).exists()


def test_the_password_alone_does_not_reauthenticate(client: Client, totp_secret: str, member: User) -> None:
    codes = RecoveryCodes.activate(member).get_unused_codes()
    log_in(client)
    client.post("/accounts/2fa/authenticate/", {"code": get_totp_code(totp_secret)})

    response = client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": "/accounts/2fa/recovery-codes/"})
    html = client.get("/accounts/2fa/recovery-codes/").content.decode()

    assert response.headers["Location"].startswith("/accounts/2fa/reauthenticate/")
    assert not any(code in html for code in codes)
    client.post("/accounts/2fa/reauthenticate/", {"code": codes[0]})
    assert codes[1] in client.get("/accounts/2fa/recovery-codes/").content.decode()


def test_the_setup_code_does_not_work_again(client: Client, member: User) -> None:
    log_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    code = get_totp_code(client.get("/accounts/2fa/totp/activate/").context["form"].secret)
    client.post("/accounts/2fa/totp/activate/", {"code": code})

    assert Authenticator.objects.filter(user=member, type=Authenticator.Type.TOTP).exists()
    assert not can_log_in(code)


def test_failed_logins_are_counted_for_every_host_and_port(client: Client, member: User) -> None:
    for port in range(5):
        client.post(PAGE, {"login": member.email, "password": "wrong"}, headers={"Host": f"localhost:{8000 + port}"})

    locked = client.post(PAGE, {"login": member.email, "password": PASSWORD}, headers={"Host": "127.0.0.1"})

    assert locked.status_code == 429


def test_unknown_emails_cost_as_many_hashes(client: Client, member: User, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []

    def count_calls(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            hashed.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    count_calls(argon2.low_level, "hash_secret")
    count_calls(argon2.PasswordHasher, "verify")
    counts = []
    for email in (member.email, "nobody@example.com"):
        hashed.clear()
        log_in(client, "wrong", email=email)
        counts.append(len(hashed))

    assert counts == [1, 1]


@pytest.mark.parametrize("path", ["login/", "logout/", "password/reset/", "2fa/", "2fa/authenticate/", "nothing/"])
def test_account_pages_are_not_stored(client: Client, member: User, path: str) -> None:
    for is_logged_in in (False, True):
        if is_logged_in:
            client.force_login(member)
        response = client.get(f"/accounts/{path}")
        assert {"no-store", "private"} <= set(response["Cache-Control"].split(", ")), response.status_code
