"""Tests for identifying the caller of a request, so that the server can share its threads fairly between callers."""

import pytest
from django.test import Client

from apps.api.requests.authentication import get_token_header_key
from apps.shops.models import Shop
from backoffice.server.door import Environ
from backoffice.server_hooks import BackofficeHooks
from tests import factories
from tests.conftest import ApiClient


def build_environ(path: str, **values: str) -> Environ:
    return {"PATH_INFO": path, "HTTP_HOST": "127.0.0.1:8000", **values}


def build_environ_with_token(token: str) -> Environ:
    return build_environ("/admin/api/2026-07/shop.json", **{get_token_header_key(): token})


@pytest.fixture
def hooks() -> BackofficeHooks:
    return BackofficeHooks()


def test_tokens_of_a_shop_are_one_once_they_were_seen(shop: Shop, other_shop: Shop, hooks: BackofficeHooks) -> None:
    installations = [factories.make_installation(item) for item in (shop, shop, other_shop)]
    requests = [build_environ_with_token(factories.make_token(item)) for item in installations]
    assert len({hooks.owner(item) for item in requests}) == 3

    for item, installation in zip(requests, installations, strict=True):
        client = ApiClient(item[get_token_header_key()], installation)
        answered = client.get("shop.json")
        hooks.answered({**item, **answered.wsgi_request.META})

    first, second, third = (hooks.owner(item) for item in requests)
    assert first == second != third


def test_pages_of_a_shops_panel_belong_with_its_apps(shop: Shop, hooks: BackofficeHooks, client: Client) -> None:
    client.force_login(factories.make_member(shop, owner=True))
    page = build_environ(f"/s/{shop.handle}/admin/")
    answered = client.get(page["PATH_INFO"])
    installation = factories.make_installation(shop)
    token = build_environ_with_token(factories.make_token(installation))
    api = ApiClient(token[get_token_header_key()], installation).get("shop.json")

    hooks.answered({**answered.wsgi_request.META, **page})
    hooks.answered({**token, **api.wsgi_request.META})

    assert hooks.owner(page) == hooks.owner(token) == ("shop", shop.pk)


def test_what_leads_to_no_shop_is_nobodys(hooks: BackofficeHooks) -> None:
    assert {hooks.owner(build_environ(path)) for path in ("/", "/accounts/login/", "/readyz")} == {None}


def test_what_is_in_no_shop_is_not_remembered(hooks: BackofficeHooks) -> None:
    before = hooks.owner(build_environ_with_token("nobody"))

    hooks.answered(build_environ_with_token("nobody"))

    assert hooks.owner(build_environ_with_token("nobody")) == before
