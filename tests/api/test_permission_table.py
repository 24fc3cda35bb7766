"""Tests for every route's permissions, read from the URL conf. Each route has a working sample request.

See checks A1 to A3 in docs/reliability.md.
"""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.ground.tenancy import all_shops_scope, shop_scope
from apps.shops.domain import app_installation, tokens
from apps.shops.models import AccessToken, Installation, Shop
from apps.shops.models.apps import hash_token
from apps.shops.models.scopes import SCOPES, expand_scopes
from tests import factories
from tests.api.routes import Route, get_all_routes
from tests.conftest import ApiClient, ClientWith
from tests.samples import load_all_samples

ROUTES = get_all_routes()
SAMPLES = load_all_samples()
WITH_SAMPLE = [route for route in ROUTES if route.name in SAMPLES]
UNAUTHORIZED = {"errors": "[API] Invalid API key or access token (unrecognized login or wrong password)"}


def get_route_id(route: Route) -> str:
    return route.name


def test_every_route_has_a_sample_and_every_sample_a_route() -> None:
    assert {route.name for route in ROUTES} == SAMPLES.keys()


def test_every_scope_that_a_route_asks_for_can_be_granted() -> None:
    route_scopes = {route.view.scope for route in ROUTES if route.view.scope}

    assert [word for word in sorted(route_scopes) if not {f"read_{word}", f"write_{word}"} & SCOPES.keys()] == []


@pytest.mark.parametrize("route", WITH_SAMPLE, ids=get_route_id)
def test_sample_works(route: Route, prepare_request: Any) -> None:
    sample = SAMPLES[route.name]

    response = prepare_request(sample).send()

    assert response.status_code == sample.status, response.content
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["X-Platform-API-Version"] == "2026-07"
    assert response["X-Platform-Shop-Api-Call-Limit"] == "1/40"
    assert len(response["X-Request-Id"]) == 36


def make_bad_tokens(api: ApiClient, shop: Shop) -> dict[str, str | None]:
    """Return one token header for each reason to reject a token, by reason."""
    revoked = factories.make_token(api.installation)
    uninstalled = factories.make_installation(shop)
    gone_token = factories.make_token(uninstalled)
    app_installation.uninstall_app(uninstalled, actor="system", at=timezone.now())
    expired = factories.make_token(api.installation)
    with shop_scope(shop):
        tokens.revoke_token(AccessToken.objects.get(digest=hash_token(revoked)), actor="x", at=timezone.now())
        AccessToken.objects.filter(digest=hash_token(expired)).update(expires_at=timezone.now())
    return {
        "no header": None,
        "empty": "",
        "wrong": "bko_" + "x" * 43,
        "trailing blank inside": api.token + "%20",
        "long": "x" * 10_000,
        "not ascii": "bko_ü",
        "revoked": revoked,
        "uninstalled": gone_token,
        "expired": expired,
    }


@pytest.mark.parametrize("route", WITH_SAMPLE, ids=get_route_id)
def test_no_route_opens_without_a_good_token(
    route: Route, prepare_request: Any, api: ApiClient, shop: Shop, assert_database_unchanged: Any
) -> None:
    case = prepare_request(SAMPLES[route.name])
    tokens = make_bad_tokens(api, shop)

    with assert_database_unchanged():
        responses = {name: case.send(ApiClientWithHeader(token)) for name, token in tokens.items()}

    assert {name: response.status_code for name, response in responses.items()} == dict.fromkeys(tokens, 401)
    assert {response.content for response in responses.values()} == {
        factories.to_json(UNAUTHORIZED).replace(b": ", b":")
    }


class ApiClientWithHeader:
    """A client with any token header, or without a token header."""

    def __init__(self, token: str | None) -> None:
        self.http = Client() if token is None else Client(headers={"X-Platform-Access-Token": token})


@pytest.mark.parametrize("route", [route for route in WITH_SAMPLE if route.scopes], ids=get_route_id)
def test_all_scopes_but_the_needed_one_do_not_suffice(
    route: Route, prepare_request: Any, api: ApiClient, client_with: ClientWith, assert_database_unchanged: Any
) -> None:
    case = prepare_request(SAMPLES[route.name])
    enough = [scope for scope in SCOPES if expand_scopes([scope]) & set(route.scopes)]
    poor = client_with(*(set(SCOPES) - set(enough)))

    with assert_database_unchanged():
        response = case.send(poor)

    assert response.status_code == 403
    assert response.json() == {"errors": f"[API] This action requires merchant approval for {route.scopes[0]} scope."}


# Writes that need no scope: an app may uninstall itself, and subscribe to topics that its scopes can read.
WRITES_OF_ANY_TOKEN = {
    "POST webhooks.json",
    "PUT webhooks/<id>.json",
    "DELETE webhooks/<id>.json",
    "POST graphql.json",
    "DELETE api_permissions/current.json",
    "DELETE /admin/api_permissions/current.json",
}
WRITES = [route for route in WITH_SAMPLE if not route.name.startswith("GET") and route.name not in WRITES_OF_ANY_TOKEN]


@pytest.mark.parametrize("route", WRITES, ids=get_route_id)
def test_reading_scopes_do_not_write(
    route: Route, prepare_request: Any, client_with: ClientWith, assert_database_unchanged: Any
) -> None:
    case = prepare_request(SAMPLES[route.name])
    reader = client_with(*(scope for scope in SCOPES if scope.startswith("read_")))

    with assert_database_unchanged():
        assert case.send(reader).status_code == 403


def test_writing_any_resource_writes_the_shops_own_metafields(client_with: ClientWith, shop: Shop) -> None:
    body = {"metafield": {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}}

    for scope in ("write_metafields", "write_content"):
        with_scope = client_with(scope, name=scope)
        created = with_scope.post("metafields.json", body)
        row = f"metafields/{created.json()['metafield']['id']}.json"
        changed = with_scope.put(row, {"metafield": {"value": "Hot"}})

        assert (created.status_code, changed.status_code, with_scope.delete(row).status_code) == (201, 200, 200)


@pytest.mark.parametrize("route", [route for route in WITH_SAMPLE if "<" in route.name], ids=get_route_id)
def test_ids_of_another_shop_do_not_exist(
    route: Route, prepare_request: Any, other_shop_api: ApiClient, assert_database_unchanged: Any
) -> None:
    case = prepare_request(SAMPLES[route.name])

    with assert_database_unchanged():
        response = case.send(other_shop_api)

    assert response.status_code == 404
    assert response.json() == {"errors": "Not Found"}


@pytest.mark.parametrize(
    "route", [r for r in WITH_SAMPLE if r.name.startswith("GET") and "<" not in r.name], ids=get_route_id
)
def test_lists_show_nothing_of_another_shop(
    route: Route, prepare_request: Any, api: ApiClient, other_shop_api: ApiClient
) -> None:
    case = prepare_request(SAMPLES[route.name])

    mine, theirs = case.send().content, case.send(other_shop_api).content

    if b'"id":' in mine:
        assert _get_row_ids(mine).isdisjoint(_get_row_ids(theirs))


def _get_row_ids(body: bytes) -> set[int]:
    """Return the ids of a list's top-level rows."""
    import json

    inner = next(iter(json.loads(body).values()))
    rows = inner if isinstance(inner, list) else [inner]
    return {row["id"] for row in rows if isinstance(row, dict) and "id" in row}


def test_the_host_of_another_shop_is_rejected(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    own = api.http.get("/admin/api/2026-07/shop.json", headers={"Host": shop.domain})
    foreign = api.http.get("/admin/api/2026-07/shop.json", headers={"Host": other_shop.domain})

    assert own.status_code == 200
    assert foreign.status_code == 401


def test_changed_scopes_count_from_the_next_request(api: ApiClient, shop: Shop) -> None:
    assert api.get("script_tags.json").status_code == 200

    with all_shops_scope():
        installation = Installation.objects.get(pk=api.installation.pk)
    app_installation.install_app(installation.app, shop, scopes=["read_products"], actor="staff:1", at=timezone.now())

    assert api.get("script_tags.json").status_code == 403
