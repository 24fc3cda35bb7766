import pytest
from django.test import Client
from pytest_django import Settings

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.panel.client import PASSWORD, Panel


@pytest.fixture(autouse=True)
def _unreachable_redis(settings: Settings) -> None:
    backend = "backoffice.configuration.redis_cache.SharedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:1/0"}}


def test_the_interface_answers(api: ApiClient) -> None:
    assert api.get("shop.json").status_code == 200


def test_a_shops_own_domain_is_known_and_a_strange_host_is_not(api: ApiClient, shop: Shop) -> None:
    for host, status in ((shop.domain, 200), ("nobody.example", 400)):
        assert api.http.get(api.path("shop.json"), headers={"Host": host}).status_code == status


def test_the_panel_answers(shop: Shop) -> None:
    assert Panel(factories.make_member(shop, owner=True), shop).get().status_code == 200


def test_staff_can_log_in(shop: Shop) -> None:
    user = factories.make_member(shop, owner=True)
    user.set_password(PASSWORD)
    user.save()

    response = Client().post("/accounts/login/", {"login": user.email, "password": PASSWORD})

    assert (response.status_code, response["Location"]) == (302, "/admin/")
