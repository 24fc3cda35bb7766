import pytest
from django.test import Client

from apps.core.tenancy.models import Membership, Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.panel.client import Panel, PanelWith


def test_the_entrance_leads_to_the_only_shop(admin_client_with: PanelWith) -> None:
    assert admin_client_with().http.get("/admin/").headers["Location"] == "/s/acme/admin/"


def test_the_entrance_asks_for_a_login(client: Client, db: None) -> None:
    assert client.get("/admin/").headers["Location"] == "/accounts/login/?next=/admin/"


@pytest.fixture
def two_shop_client(admin_client_with: PanelWith, other_shop: Shop) -> Panel:
    """Return a client logged in as a staff member with memberships in two shops."""
    panel = admin_client_with("preferences")
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=panel.user, permissions=[])
    return panel


def test_staff_of_several_shops_see_the_chooser_and_then_the_last_shop(two_shop_client: Panel) -> None:
    assert two_shop_client.http.get("/admin/").headers["Location"] == "/admin/shops/"

    two_shop_client.http.get("/s/stranger/admin/")

    assert two_shop_client.http.get("/admin/").headers["Location"] == "/s/stranger/admin/"


def test_a_last_shop_that_one_left_is_not_led_to(two_shop_client: Panel, other_shop: Shop) -> None:
    two_shop_client.http.get("/s/stranger/admin/")
    with shop_scope(other_shop):
        Membership.objects.filter(user=two_shop_client.user).delete()

    assert two_shop_client.http.get("/admin/").headers["Location"] == "/s/acme/admin/"


def test_the_chooser_lists_ones_own_shops_only(admin_client_with: PanelWith, other_shop: Shop) -> None:
    page = admin_client_with().http.get("/admin/shops/").content.decode()

    assert "/s/acme/admin/" in page
    assert "stranger" not in page.lower()


def test_two_tabs_in_two_shops_stay_apart(two_shop_client: Panel, shop: Shop, other_shop: Shop) -> None:
    path = f"/s/acme/admin/shops/shop/{shop.pk}/change/"

    assert two_shop_client.http.get(path).status_code == 200
    assert two_shop_client.http.get("/s/stranger/admin/").context["request"].shop == other_shop
    response = two_shop_client.http.post(path, {"name": "Still Acme"})

    assert response.status_code == 200
    assert response.context["request"].shop == shop
    assert two_shop_client.http.get(f"/s/stranger/admin/shops/shop/{other_shop.pk}/change/").status_code == 403


def test_links_inside_the_panel_name_the_shop_and_the_other_shops(two_shop_client: Panel) -> None:
    page = two_shop_client.http.get("/s/stranger/admin/").content.decode()

    links = ('href="/s/stranger/admin/"', 'href="/s/acme/admin/"', 'href="/accounts/profile/"')
    assert [link for link in links if link not in page] == []
    assert "/s/stranger/admin/accounts" not in page


def test_unknown_and_foreign_shops_look_equal(admin_client_with: PanelWith, other_shop: Shop) -> None:
    paths = ("/s/nowhere/admin/", "/s/nowhere/admin/shops/shop/1/change/", "/s/stranger/admin/")

    assert [admin_client_with().http.get(path).status_code for path in paths] == [404] * 3


@pytest.mark.parametrize("path", ["/s/acme", "/s/acme/admin"])
def test_incomplete_addresses_are_completed(admin_client_with: PanelWith, path: str) -> None:
    assert admin_client_with().http.get(path).headers["Location"] == "/s/acme/admin/"


def test_the_panel_cannot_be_reached_outside_of_a_shop(owner_client: Panel) -> None:
    paths = ("/admin/shops/shop/", "/admin/jobs/job/", "/admin/login/")

    assert [owner_client.http.get(path).status_code for path in paths] == [404] * 3


def test_the_time_zone_is_the_shops(owner_client: Panel) -> None:
    assert owner_client.get().context["request"].shop.timezone == "America/New_York"
    assert 'data-admin-utc-offset="-' in owner_client.get().content.decode()


def test_the_operator_sees_and_enters_every_shop(operator_client: Panel, other_shop: Shop) -> None:
    page = operator_client.http.get("/admin/shops/").content.decode()

    assert "/s/acme/admin/" in page
    assert "/s/stranger/admin/" in page
    assert operator_client.http.get("/s/stranger/admin/").status_code == 200


NEW = {"name": "Nova", "domain": "Nova.example", "email": "nova@example.com", "currency": "EUR", "plan": "basic"}
NEW |= {"timezone": "Europe/Berlin", "country_code": "DE"}


def test_the_operator_opens_a_shop(operator_client: Panel) -> None:
    response = operator_client.http.post("/admin/shops/new/", NEW)

    shop = Shop.objects.get(domain="nova.example")
    assert response.headers["Location"] == f"/s/{shop.handle}/admin/"
    assert (shop.currency, shop.timezone) == ("EUR", "Europe/Berlin")


def test_a_taken_domain_is_reported_on_the_field(operator_client: Panel) -> None:
    page = operator_client.http.post("/admin/shops/new/", NEW | {"domain": "acme.example"})

    assert "domain" in page.context["form"].errors
    assert Shop.objects.count() == 1


def test_staff_open_no_shop(owner_client: Panel) -> None:
    answers = [owner_client.http.get("/admin/shops/new/"), owner_client.http.post("/admin/shops/new/", NEW)]

    assert [response.status_code for response in answers] == [403, 403]
    assert Shop.objects.count() == 1


def test_a_user_without_a_shop_sees_a_message(client: Client, db: None) -> None:
    client.force_login(factories.UserFactory.create())

    assert "have access to any shop yet" in client.get("/admin/shops/").content.decode()
