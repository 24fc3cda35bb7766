"""Tests for staff members over REST: only a shop's own apps can read them, and only on the premium plan."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.wire_tables import assert_fits


@pytest.mark.parametrize(("plan", "distribution"), [("basic", "custom"), ("premium", "public")])
def test_users_are_for_apps_of_ones_own_on_the_premium_plan(shop: Shop, plan: str, distribution: str) -> None:
    Shop.objects.filter(pk=shop.pk).update(plan=plan)
    installation = factories.make_installation(shop, ("read_users",), distribution=distribution)

    token = factories.make_token(installation)
    user = factories.make_member(shop, owner=True)

    for path in ("users.json", f"users/{user.pk}.json", "users/current.json"):
        response = Client(headers={"X-Platform-Access-Token": token}).get(f"/admin/api/2026-07/{path}")
        assert (response.status_code, "[API] Users are shown" in response.json()["errors"]) == (403, True)


def test_the_staff_is_listed_page_by_page(shop: Shop, other_shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(plan=Shop.Plan.PREMIUM)
    api = Client(headers={"X-Platform-Access-Token": factories.make_token(factories.make_installation(shop))})
    owner = factories.make_member(shop, owner=True, first_name="Ada", phone="+4681234")
    members = [factories.make_member(shop, "orders") for _ in range(3)]
    stranger = factories.make_member(other_shop, "orders")
    Authenticator.objects.create(user=owner, type=Authenticator.Type.TOTP, data={})
    Authenticator.objects.create(user=members[0], type=Authenticator.Type.RECOVERY_CODES, data={})
    path = "/admin/api/2026-07/users"

    all_users = api.get(f"{path}.json").json()
    pages, address = [], f"{path}.json?limit=3&fields=id,tfa_enabled?"
    for _ in range(2):
        page = api.get(address)
        pages.append(page.json()["users"])
        address = re.findall(r"<([^>]+)>", page["Link"])[-1]
    back = api.get(address).json()["users"]
    single_user = api.get(f"{path}/{members[1].pk}.json")

    assert_fits("user", "GET /users.json", all_users)
    assert_fits("user", "GET /users/{id}.json", single_user.json())
    assert [row["id"] for row in all_users["users"]] == [owner.pk, *(user.pk for user in members)]
    assert (all_users["users"][0]["first_name"], all_users["users"][0]["phone"]) == ("Ada", "+4681234")
    assert pages == [
        [
            {"id": owner.pk, "tfa_enabled?": True},
            {"id": members[0].pk, "tfa_enabled?": False},
            {"id": members[1].pk, "tfa_enabled?": False},
        ],
        [{"id": members[2].pk, "tfa_enabled?": False}],
    ]
    assert back == pages[0]
    assert single_user.json()["user"] == all_users["users"][2]
    assert api.get(f"{path}/{stranger.pk}.json").status_code == 404
    assert api.get(f"{path}.json?limit=0").json() == {"errors": {"limit": "must be between 1 and 250"}}
