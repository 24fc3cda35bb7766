"""Tests for a required second factor: the deadline, the reminder before the deadline, and enforcement."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.hashers import make_password
from django.test import Client

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories
from tests.panel.conftest import PASSWORD, Panel
from tests.panel.test_login import get_totp_code

DAY = date(2031, 5, 6)
BEFORE, ON = datetime(2031, 5, 5, 12, tzinfo=UTC), datetime(2031, 5, 6, 12, tzinfo=UTC)


def set_required_from(shop: Shop, day: date | None) -> None:
    Shop.objects.filter(pk=shop.pk).update(two_factor_from=day)


def get_page_at(panel: Panel, moment: datetime, time_machine: Any) -> None:
    time_machine.move_to(moment)
    panel.http.force_login(panel.user)


def log_in_with_factor(panel: Panel) -> None:
    """Log in with the password and a code."""
    User.objects.filter(pk=panel.user.pk).update(password=make_password(PASSWORD))
    secret = generate_totp_secret()
    TOTP.activate(panel.user, secret)
    panel.http.post("/accounts/login/", {"login": panel.user.email, "password": PASSWORD})
    panel.http.post("/accounts/2fa/authenticate/", {"code": get_totp_code(secret)})


def test_from_the_day_on_nothing_opens_without_a_second_factor(
    owner_client: Panel, shop: Shop, time_machine: Any
) -> None:
    set_required_from(shop, DAY)
    get_page_at(owner_client, ON, time_machine)

    page = owner_client.get("shops_shop_change", shop.pk)
    change = owner_client.post("shops_shop_change", shop.pk, name="Mine now")

    shop.refresh_from_db()
    assert (page.status_code, change.status_code) == (403, 403)
    assert b"/accounts/2fa/totp/activate/" in page.content
    assert shop.name == "Acme"
    with shop_scope(shop):
        assert [event.message for event in Event.objects.filter(topic="staff/refused")] == [
            f"Was refused: POST {owner_client.url('shops_shop_change', shop.pk)}"
        ]


def test_before_the_day_staff_are_reminded(owner_client: Panel, shop: Shop, time_machine: Any) -> None:
    set_required_from(shop, DAY)
    get_page_at(owner_client, BEFORE, time_machine)

    page = owner_client.get()

    assert page.status_code == 200
    assert b"Starting 6 May 2031, this shop will require" in page.content


def test_the_day_begins_in_the_shops_time_zone(owner_client: Panel, shop: Shop, time_machine: Any) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    set_required_from(shop, DAY)
    get_page_at(owner_client, datetime(2031, 5, 5, 13, tzinfo=UTC), time_machine)

    assert owner_client.get().status_code == 403


@pytest.mark.parametrize("moment", [BEFORE, ON])
def test_who_has_a_second_factor_notices_nothing(
    owner_client: Panel, shop: Shop, time_machine: Any, moment: datetime
) -> None:
    set_required_from(shop, DAY)
    time_machine.move_to(moment)
    owner_client.http.logout()
    log_in_with_factor(owner_client)

    page = owner_client.get()

    assert page.status_code == 200
    assert b"must use two-factor authentication" not in page.content


def test_who_gives_the_second_factor_up_is_asked_again(owner_client: Panel, shop: Shop, time_machine: Any) -> None:
    set_required_from(shop, DAY)
    time_machine.move_to(ON)
    owner_client.http.logout()
    log_in_with_factor(owner_client)
    Authenticator.objects.filter(user=owner_client.user).delete()

    assert owner_client.get().status_code == 403


def test_another_shops_policy_has_no_effect_here(owner_client: Panel, other_shop: Shop, time_machine: Any) -> None:
    set_required_from(other_shop, DAY)
    get_page_at(owner_client, ON, time_machine)

    assert owner_client.get().status_code == 200


def test_the_way_to_a_second_factor_stays_open(owner_client: Panel, shop: Shop, time_machine: Any) -> None:
    set_required_from(shop, DAY)
    get_page_at(owner_client, ON, time_machine)

    answers = [
        owner_client.http.get(path).status_code for path in ("/accounts/profile/", "/accounts/2fa/", "/admin/shops/")
    ]

    assert answers == [200, 200, 200]


@pytest.mark.parametrize("shops_day", [None, date(2032, 1, 1), date(2031, 1, 1)])
def test_the_installations_day_holds_for_every_shop(
    owner_client: Panel, shop: Shop, settings: Any, time_machine: Any, shops_day: date | None
) -> None:
    settings.REQUIRE_TWO_FACTOR_FROM = DAY
    set_required_from(shop, shops_day)
    get_page_at(owner_client, ON, time_machine)

    assert owner_client.get().status_code == 403


def test_operators_open_no_shop_without_it(operator_client: Panel, settings: Any, time_machine: Any) -> None:
    settings.REQUIRE_TWO_FACTOR_FROM = DAY
    get_page_at(operator_client, ON, time_machine)

    answers = [
        operator_client.http.get("/admin/shops/new/"),
        operator_client.http.post("/admin/shops/new/", {"name": "Mine"}),
    ]

    assert [response.status_code for response in answers] == [403, 403]


def test_staff_with_the_permission_set_the_day(owner_client: Panel, shop: Shop) -> None:
    form = owner_client.get("shops_shop_change", shop.pk).context["adminform"].form
    values = {name: form[name].value() for name in form.fields if form[name].value() not in (None, False)}

    response = owner_client.post("shops_shop_change", shop.pk, **(values | {"two_factor_from": "2031-05-06"}))

    shop.refresh_from_db()
    assert response.status_code == 302
    assert shop.two_factor_from == DAY
    with shop_scope(shop):
        assert Event.objects.latest("id").changes == {"two_factor_from": [None, "2031-05-06"]}


def test_a_stranger_is_sent_to_the_login_first(shop: Shop) -> None:
    set_required_from(shop, date(2020, 1, 1))
    factories.make_member(shop)

    assert Client().get("/s/acme/admin/").status_code == 302
