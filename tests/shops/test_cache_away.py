import pytest
from pytest_django import Settings

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.panel.client import Panel


@pytest.fixture(autouse=True)
def _unreachable_redis(settings: Settings) -> None:
    backend, options = "django.core.cache.backends.redis.RedisCache", {"socket_connect_timeout": 1}
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:1/0", "OPTIONS": options}}


def test_the_interface_answers(api: ApiClient) -> None:
    assert api.get("shop.json").status_code == 200


def test_a_shops_own_domain_is_known_and_a_strange_host_is_not(api: ApiClient, shop: Shop) -> None:
    for host, status in ((shop.domain, 200), ("nobody.example", 400)):
        assert api.http.get(api.path("shop.json"), headers={"Host": host}).status_code == status


def test_the_panel_answers(shop: Shop) -> None:
    assert Panel(factories.make_member(shop, owner=True), shop).get().status_code == 200
