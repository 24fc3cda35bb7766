from unittest.mock import patch

import pytest
from django.utils import timezone

from apps.core.rest.models import IdempotencyKey
from apps.core.tenancy.models import Shop
from apps.shops.domain import app_installation, storefront_tokens
from apps.shops.models import StorefrontAccessToken
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")
BODY = {"storefront_access_token": {"title": "Phone"}}
PATH = "storefront_access_tokens.json"


def create_token(api: ApiClient, **headers: str) -> JsonObject:
    response = api.post(PATH, BODY, **headers)
    assert response.status_code == 201, response.content
    assert_fits("storefront_access_token", f"POST /{PATH}", response.json())
    return response.json()["storefront_access_token"]


def test_tokens_are_encrypted_and_can_be_read_again(api: ApiClient) -> None:
    token = create_token(api)

    listed = api.get(PATH).json()
    assert_fits("storefront_access_token", f"GET /{PATH}", listed)
    assert listed == {"storefront_access_tokens": [token]}
    column = StorefrontAccessToken.objects.extra(select={"stored": "token"}).values_list("stored", flat=True).get()
    assert token["access_token"] not in column
    assert len(token["access_token"]) == 32


def test_a_token_opens_no_route(api: ApiClient) -> None:
    token = create_token(api)["access_token"]

    assert ApiClient(token, api.installation).get("shop.json").status_code == 401


def test_each_app_manages_its_own_tokens(api: ApiClient, client_with: ClientWith) -> None:
    token, other = create_token(api), client_with()

    assert other.get(PATH).json() == {"storefront_access_tokens": []}
    assert other.delete(f"storefront_access_tokens/{token['id']}.json").status_code == 404
    assert api.delete(f"storefront_access_tokens/{token['id']}.json").json() == {}
    assert not StorefrontAccessToken.objects.exists()


def test_replays_return_the_token_without_storing_it(api: ApiClient) -> None:
    first = create_token(api, idempotency_key="k1")

    stored = bytes(IdempotencyKey.objects.get().body)
    assert first["access_token"].encode() not in stored
    assert create_token(api, idempotency_key="k1") == first


def test_the_number_of_tokens_is_limited(api: ApiClient) -> None:
    with patch.object(storefront_tokens, "MAX_TOKENS", 1):
        create_token(api)
        response = api.post(PATH, BODY)

    assert (response.status_code, get_errors(response)) == (422, {"base": ["has too many tokens (maximum is 1)"]})


def test_uninstalling_the_app_deletes_its_tokens(api: ApiClient, shop: Shop) -> None:
    create_token(api)

    app_installation.uninstall_app(api.installation, actor="system", at=timezone.now())

    assert not StorefrontAccessToken.objects.exists()
