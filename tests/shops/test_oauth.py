import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.events.models import Event
from apps.core.models import TimestampedQuerySet
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.tenancy.models import AccessToken, App, Installation, Membership, Shop, User, hash_token
from apps.core.tenancy.permissions import NAMES
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.tenancy.staff_access import REQUIRED_PERMISSIONS, get_delegated_scopes
from apps.core.types import Attrs
from apps.shops.domain import app_installation, app_secrets, oauth, tokens
from apps.shops.models import AuthorizationCode
from apps.staff.domain import memberships
from tests.support import factories
from tests.support.api_client import ApiClient, Response
from tests.support.databases.races import run_concurrently
from tests.support.panel.client import Panel
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

REDIRECT = "https://app.example/callback"
PAGE = "shops_installation_authorize"
PER_USER = {"grant_options[]": ["per-user"]}
NO_GRANTS: Attrs = {"installations": [], "tokens": []}


@dataclass
class OAuthFlow:
    app: App
    panel: Panel

    def ask(self, **values: Any) -> Attrs:
        parameters = {"redirect_uri": REDIRECT, "scope": "read_products", "state": "a b&=%1", **values}
        pairs = {"client_id": self.app.api_key, **parameters}.items()
        return {name: value for name, value in pairs if value is not None}

    def address(self, **values: Any) -> str:
        return f"{self.panel.url(PAGE)}?{urlencode(self.ask(**values), doseq=True)}"

    def show(self, **values: Any) -> Response:
        return self.panel.http.get(self.address(**values))

    def answer(self, response: str = "yes", **values: Any) -> Response:
        fingerprint = self.show(**values).context["seen"]
        return self.post(self.address(**values), answer=response, seen=fingerprint)

    def post(self, address: str, **data: str) -> Response:
        return self.panel.http.post(address, data)

    def code(self, **values: Any) -> str:
        return get_callback_parameters(self.answer(**values))["code"]

    def exchange(self, code: str, **values: Any) -> Response:
        body = {"client_id": self.app.api_key, "client_secret": self.app.api_secret, "code": code, **values}
        return exchange_code(body)

    def token(self, **values: Any) -> Attrs:
        response = self.exchange(self.code(**values))
        assert response.status_code == 200, response.content
        return response.json()

    def person_token(self, **values: Any) -> str:
        return self.token(**values, **PER_USER)["access_token"]

    def permit(self, *permissions: str) -> None:
        """Give the staff member these permissions and no others."""
        owner = factories.make_member(self.panel.shop, owner=True)
        with shop_scope(self.panel.shop):
            membership = Membership.objects.get(user=self.panel.user)
            memberships.change_permissions(membership, permissions=[*permissions], by=owner, at=timezone.now())


def exchange_code(body: JsonObject, **options: Any) -> Response:
    return Client().post("/admin/oauth/access_token", body, content_type="application/json", **options)


def get_callback_parameters(response: Response) -> dict[str, str]:
    assert response.status_code == 302, response.content
    assert response["Location"].startswith(f"{REDIRECT}?")
    return dict(parse_qsl(urlsplit(response["Location"]).query))


def sign(parameters: dict[str, str], secret: str) -> str:
    pairs = sorted(f"{name}={value.replace('%', '%25').replace('&', '%26')}" for name, value in parameters.items())
    return hmac.new(secret.encode(), "&".join(pairs).encode(), hashlib.sha256).hexdigest()


def get_status(token: str, path: str = "shop.json") -> int:
    return Client(headers={"X-Platform-Access-Token": token}).get(f"/admin/api/2026-10/{path}").status_code


def snapshot_grants() -> Attrs:
    with all_shops_scope():
        return {
            "installations": list(Installation.objects.order_by("pk").values("app", "scopes", "uninstalled_at")),
            "tokens": list(AccessToken.objects.order_by("pk").values_list("digest", "revoked_at")),
        }


@pytest.fixture
def app(db: None) -> App:
    urls = [REDIRECT, "https://app.example/other"]
    return app_installation.create_app(
        name="Stock sync", distribution="public", application_url="https://app.example", redirect_urls=urls
    )


@pytest.fixture
def oauth_flow(app: App, shop: Shop) -> OAuthFlow:
    return OAuthFlow(app, Panel(factories.make_member(shop, "applications", email="ada@example.com"), shop))


def test_an_app_asks_and_gets_a_token(oauth_flow: OAuthFlow, shop: Shop) -> None:
    page = oauth_flow.show(scope="read_products,write_orders").content.decode()
    back = get_callback_parameters(oauth_flow.answer(scope="read_products,write_orders"))
    before = snapshot_grants()
    response = oauth_flow.exchange(back["code"])

    for text in ("Stock sync", "<strong>app.example</strong>", "Products, variants, images and collections"):
        assert text in page
    assert (back["state"], back["shop"]) == ("a b&=%1", shop.domain)
    assert base64.b64decode(back["host"] + "==").decode() == f"{shop.domain}/admin"
    assert abs(int(back["timestamp"]) - timezone.now().timestamp()) < 60
    assert before == NO_GRANTS, "a yes alone grants nothing"
    token = response.json()["access_token"]
    assert response.json() == {"access_token": token, "scope": "read_products,write_orders"}
    assert response["Cache-Control"] == "no-store"
    assert (get_status(token), get_status(token, "orders.json"), get_status(token, "customers.json")) == (200, 200, 403)
    with shop_scope(shop):
        assert Installation.objects.get().scopes == ["read_products", "write_orders"]


def test_the_callback_is_signed_over_all_that_it_says(oauth_flow: OAuthFlow) -> None:
    oauth_flow.app.redirect_urls = ["https://app.example/callback?tenant=7&x=a%26b"]
    oauth_flow.app.save()
    response = oauth_flow.answer(redirect_uri=oauth_flow.app.redirect_urls[0])
    parameters = dict(parse_qsl(urlsplit(response["Location"]).query))

    assert (parameters["tenant"], parameters["x"]) == ("7", "a&b")
    # The state contains all characters that must be escaped.
    assert parameters.pop("hmac") == sign(parameters, oauth_flow.app.api_secret)


def test_granted_scopes_include_implied_ones_and_other_names(oauth_flow: OAuthFlow) -> None:
    token = oauth_flow.token(scope="write_orders,read_online_store_pages")
    response = Client(headers={"X-Platform-Access-Token": token["access_token"]}).get("/admin/oauth/access_scopes.json")

    assert token["scope"] == "read_content,write_orders"
    assert [row["handle"] for row in response.json()["access_scopes"]] == [
        "read_content",
        "read_orders",
        "write_orders",
    ]


@pytest.mark.parametrize("query", ["", "?tenant=7&Zone=1", "?a=1&a-b=2&nonce=x&shop=other.example&hmac=1", "?"])
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_parameters_arrive_in_the_order_of_the_signature(oauth_flow: OAuthFlow, query: str, answer: str) -> None:
    """PHP clients hash the parameters in the order of the URL, without sorting."""
    oauth_flow.app.redirect_urls = [f"{REDIRECT}{query}"]
    oauth_flow.app.save()
    response = oauth_flow.answer(answer, redirect_uri=oauth_flow.app.redirect_urls[0], state="nonce-1")
    pairs = parse_qsl(urlsplit(response["Location"]).query)
    signature = dict(pairs)["hmac"]
    received = "&".join(f"{name}={value}" for name, value in pairs if name != "hmac")

    assert len(dict(pairs)) == len(pairs)
    expected = hmac.new(oauth_flow.app.api_secret.encode(), received.encode(), hashlib.sha256).hexdigest()
    assert signature == expected


def test_a_form_is_taken_as_json_is(oauth_flow: OAuthFlow) -> None:
    body = {"client_id": oauth_flow.app.api_key, "client_secret": oauth_flow.app.api_secret, "code": oauth_flow.code()}

    form = "application/x-www-form-urlencoded"
    response = Client().post("/admin/oauth/access_token", urlencode(body), content_type=form)

    assert (response.status_code, response.json()["scope"]) == (200, "read_products")


def test_declining_leads_back_and_grants_nothing(oauth_flow: OAuthFlow) -> None:
    parameters = get_callback_parameters(oauth_flow.answer("no"))

    assert (parameters["error"], parameters["state"]) == ("access_denied", "a b&=%1")
    assert "code" not in parameters
    assert snapshot_grants() == NO_GRANTS


def test_asking_again_shows_what_is_new_and_changes_the_scopes(oauth_flow: OAuthFlow, shop: Shop) -> None:
    first = oauth_flow.token(scope="read_products,read_customers")["access_token"]

    page = oauth_flow.show(scope="write_products,read_orders").content.decode()
    second = oauth_flow.token(scope="write_products,read_orders")["access_token"]

    assert page.count(">new</span>") == 2
    assert "Access to be removed: Customers and their addresses." in page
    with shop_scope(shop):
        assert Installation.objects.get().scopes == ["read_orders", "write_products"]
        ends = AccessToken.objects.get(digest=hash_token(first)).expires_at
    assert (get_status(first), get_status(second)) == (200, 200)
    assert ends is not None
    assert ends <= timezone.now() + timedelta(days=1), "what was fetched before goes on for a day"


def test_registered_scopes_are_asked_for_where_none_are_named(oauth_flow: OAuthFlow) -> None:
    oauth_flow.app.scopes = ["read_orders"]
    oauth_flow.app.save()

    assert oauth_flow.token(scope=None)["scope"] == "read_orders"


def test_approval_happens_in_the_named_shop(oauth_flow: OAuthFlow, shop: Shop, settings: Settings) -> None:
    settings.BASE_URL = "http://testserver"
    query = urlencode(oauth_flow.ask())

    outside = Client().get(f"/admin/oauth/authorize?{query}", headers={"host": shop.domain})
    login = Client().get(outside["Location"].removeprefix("http://testserver"))
    inside = oauth_flow.panel.http.get(outside["Location"].removeprefix("http://testserver"))
    stranger = Client()
    stranger.force_login(factories.UserFactory.create())
    refused = stranger.get(outside["Location"].removeprefix("http://testserver"))

    assert outside["Location"] == f"http://testserver/admin/oauth/authorize?{query}&shop={shop.domain}"
    assert login["Location"].startswith("/accounts/login/?next=/admin/oauth/authorize")
    assert urlsplit(inside["Location"]).path == oauth_flow.panel.url(PAGE)
    assert dict(parse_qsl(urlsplit(inside["Location"]).query)) == oauth_flow.ask()
    assert refused.status_code == 404


def test_staff_of_several_shops_choose_a_shop(oauth_flow: OAuthFlow, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=oauth_flow.panel.user, permissions=[])

    page = oauth_flow.panel.http.get(f"/admin/oauth/authorize?{urlencode(oauth_flow.ask())}").content.decode()

    assert f"{oauth_flow.panel.url(PAGE)}?client_id=" in page
    assert "Stranger" in page


def test_the_page_can_be_neither_framed_nor_led_elsewhere(oauth_flow: OAuthFlow) -> None:
    response = oauth_flow.show()

    policy = response["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://app.example;" in f"{policy};"
    assert response["X-Frame-Options"] == "DENY"
    assert "no-store" in response["Cache-Control"]


WRONG: dict[str, tuple[Attrs, str]] = {
    "no client": ({"client_id": None}, "invalid_client"),
    "unknown client": ({"client_id": "x" * 32}, "invalid_client"),
    "odd client": ({"client_id": "é"}, "invalid_client"),
    "foreign redirect": ({"redirect_uri": "https://evil.example/callback"}, "invalid_request"),
    "redirect below": ({"redirect_uri": f"{REDIRECT}/x"}, "invalid_request"),
    "redirect with a query": ({"redirect_uri": f"{REDIRECT}?x=1"}, "invalid_request"),
    "redirect in another case": ({"redirect_uri": "https://APP.example/callback"}, "invalid_request"),
    "redirect with a user": ({"redirect_uri": "https://app.example@evil.example/callback"}, "invalid_request"),
    "several redirects and none named": ({"redirect_uri": None}, "invalid_request"),
    "two redirects": ({"redirect_uri": [REDIRECT, "https://evil.example"]}, "invalid_request"),
    "unknown scope": ({"scope": "read_products,read_minds"}, "invalid_scope"),
    "long state": ({"state": "x" * 3000}, "invalid_request"),
    "odd state": ({"state": "a\r\nb"}, "invalid_request"),
    "unknown option": ({"grant_options[]": ["per-planet"]}, "invalid_request"),
    "response type": ({"response_type": "token"}, "unsupported_response_type"),
}


@pytest.mark.parametrize("name", WRONG)
def test_invalid_authorization_requests_are_refused_with_a_page(oauth_flow: OAuthFlow, name: str) -> None:
    values, error = WRONG[name]

    responses = [oauth_flow.show(**values), oauth_flow.post(oauth_flow.address(**values), answer="yes", seen="x")]

    for response in responses:
        assert response.status_code == 400
        assert response.context["refusal"].code == error
        assert b"No access granted" in response.content
    assert not AuthorizationCode._base_manager.exists()


def test_scopes_beyond_the_registered_ones_are_refused(oauth_flow: OAuthFlow) -> None:
    oauth_flow.app.scopes = ["write_orders"]
    oauth_flow.app.save()

    fine, beyond = oauth_flow.show(scope="read_orders"), oauth_flow.show(scope="read_orders,read_customers")

    assert fine.status_code == 200
    assert (beyond.status_code, beyond.context["refusal"].code) == (400, "invalid_scope")


def test_the_app_of_another_shop_alone_cannot_be_approved(oauth_flow: OAuthFlow, other_shop: Shop) -> None:
    App.objects.filter(pk=oauth_flow.app.pk).update(distribution="private", owner=other_shop)

    response = oauth_flow.show()

    assert (response.status_code, response.context["refusal"].code) == (400, "access_denied")


def test_a_staff_member_without_the_permission_grants_nothing(oauth_flow: OAuthFlow, shop: Shop) -> None:
    fingerprint = oauth_flow.show().context["seen"]
    oauth_flow.panel = Panel(factories.make_member(shop, "view_private_apps", "edit_private_apps", "orders"), shop)

    responses = [oauth_flow.show(), oauth_flow.post(oauth_flow.address(), answer="yes", seen=fingerprint)]

    assert [response.status_code for response in responses] == [403, 403]
    assert not AuthorizationCode._base_manager.exists()


def test_a_forged_answer_grants_nothing(oauth_flow: OAuthFlow, shop: Shop) -> None:
    fingerprint = oauth_flow.show().context["seen"]
    strict = Panel(oauth_flow.panel.user, shop, enforce_csrf_checks=True)

    forged = strict.http.post(oauth_flow.address(), {"answer": "yes", "seen": fingerprint})
    incomplete = [
        oauth_flow.post(oauth_flow.address(), **values)
        for values in ({"answer": "yes"}, {"answer": "yes", "seen": "made-up"}, {"seen": fingerprint})
    ]

    assert [response.status_code for response in (forged, *incomplete)] == [403, 200, 200, 200]
    assert not AuthorizationCode._base_manager.exists()


def test_changes_while_the_page_was_open_are_shown_first(oauth_flow: OAuthFlow) -> None:
    fingerprint = oauth_flow.show(scope=None).context["seen"]
    oauth_flow.app.scopes = ["write_customers"]
    oauth_flow.app.save()

    response = oauth_flow.post(oauth_flow.address(scope=None), answer="yes", seen=fingerprint)

    assert response.status_code == 200
    assert b"Someone else changed this in the meantime" in response.content


def test_a_code_works_once_in_time_for_its_app_and_shop(oauth_flow: OAuthFlow, other_shop: Shop, shop: Shop) -> None:
    other = app_installation.create_app(name="Other")
    used, expired, unused = oauth_flow.code(), "", ""
    assert oauth_flow.exchange(used).status_code == 200
    expired = oauth_flow.code()
    with shop_scope(shop):
        AuthorizationCode.objects.update(expires_at=timezone.now())
    voided = oauth_flow.code()
    unused = oauth_flow.code()
    before = snapshot_grants()
    keys = {"client_id": oauth_flow.app.api_key, "client_secret": oauth_flow.app.api_secret}
    refusals = {
        "used": oauth_flow.exchange(used),
        "expired": oauth_flow.exchange(expired),
        "voided by a newer one": oauth_flow.exchange(voided),
        "made up": oauth_flow.exchange("x" * 43),
        "none": oauth_flow.exchange(""),
        "of another app": oauth_flow.exchange(unused, client_id=other.api_key, client_secret=other.api_secret),
        "at another shop": exchange_code({**keys, "code": unused}, headers={"host": other_shop.domain}),
        "for another redirect": oauth_flow.exchange(unused, redirect_uri="https://app.example/other"),
    }

    for name, response in refusals.items():
        assert (response.status_code, response.json()["error"]) == (400, "invalid_grant"), name
        assert response.json()["error_description"]
    assert snapshot_grants() == before
    assert oauth_flow.exchange(unused, redirect_uri=REDIRECT).status_code == 200, "and nothing of this used it up"


def test_a_wrong_secret_gets_nothing_and_uses_nothing_up(oauth_flow: OAuthFlow) -> None:
    code, before = oauth_flow.code(), snapshot_grants()

    wrong = [
        oauth_flow.exchange(code, client_secret=secret)
        for secret in ("", "x", oauth_flow.app.api_secret + "x", oauth_flow.app.api_secret[:-1])
    ]
    unknown = oauth_flow.exchange(code, client_id="f" * 32)

    assert {(response.status_code, response.content) for response in (*wrong, unknown)} == {(401, unknown.content)}
    assert unknown.json()["error"] == "invalid_client"
    assert snapshot_grants() == before
    assert oauth_flow.exchange(code).status_code == 200


def test_both_secrets_are_valid_during_a_rotation_and_then_one(oauth_flow: OAuthFlow) -> None:
    old = oauth_flow.app.api_secret
    app_secrets.rotate_secret(oauth_flow.app, at=timezone.now())
    parameters = get_callback_parameters(oauth_flow.answer())
    by_old = oauth_flow.exchange(parameters["code"], client_secret=old)
    by_new = oauth_flow.exchange(oauth_flow.code())
    app_secrets.revoke_old_secrets(oauth_flow.app, at=timezone.now())
    ended = oauth_flow.exchange(oauth_flow.code(), client_secret=old)

    signature = parameters.pop("hmac")
    assert signature == sign(parameters, old), "the callback is signed by the one that the app surely knows"
    assert [response.status_code for response in (by_old, by_new, ended)] == [200, 200, 401]


def test_a_code_expires_with_the_membership_of_its_giver_and_the_app(oauth_flow: OAuthFlow, shop: Shop) -> None:
    token = oauth_flow.token()["access_token"]
    of_powerless = oauth_flow.code()
    oauth_flow.permit("orders")
    without = oauth_flow.exchange(of_powerless)
    oauth_flow.permit("applications")
    redirected = oauth_flow.code()
    oauth_flow.app.redirect_urls = ["https://app.example/other"]
    oauth_flow.app.save()
    moved = oauth_flow.exchange(redirected)
    oauth_flow.app.redirect_urls = [REDIRECT]
    oauth_flow.app.save()
    of_uninstalled = oauth_flow.code()
    with shop_scope(shop):
        app_installation.uninstall_app(Installation.objects.get(), actor="staff:1", at=timezone.now())
    uninstalled = oauth_flow.exchange(of_uninstalled)

    assert [response.json()["error"] for response in (without, moved, uninstalled)] == ["invalid_grant"] * 3
    assert get_status(token) == 401


MALFORMED: dict[str, tuple[bytes, str, int]] = {
    "no body": (b"", "application/json", 400),
    "no JSON": (b"{", "application/json", 400),
    "a list": (b"[]", "application/json", 400),
    "a number": (b'{"client_id": 1}', "application/json", 400),
    "a NUL": (b'{"client_id": "a\\u0000"}', "application/json", 400),
    "twice": (b"client_id=a&client_id=b", "application/x-www-form-urlencoded", 400),
    "latin": (b"client_id=%ff", "application/x-www-form-urlencoded", 401),
    "nul form": (b"client_id=%00", "application/x-www-form-urlencoded", 400),
    "text": (b"client_id=a", "text/plain", 415),
    "long": (b'{"client_id": "' + b"x" * 5000 + b'"}', "application/json", 400),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_body_that_cannot_be_read_is_refused_as_oauth_says(db: None, name: str) -> None:
    body, content_type, expected = MALFORMED[name]

    response = Client().post("/admin/oauth/access_token", body, content_type=content_type)

    assert response.status_code == expected
    assert response.json().keys() == {"error", "error_description"}


def test_other_methods_and_grants_are_refused(oauth_flow: OAuthFlow) -> None:
    got = Client().get("/admin/oauth/access_token")
    password = oauth_flow.exchange("", grant_type="password")

    assert (got.status_code, got["Allow"], got.json()["error"]) == (405, "POST", "invalid_request")
    assert (password.status_code, password.json()["error"]) == (400, "unsupported_grant_type")


def test_clients_that_guess_secrets_or_codes_must_wait(oauth_flow: OAuthFlow, rate_limited: TimeMachineFixture) -> None:
    def guess(number: int, **options: Any) -> Response:
        wrong = {"client_secret": f"guess-{number}"} if number % 2 else {"code": f"guess-{number}"}
        values = {"client_id": oauth_flow.app.api_key, "client_secret": oauth_flow.app.api_secret, "code": "none"}
        return exchange_code({**values, **wrong}, **options)

    guessed = [guess(number).status_code for number in range(13)]
    refused = oauth_flow.exchange(oauth_flow.code())
    body = {"client_id": oauth_flow.app.api_key, "client_secret": oauth_flow.app.api_secret}
    nothing = snapshot_grants()["tokens"]
    elsewhere = exchange_code({**body, "code": oauth_flow.code()}, REMOTE_ADDR="192.0.2.7")
    rate_limited.move_to("2026-03-02T12:00:06Z", tick=False)
    later = oauth_flow.exchange(oauth_flow.code())

    assert (guessed[0], guessed[1]) == (400, 401)
    assert guessed[10:] == [429] * 3
    # Correct secrets are rejected too, so that the response does not reveal whether a guess is correct.
    assert (refused.status_code, refused["Retry-After"], refused["Cache-Control"]) == (429, "6", "no-store")
    description = "Too many requests with a wrong secret or code. Try again in 6 seconds."
    assert refused.json() == {"error": "temporarily_unavailable", "error_description": description}
    assert nothing == []
    assert (elsewhere.status_code, later.status_code) == (200, 200)


def test_right_exchanges_are_never_too_many(shop: Shop, rate_limited: TimeMachineFixture) -> None:
    app = factories.make_installation(shop, ("read_products",), distribution="custom").app
    body = {"client_id": app.api_key, "client_secret": app.api_secret, "grant_type": "client_credentials"}

    assert {exchange_code(body).status_code for _ in range(30)} == {200}


def test_attempts_with_many_keys_are_counted_by_network(db: None, rate_limited: TimeMachineFixture) -> None:
    def guess(number: int, address: str) -> int:
        return exchange_code({"client_id": f"app-{number}", "client_secret": "x"}, REMOTE_ADDR=address).status_code

    tried = [guess(number, f"2001:db8::{number:x}") for number in range(102)]

    assert tried == [401] * 100 + [429] * 2
    assert guess(0, "2001:db8:0:1::1") == 401


def test_apps_of_ones_own_get_tokens_for_their_secret(shop: Shop, other_shop: Shop) -> None:
    installation = factories.make_installation(shop, ("read_products",), distribution="custom")
    app = installation.app
    body = {"client_id": app.api_key, "client_secret": app.api_secret, "grant_type": "client_credentials"}

    alone = exchange_code(body)
    by_host = exchange_code(body, headers={"host": shop.domain})
    by_name = exchange_code({**body, "shop": shop.domain})
    elsewhere = exchange_code({**body, "shop": other_shop.domain})
    app_installation.install_app(app, other_shop, scopes="", actor="system", at=timezone.now())
    unclear = exchange_code(body)
    App.objects.filter(pk=app.pk).update(distribution="public")
    public = exchange_code({**body, "shop": shop.domain})

    assert [item.status_code for item in (alone, by_host, by_name)] == [200, 200, 200]
    assert (alone.json()["scope"], alone.json()["expires_in"]) == ("read_products", 86399)
    assert get_status(alone.json()["access_token"], "products.json") == 200
    assert [item.json()["error"] for item in (elsewhere, unclear)] == ["invalid_request"] * 2
    assert public.json()["error"] == "unauthorized_client"


def test_a_token_of_a_person_does_what_the_person_may(oauth_flow: OAuthFlow, shop: Shop) -> None:
    oauth_flow.permit("applications", "orders")
    scopes = "write_orders,write_products"
    page = oauth_flow.show(scope=scopes, **PER_USER).content.decode()
    response = oauth_flow.token(scope=scopes, **PER_USER)
    token = response["access_token"]
    scope_response = Client(headers={"X-Platform-Access-Token": token}).get("/admin/oauth/access_scopes.json").json()
    first = [get_status(token, path) for path in ("orders.json", "products.json")]
    oauth_flow.permit("products")
    second = [get_status(token, path) for path in ("orders.json", "products.json")]
    panel = Panel(factories.make_member(shop, owner=True), shop)
    installation = Installation._base_manager.get().pk

    assert "For one day, the app can also act on your behalf" in page
    assert "Stock sync (app), on behalf of Sam" in panel.get("shops_installation_change", installation).content.decode()
    assert response["associated_user_scope"] == "read_orders"
    assert response["associated_user"] == {
        "id": oauth_flow.panel.user.pk, "first_name": "Sam", "last_name": "", "email": "ada@example.com",
        "email_verified": True, "account_owner": False, "locale": "en", "collaborator": False,
    }  # fmt: skip
    assert response["expires_in"] == 86399
    assert scope_response == {"access_scopes": [{"handle": "read_orders"}]}
    assert (first, second) == ([200, 403], [403, 200]), "a change of permissions counts from the next request"


def test_replacing_an_apps_tokens_lets_none_live_longer(oauth_flow: OAuthFlow, shop: Shop) -> None:
    token = oauth_flow.person_token()
    with shop_scope(shop):
        row = AccessToken.objects.get(digest=hash_token(token))
        before = row.expires_at
        tokens.rotate_tokens(row.installation, overlap=timedelta(days=7), actor="staff:1", at=timezone.now())
        row.refresh_from_db()

    assert row.expires_at == before


def test_asking_for_a_person_takes_nothing_from_the_app(oauth_flow: OAuthFlow, shop: Shop) -> None:
    oauth_flow.token(scope="read_orders,read_products")

    oauth_flow.token(scope="read_customers", **PER_USER)

    with shop_scope(shop):
        assert Installation.objects.get().scopes == ["read_customers", "read_orders", "read_products"]


@pytest.mark.parametrize("how", ["removed", "deactivated", "deleted place", "uninstalled"])
def test_a_token_of_a_person_dies_with_their_place(oauth_flow: OAuthFlow, shop: Shop, how: str) -> None:
    owner = factories.make_member(shop, owner=True)
    token = oauth_flow.person_token()
    assert get_status(token) == 200
    now = timezone.now()
    with shop_scope(shop):
        membership = Membership.objects.get(user=oauth_flow.panel.user)
        if how == "removed":
            memberships.remove_member(membership, by=owner, at=now)
        elif how == "deactivated":
            User.objects.filter(pk=membership.user_id).update(is_active=False)
        elif how == "deleted place":
            # Delete the row without clearing the caches, like another process.
            Membership.objects.filter(pk=membership.pk).delete()
        else:
            app_installation.uninstall_app(Installation.objects.get(), actor="system", at=now)

    assert get_status(token) == 401


def test_a_person_uninstalls_through_an_app_only_what_they_may(oauth_flow: OAuthFlow, shop: Shop) -> None:
    token = oauth_flow.person_token()
    oauth_flow.permit("products")

    response = Client(headers={"X-Platform-Access-Token": token}).delete("/admin/api_permissions/current.json")

    assert response.status_code == 403
    assert get_status(token) == 200


def test_actions_of_staff_through_an_app_have_their_name(oauth_flow: OAuthFlow, shop: Shop) -> None:
    oauth_flow.permit("applications", "products")
    token = oauth_flow.person_token(scope="write_products")

    client = ApiClient(token, Installation._base_manager.get())
    client.post("products.json", {"product": {"title": "Mug"}})

    with shop_scope(shop):
        assert Event.objects.get(topic="products/create").actor == f"staff:{oauth_flow.panel.user.pk}"


def test_every_scope_has_the_permissions_that_it_needs() -> None:
    assert {name for needed in REQUIRED_PERMISSIONS.values() for verbs in needed for name in verbs} <= set(NAMES)
    assert {scope.split("_", 1)[1] for scope in SCOPES} == REQUIRED_PERMISSIONS.keys()
    assert get_delegated_scopes([]) == frozenset()
    assert get_delegated_scopes(list(NAMES)) == SCOPES.keys()
    assert get_delegated_scopes([], NAMES) == {scope for scope in SCOPES if scope.startswith("read_")}


def test_viewers_grant_no_write_access_to_an_app(oauth_flow: OAuthFlow, shop: Shop) -> None:
    with shop_scope(shop):
        members = Membership.objects.filter(user=oauth_flow.panel.user)
        members.update(permissions=["applications"], view_only=["products"])
    token = oauth_flow.person_token(scope="write_products")

    client = ApiClient(token, Installation._base_manager.get())

    assert client.get("products.json").status_code == 200
    assert client.post("products.json", {"product": {"title": "Mug"}}).status_code == 403


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_codes_work_twice_without_deletion")
def test_one_of_two_requests_with_a_code_gets_a_token(oauth_flow: OAuthFlow, shop: Shop) -> None:
    code = oauth_flow.code()

    def exchange() -> oauth.IssuedToken:
        return oauth.exchange_code(oauth_flow.app, code, at=timezone.now())

    results = run_concurrently(shop, *[exchange] * 4, expected_errors=oauth.OAuthError)

    assert sum(isinstance(item, oauth.IssuedToken) for item in results) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_codes_work_twice_without_deletion(oauth_flow: OAuthFlow, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    code = oauth_flow.code()
    monkeypatch.setattr(TimestampedQuerySet, "delete", lambda rows: (rows.count(), {}))

    for _ in range(2):
        oauth.exchange_code(oauth_flow.app, code, at=timezone.now())

    with all_shops_scope():
        assert AccessToken.objects.count() == 2


def test_unused_codes_are_cleared(oauth_flow: OAuthFlow) -> None:
    oauth_flow.code()

    with all_shops_scope():
        deleted = [
            oauth.delete_expired_codes_and_tokens(timezone.now() + timedelta(minutes=minutes)) for minutes in (0, 11)
        ]

    assert deleted == [0, 1]


def test_a_persons_token_and_the_apps_own_share_no_idempotency_key(oauth_flow: OAuthFlow, shop: Shop) -> None:
    oauth_flow.permit("applications", "themes")
    own = oauth_flow.token(scope="write_script_tags")["access_token"]
    person = oauth_flow.person_token(scope="write_script_tags")
    body = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}

    def post(token: str) -> tuple[int, str | None]:
        http = Client(headers={"X-Platform-Access-Token": token, "Idempotency-Key": "once"})
        response = http.post("/admin/api/2026-10/script_tags.json", body, content_type="application/json")
        return response.json()["script_tag"]["id"], response.get("Idempotent-Replayed")

    first, persons, repeated, persons_again = (post(token) for token in (own, person, own, person))

    assert first[0] != persons[0]
    assert (persons[1], repeated, persons_again) == (None, (first[0], "true"), (persons[0], "true"))


def test_the_current_user_is_whom_the_token_acts_as(oauth_flow: OAuthFlow, shop: Shop) -> None:
    shop.plan = Shop.Plan.PREMIUM
    shop.save()
    owner = factories.make_member(shop, owner=True, email="kim@example.com")
    App.objects.filter(pk=oauth_flow.app.pk).update(distribution="custom")
    own = oauth_flow.token(scope="read_users")["access_token"]
    person = oauth_flow.person_token(scope="read_users")

    users = []
    for token in (own, person):
        body = Client(headers={"X-Platform-Access-Token": token}).get("/admin/api/2026-10/users/current.json").json()
        assert_fits("user", "GET /users/current.json", body)
        users.append((body["user"]["id"], body["user"]["account_owner"]))

    assert users == [(owner.pk, True), (oauth_flow.panel.user.pk, False)]
    assert body["user"]["permissions"] == ["applications"]


def test_a_person_who_does_not_manage_the_staff_sees_only_themselves(oauth_flow: OAuthFlow, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(plan=Shop.Plan.PREMIUM)
    App.objects.filter(pk=oauth_flow.app.pk).update(distribution="custom")
    person = oauth_flow.person_token(scope="read_users")

    assert [get_status(person, path) for path in ("users/current.json", "users.json")] == [200, 403]
