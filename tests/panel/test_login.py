"""Getting in: the login, its limits, the second factor and no way around it."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.test import Client

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories
from tests.panel.conftest import PASSWORD, PanelWith

PAGE = "/accounts/login/"
HOME = "/s/acme/admin/"


@pytest.fixture
def member(shop: Shop) -> User:
    user = factories.make_member(shop, "preferences", email="kim@example.com")
    user.set_password(PASSWORD)
    user.save()
    return user


def log_in(client: Client, password: str = PASSWORD, email: str = "kim@example.com", **data: str) -> Any:
    return client.post(PAGE, {"login": email, "password": password, **data})


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def test_the_right_password_leads_to_the_shop(client: Client, member: User) -> None:
    answer = client.post(PAGE, {"login": "KIM@example.com", "password": PASSWORD}, follow=True)

    assert answer.redirect_chain[-1][0] == HOME
    assert answer.status_code == 200


def test_an_unknown_user_and_a_wrong_password_get_the_same_answer(client: Client, member: User) -> None:
    answers = [log_in(client, "wrong"), log_in(client, email="nobody@example.com")]

    errors = [answer.context["form"].non_field_errors() for answer in answers]
    assert errors[0]
    assert errors[0] == errors[1]
    assert {answer.status_code for answer in answers} == {200}


def test_the_sixth_attempt_has_to_wait_even_with_the_right_password(client: Client, member: User, shop: Shop) -> None:
    for _ in range(5):
        log_in(client, "wrong")

    locked = log_in(client)

    assert locked.status_code == 429
    assert locked.headers["Retry-After"] == "300"
    assert client.get(HOME).status_code == 302
    with shop_scope(shop):
        topics = list(
            Event.objects.filter(topic__startswith="staff/login").order_by("id").values_list("topic", flat=True)
        )
    assert topics == [*["staff/login_failed"] * 5, "staff/login_locked"]


def test_a_lock_concerns_nobody_else(client: Client, member: User, shop: Shop) -> None:
    other = factories.make_member(shop, email="lee@example.com")
    other.set_password(PASSWORD)
    other.save()
    for _ in range(6):
        log_in(client, "wrong")

    answer = log_in(client, email="lee@example.com")

    assert answer.status_code == 302


def test_no_password_of_a_failed_login_is_recorded(client: Client, member: User, shop: Shop) -> None:
    log_in(client, "hunter2-hunter2")

    with shop_scope(shop):
        assert "hunter2" not in str(list(Event.objects.values()))


def test_deactivated_staff_stay_out(client: Client, member: User) -> None:
    User.objects.filter(pk=member.pk).update(is_active=False)

    log_in(client)

    assert client.get(HOME).status_code == 302


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "http:evil.example"],
)
def test_next_stays_on_our_host(client: Client, member: User, address: str) -> None:
    answer = log_in(client, next=address)

    assert answer.headers["Location"] == "/admin/"


def test_next_within_the_panel_is_followed(client: Client, member: User, shop: Shop) -> None:
    asked = client.get(f"/s/acme/admin/shops/shop/{shop.pk}/change/")

    answer = client.post(asked.headers["Location"], {"login": member.email, "password": PASSWORD}, follow=True)

    assert answer.redirect_chain[-1][0] == f"/s/acme/admin/shops/shop/{shop.pk}/change/"


def test_logging_out_needs_a_post(panel_with: PanelWith) -> None:
    panel = panel_with()

    by_link = panel.http.get(panel.url("logout"))

    assert by_link.status_code == 405
    assert panel.get().status_code == 200

    panel.post("logout")

    assert panel.get().status_code == 302


@pytest.mark.parametrize("path", ["/accounts/signup/", "/accounts/email/", "/accounts/confirm-email/"])
def test_nobody_signs_up(client: Client, db: None, path: str) -> None:
    assert client.get(path).status_code == 404


def test_setting_up_the_second_factor_keeps_the_session_in(client: Client, member: User) -> None:
    log_in(client)
    asked = client.get("/accounts/2fa/totp/activate/")
    assert asked.headers["Location"].startswith("/accounts/reauthenticate/")
    client.post(asked.headers["Location"], {"password": PASSWORD})
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret

    answer = client.post("/accounts/2fa/totp/activate/", {"code": code_of(secret)}, follow=True)

    assert answer.redirect_chain[-1][0] == "/accounts/2fa/recovery-codes/"
    assert re.search(r"\b\w{8,}\b", answer.content.decode())
    assert client.get(HOME).status_code == 200


@pytest.fixture
def secret(member: User) -> str:
    """The member has a second factor with this secret."""
    made: str = generate_totp_secret()
    TOTP.activate(member, made)
    return made


def test_with_a_second_factor_the_password_alone_opens_nothing(client: Client, secret: str) -> None:
    answer = log_in(client)

    assert answer.headers["Location"].startswith("/accounts/2fa/authenticate/")
    assert client.get(HOME).status_code == 302
    assert client.get("/admin/shops/").status_code == 302
    assert client.get("/accounts/profile/").status_code == 302


def test_the_code_opens_the_panel(client: Client, secret: str) -> None:
    log_in(client)

    client.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})

    assert client.get(HOME).status_code == 200


def test_a_wrong_code_does_not(client: Client, secret: str) -> None:
    log_in(client)
    wrong = f"{(int(code_of(secret)) + 1) % 1_000_000:06d}"

    client.post("/accounts/2fa/authenticate/", {"code": wrong})

    assert client.get(HOME).status_code == 302


def test_a_recovery_code_opens_once(client: Client, secret: str, member: User) -> None:
    code = RecoveryCodes.activate(member).get_unused_codes()[0]
    log_in(client)
    client.post("/accounts/2fa/authenticate/", {"code": code})
    assert client.get(HOME).status_code == 200

    another = Client()
    log_in(another)
    another.post("/accounts/2fa/authenticate/", {"code": code})

    assert another.get(HOME).status_code == 302


@pytest.mark.parametrize("path", [f"{HOME}login/", "/admin/login/"])
def test_no_other_login_leads_around_the_second_factor(client: Client, secret: str, path: str) -> None:
    client.post(path, {"username": "kim@example.com", "password": PASSWORD})

    assert client.get(HOME).status_code == 302


def test_a_session_from_elsewhere_is_ended_where_the_second_factor_is_missing(
    client: Client, secret: str, member: User
) -> None:
    client.force_login(member)

    answer = client.get(HOME)

    assert answer.headers["Location"].startswith("/accounts/login/")
    assert "_auth_user_id" not in client.session


def test_turning_the_second_factor_off_needs_the_code_of_this_session(
    client: Client, secret: str, member: User
) -> None:
    client.force_login(member)

    client.post("/accounts/2fa/totp/deactivate/")

    assert Authenticator.objects.filter(user=member, type=Authenticator.Type.TOTP).exists()


def test_changing_the_password_asks_for_the_old_one(client: Client, member: User) -> None:
    log_in(client)
    data = {"oldpassword": "wrong", "password1": "another battery 7", "password2": "another battery 7"}

    client.post("/accounts/password/change/", data)
    member.refresh_from_db()
    assert member.check_password(PASSWORD)

    client.post("/accounts/password/change/", data | {"oldpassword": PASSWORD})
    member.refresh_from_db()
    assert member.check_password("another battery 7")


def test_confirming_ones_password_works_by_address(client: Client, member: User) -> None:
    log_in(client)

    answer = client.post("/accounts/reauthenticate/", {"password": PASSWORD, "next": "/accounts/2fa/"})

    assert answer.headers["Location"] == "/accounts/2fa/"


def test_the_own_profile_needs_no_permission(panel_with: PanelWith) -> None:
    panel = panel_with()

    answer = panel.http.post(
        "/accounts/profile/", {"first_name": "Robin", "is_superuser": "on", "email": "x@example.com"}
    )

    before = panel.user.email
    panel.user.refresh_from_db()
    assert answer.status_code == 302
    assert (panel.user.first_name, panel.user.email, panel.user.is_superuser) == ("Robin", before, False)
