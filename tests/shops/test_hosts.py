"""Tests for shop host names."""

from pytest_django import Settings

from apps.core.tenancy.models import Shop
from tests.support.api_client import ApiClient


def test_a_cache_that_is_away_closes_no_shops_domain(api: ApiClient, shop: Shop, settings: Settings) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            # No service listens on the discard port.
            "LOCATION": "redis://127.0.0.1:9/0",
        }
    }

    own = api.http.get(api.path("shop.json"), headers={"Host": shop.domain})
    strange = api.http.get(api.path("shop.json"), headers={"Host": "nowhere.example"})

    assert (own.status_code, strange.status_code) == (200, 400)
