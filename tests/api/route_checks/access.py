"""Checks of tokens, scopes and shop isolation: A1 to A3 in docs/reliability.md."""

import json

from django.test import Client

from apps.core.tenancy.access_scopes import SCOPES, expand_scopes
from tests.api.route_checks import RouteCase, has_argument, is_get, route_check
from tests.support import factories
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.subtests import Subtests

# Writes that need no scope: an app may uninstall itself, subscribe to topics that its scopes can read, and ask staff to
# approve its charges. Its storefront access tokens open no route.
WRITES_OF_ANY_TOKEN = {
    "POST webhooks.json",
    "PUT webhooks/<id>.json",
    "POST webhooks/<id>/replay.json",
    "POST webhooks/<subscription_id>/test.json",
    "POST webhooks/<subscription_id>/deliveries/<id>/resend.json",
    "DELETE webhooks/<id>.json",
    "POST storefront_access_tokens.json",
    "DELETE storefront_access_tokens/<id>.json",
    "POST application_charges.json",
    "POST application_credits.json",
    "POST recurring_application_charges.json",
    "DELETE recurring_application_charges/<id>.json",
    "PUT recurring_application_charges/<id>/customize.json",
    "POST recurring_application_charges/<id>/activate.json",
    "POST recurring_application_charges/<recurring_charge_id>/usage_charges.json",
    "POST graphql.json",
    "DELETE api_permissions/current.json",
    "DELETE /admin/api_permissions/current.json",
}
UNAUTHORIZED = b'{"errors":"[API] Invalid API key or access token (unrecognized login or wrong password)"}'
anonymous = Client()


def as_bearer(token: str) -> dict[str, str]:
    return {"X-Platform-Access-Token": token}


@route_check()
def check_sample_request_works(case: RouteCase) -> None:
    response = case.sample_response

    assert response.status_code == case.sample.status, response.content
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["X-Platform-API-Version"] == "2026-10"
    assert response["X-Platform-Shop-Api-Call-Limit"] == "1/40"
    assert len(response["X-Request-Id"]) == 36


@route_check()
def check_bad_tokens_are_refused(case: RouteCase) -> None:
    headers: dict[str, dict[str, str]] = {"no header": {}} | {
        reason: as_bearer(token) for reason, token in case.tokens.bad_tokens.items()
    }

    with case.unchanged(), Subtests() as subtest:
        for reason, header in headers.items():
            with subtest(reason):
                response = case.send(anonymous, headers=header)
                assert (response.status_code, response.content) == (401, UNAUTHORIZED)
                assert response["WWW-Authenticate"] == 'Basic realm="Admin API", charset="UTF-8"'


@route_check(lambda route: bool(route.scopes))
def check_other_scopes_are_not_enough(case: RouteCase) -> None:
    scopes = case.route.scopes
    poor = factories.make_installation(
        case.shop, [scope for scope in SCOPES if not expand_scopes([scope]) & set(scopes)]
    )
    token = factories.make_token(poor)

    with assert_database_unchanged():
        response = case.send(headers=as_bearer(token))
        assert response.status_code == 403
        assert response.json() == {"errors": f"[API] This action requires merchant approval for {scopes[0]} scope."}


@route_check(lambda route: not is_get(route) and route.name not in WRITES_OF_ANY_TOKEN)
def check_read_scopes_cannot_write(case: RouteCase) -> None:
    with case.unchanged():
        assert case.send(headers=as_bearer(case.tokens.reading_token)).status_code == 403


@route_check(has_argument)
def check_ids_of_another_shop_are_not_found(case: RouteCase) -> None:
    with case.unchanged():
        response = case.send(headers=as_bearer(case.tokens.other_shop_token))
        assert response.status_code == 404
        assert response.json() == {"errors": "Not Found"}


@route_check(lambda route: is_get(route) and not has_argument(route))
def check_lists_contain_no_rows_of_another_shop(case: RouteCase) -> None:
    own = get_row_ids(case.sample_response.content)

    assert own.isdisjoint(get_row_ids(case.send(headers=as_bearer(case.tokens.other_shop_token)).content))


def get_row_ids(body: bytes) -> set[int]:
    """Return the ids of a list's top-level rows."""
    inner = next(iter(json.loads(body).values()))
    rows = inner if isinstance(inner, list) else [inner]
    return {row["id"] for row in rows if isinstance(row, dict) and "id" in row}
