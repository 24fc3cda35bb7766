import pytest
from allauth.mfa.models import Authenticator

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, parse_links
from tests.support.wire_tables import assert_fits


@pytest.mark.parametrize(("plan", "distribution"), [("basic", "custom"), ("premium", "public")])
def test_users_are_for_apps_of_ones_own_on_the_premium_plan(
    client_with: ClientWith, shop: Shop, plan: str, distribution: str
) -> None:
    Shop.objects.filter(pk=shop.pk).update(plan=plan)
    api = client_with("read_users", distribution=distribution)
    user = factories.make_member(shop, owner=True)

    for path in ("users.json", f"users/{user.pk}.json", "users/current.json"):
        response = api.get(path)
        assert (response.status_code, "[API] Users are shown" in response.json()["errors"]) == (403, True)


def test_the_staff_is_listed_page_by_page(api: ApiClient, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(plan=Shop.Plan.PREMIUM)
    owner = factories.make_member(shop, owner=True, first_name="Ada", phone="+4681234")
    members = [factories.make_member(shop, "orders") for _ in range(3)]
    Authenticator.objects.create(user=owner, type=Authenticator.Type.TOTP, data={})
    Authenticator.objects.create(user=members[0], type=Authenticator.Type.RECOVERY_CODES, data={})

    all_users = api.get("users.json").json()
    first_page = api.get("users.json", limit=3, fields="id,tfa_enabled?")
    last_page = api.http.get(parse_links(first_page)["next"])
    back = api.http.get(parse_links(last_page)["previous"])
    single_user = api.get(f"users/{members[1].pk}.json")

    assert_fits("user", "GET /users.json", all_users)
    assert_fits("user", "GET /users/{id}.json", single_user.json())
    assert [row["id"] for row in all_users["users"]] == [owner.pk, *(user.pk for user in members)]
    assert (all_users["users"][0]["first_name"], all_users["users"][0]["phone"]) == ("Ada", "+4681234")
    *first, last = [{"id": user.pk, "tfa_enabled?": user == owner} for user in (owner, *members)]
    assert [page.json()["users"] for page in (first_page, last_page, back)] == [first, [last], first]
    assert single_user.json()["user"] == all_users["users"][2]
