"""Races of installing, uninstalling and using apps, and of members who leave."""

from collections.abc import Callable, Iterable
from functools import partial

import pytest
from django.utils import timezone

from apps.content.models import ScriptTag
from apps.core.rest.exceptions import UNAUTHORIZED
from apps.core.rest.requests import authentication
from apps.core.tenancy.models import AccessToken, App, Installation, Membership, Shop, User, hash_token
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.fulfillment.models import FulfillmentService
from apps.shops.domain import app_installation, oauth, purchases, tokens
from apps.shops.models import AppPurchase, AuthorizationCode
from apps.staff.domain import memberships
from apps.webhooks.domain.subscriptions import get_undeleted_subscriptions
from tests.samples.graphql import CREATE
from tests.support import factories
from tests.support.api_client import ApiClient, Response
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.panel.client import Panel
from tests.support.types import JsonObject

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

ROUNDS = 20
REDIRECT = "https://app.example/callback"
TAG = {"script_tag": {"src": "https://a.example/1.js", "event": "onload"}}
HOOK = {"topic": "PRODUCTS_UPDATE", "webhookSubscription": {"uri": "https://app.example/hooks"}}
# The requests that add rows of the kinds that are deleted when an app is uninstalled.
CREATIONS: dict[str, tuple[str, JsonObject]] = {
    "script tag": ("script_tags.json", TAG),
    "subscription": ("webhooks.json", {"webhook": {"topic": "shop/update", "address": "https://app.example/hooks"}}),
    "subscription by GraphQL": ("graphql.json", {"query": CREATE, "variables": HOOK}),
    "service": (
        "fulfillment_services.json",
        {"fulfillment_service": {"name": "Depot", "callback_url": "https://depot.example/", "format": "json"}},
    ),
}


def make_client(shop: Shop, app: App | None = None) -> ApiClient:
    installation = factories.make_installation(shop) if app is None else install(app, shop)
    api = ApiClient(factories.make_token(installation), installation)
    # The first request of a token also updates the time of its last use, which would wait for an uninstallation.
    assert api.get("shop.json").status_code == 200
    return api


def install(app: App, shop: Shop, scopes: str | Iterable[str] = factories.ALL_SCOPES) -> Installation:
    return app_installation.install_app(app, shop, scopes=scopes, actor="system", at=timezone.now())


def uninstall(api: ApiClient) -> None:
    app_installation.uninstall_app(api.installation, actor="system", at=timezone.now())


def count_leftovers(app: App) -> int:
    rows = (ScriptTag.objects, FulfillmentService.objects, get_undeleted_subscriptions())
    return sum(row.filter(app=app).count() for row in rows)


# --- Purchases --------------------------------------------------------------------------------------------------------


def approve_purchase(purchase: AppPurchase) -> AppPurchase:
    return purchases.decide_purchase(purchase, approve=True, actor="staff:1", at=timezone.now())


def load_purchase(shop: Shop, api: ApiClient) -> AppPurchase:
    with shop_scope(shop):
        pk = factories.make_purchase(Installation.objects.select_related("shop").get(pk=api.installation.pk)).pk
        return AppPurchase.objects.select_related("installation__app", "shop").get(pk=pk)


@pytest.mark.race(control="test_a_purchase_of_an_uninstalled_app_is_approved_without_the_lock")
def test_no_purchase_is_approved_during_an_uninstallation(shop: Shop) -> None:
    api = make_client(shop)
    purchase = load_purchase(shop, api)

    with pytest.raises(app_installation.NotInstalled):
        run_while_uncommitted(shop, lambda: uninstall(api), lambda: approve_purchase(purchase))

    with shop_scope(shop):
        assert AppPurchase.objects.get(pk=purchase.pk).status == AppPurchase.Status.PENDING


@pytest.mark.race(control="test_a_purchase_of_an_uninstalled_app_is_approved_without_the_lock")
def test_no_purchase_is_created_during_an_uninstallation(shop: Shop) -> None:
    api = make_client(shop)
    with shop_scope(shop):
        installation = Installation.objects.select_related("app", "shop").get(pk=api.installation.pk)

    with pytest.raises(app_installation.NotInstalled):
        run_while_uncommitted(shop, lambda: uninstall(api), lambda: factories.make_purchase(installation))

    with shop_scope(shop):
        assert not AppPurchase.objects.exists()


def test_a_purchase_of_an_uninstalled_app_is_approved_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the app gets an approved purchase after it was uninstalled."""
    api = make_client(shop)
    purchase = load_purchase(shop, api)

    approved = run_unguarded(
        shop, lambda: uninstall(api), lambda: approve_purchase(purchase), locks={"shops_installation"}
    )

    assert approved.status == AppPurchase.Status.ACTIVE
    with shop_scope(shop):
        assert Installation.objects.get(pk=api.installation.pk).uninstalled_at is not None


# --- Uninstalling against use -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CREATIONS)
@pytest.mark.race(control="test_rows_outlive_their_app_without_the_installations_lock")
def test_an_app_being_uninstalled_leaves_no_rows(shop: Shop, kind: str) -> None:
    api, (path, body) = make_client(shop), CREATIONS[kind]

    response = run_while_uncommitted(shop, lambda: uninstall(api), lambda: api.post(path, body))

    assert (response.status_code, response.json()) == (401, {"errors": UNAUTHORIZED})
    with shop_scope(shop):
        assert count_leftovers(api.installation.app) == 0


@pytest.mark.parametrize("kind", ["script tag", "subscription"])
def test_rows_outlive_their_app_without_the_installations_lock(shop: Shop, kind: str) -> None:
    """Show what goes wrong without the lock: the request creates its row after the app's rows were deleted."""
    api, (path, body) = make_client(shop), CREATIONS[kind]

    response = run_unguarded(
        shop, lambda: uninstall(api), lambda: api.post(path, body), locks={"shops_installation", "shops_shop"}
    )

    assert response.status_code == 201
    with shop_scope(shop):
        assert count_leftovers(api.installation.app) == 1


@pytest.mark.race(control="test_rows_outlive_their_app_without_the_installations_lock")
def test_uninstalling_during_requests_ends_all_access(shop: Shop) -> None:
    app = make_client(shop).installation.app

    for _ in range(ROUNDS):
        api = make_client(shop, app)
        uses = [partial(api.post, *request) for request in CREATIONS.values()]
        _, *responses = run_concurrently(shop, partial(uninstall, api), *uses)

        assert {response.status_code for response in responses} <= {200, 201, 401}
        assert api.get("shop.json").status_code == 401
        with shop_scope(shop):
            assert count_leftovers(app) == 0


# --- Revoking against use ---------------------------------------------------------------------------------------------


def use_while_revoked(shop: Shop) -> tuple[list[Response], Response]:
    """Return the responses to requests during the revocation of their token, and the response to one after it."""
    api = make_client(shop)
    with shop_scope(shop):
        token = AccessToken.objects.get(digest=hash_token(api.token))
    revoke = [lambda: tokens.revoke_token(token, actor="system", at=timezone.now())]
    _, *responses = run_concurrently(shop, *revoke, *[lambda: api.post("script_tags.json", TAG)] * 3)
    return responses, api.post("script_tags.json", TAG)


@pytest.mark.race(control="test_a_revoked_token_works_without_the_condition_of_its_query")
def test_a_revocation_during_requests_ends_access(shop: Shop) -> None:
    created = 0

    for _ in range(ROUNDS):
        responses, later = use_while_revoked(shop)
        assert {response.status_code for response in responses} <= {201, 401}
        assert later.status_code == 401
        created += sum(response.status_code == 201 for response in responses)

    with shop_scope(shop):
        assert ScriptTag.objects.count() == created


def test_a_revoked_token_works_without_the_condition_of_its_query(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    unguarded = authentication._SQL.replace("AND t.revoked_at IS NULL", "")
    assert unguarded != authentication._SQL
    monkeypatch.setattr(authentication, "_SQL", unguarded)

    assert use_while_revoked(shop)[1].status_code == 201


# --- Installing against uninstalling ----------------------------------------------------------------------------------


@pytest.mark.race(control="test_an_uninstalled_app_is_installed_again_without_the_lock")
def test_new_scopes_do_not_undo_a_concurrent_uninstallation(shop: Shop) -> None:
    api = make_client(shop)

    row = run_while_uncommitted(
        shop, lambda: uninstall(api), lambda: install(api.installation.app, shop, "read_products")
    )

    assert row.pk != api.installation.pk
    with shop_scope(shop):
        assert Installation.objects.get(uninstalled_at=None).pk == row.pk
    assert api.get("shop.json").status_code == 401


def test_an_uninstalled_app_is_installed_again_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the new scopes are saved with an outdated time of uninstallation."""
    api = make_client(shop)

    run_unguarded(
        shop,
        lambda: uninstall(api),
        lambda: install(api.installation.app, shop, "read_products"),
        locks={"shops_installation"},
    )

    with shop_scope(shop):
        assert Installation.objects.get(uninstalled_at=None).pk == api.installation.pk


@pytest.mark.race(no_guard="the unique key of active installations decides, and the second caller finds the first row")
def test_concurrent_installations_make_one_row(shop: Shop) -> None:
    for _ in range(ROUNDS):
        app = app_installation.create_app(name="Both")
        rows = run_concurrently(shop, *[partial(install, app, shop, "read_products")] * 4)

        assert len({row.pk for row in rows}) == 1


# --- Members who leave ------------------------------------------------------------------------------------------------


@pytest.fixture
def app(db: None) -> App:
    return app_installation.create_app(
        name="Stock sync", distribution="public", application_url="https://app.example", redirect_urls=[REDIRECT]
    )


def approve(app: App, user: User, shop: Shop) -> str:
    """Return a code with which the app gets a token that acts as the user."""
    with shop_scope(shop):
        request = oauth.AuthorizationRequest(app, shop, REDIRECT, ("read_products",), "", True)
        url = oauth.approve_request(request, user_id=user.pk, at=timezone.now())
    return url.partition("code=")[2].partition("&")[0]


def remove(user: User, owner: User, shop: Shop) -> Callable[[], None]:
    def run() -> None:
        with shop_scope(shop):
            memberships.remove_member(Membership.objects.get(user=user), by=owner, at=timezone.now())

    return run


def come_back(user: User, shop: Shop) -> None:
    with shop_scope(shop):
        Membership.objects.create(shop=shop, user=user, permissions=["applications", "products"])


def get_status(token: str) -> int:
    client = Panel(factories.UserFactory.create(), Shop.objects.get(domain="acme.example")).http
    return client.get("/admin/api/2026-10/products.json", headers={"X-Platform-Access-Token": token}).status_code


@pytest.mark.race(control="test_a_token_survives_the_membership_without_the_lock")
def test_a_code_of_a_member_being_removed_gets_no_token(app: App, shop: Shop) -> None:
    owner, user = factories.make_member(shop, owner=True), factories.make_member(shop, "applications", "products")
    code = approve(app, user, shop)

    with pytest.raises(oauth.OAuthError, match="may no longer install apps"):
        run_while_uncommitted(
            shop, remove(user, owner, shop), lambda: oauth.exchange_code(app, code, at=timezone.now())
        )

    with all_shops_scope():
        assert not AccessToken.objects.exists()


@pytest.mark.race(control="test_a_token_survives_the_membership_without_the_lock")
def test_tokens_of_a_removed_member_stay_dead_when_they_return(app: App, shop: Shop) -> None:
    owner = factories.make_member(shop, owner=True)

    for _ in range(ROUNDS):
        user = factories.make_member(shop, "applications", "products")
        code = approve(app, user, shop)
        exchange = partial(oauth.exchange_code, app, code, at=timezone.now())
        issued, _ = run_concurrently(shop, exchange, remove(user, owner, shop), expected_errors=oauth.OAuthError)

        if isinstance(issued, oauth.IssuedToken):
            assert get_status(issued.token) == 401
            come_back(user, shop)
            assert get_status(issued.token) == 401
        with all_shops_scope():
            AuthorizationCode.objects.all().delete()


def test_a_token_survives_the_membership_without_the_lock(app: App, shop: Shop) -> None:
    """Show what goes wrong without the lock: the token is issued after the member's tokens were revoked."""
    owner, user = factories.make_member(shop, owner=True), factories.make_member(shop, "applications", "products")
    code = approve(app, user, shop)

    issued = run_unguarded(
        shop,
        remove(user, owner, shop),
        lambda: oauth.exchange_code(app, code, at=timezone.now()),
        locks={Membership._meta.db_table},
    )

    assert get_status(issued.token) == 401
    come_back(user, shop)
    assert get_status(issued.token) == 200
