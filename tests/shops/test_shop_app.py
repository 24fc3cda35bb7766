"""The shop's own app is in no list of apps, has no tokens, and exists once for each shop."""

from collections.abc import Iterator
from functools import partial

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import AccessToken, App, Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.app_installation import ensure_shop_app
from apps.shops.domain.app_secrets import get_valid_secrets, rotate_secret
from apps.shops.domain.tokens import issue_token
from tests.support import factories
from tests.support.databases.races import run_concurrently
from tests.support.panel.client import Panel

PLAN = ("--price", "1.00", "Plan")


@pytest.fixture
def shop_app(shop: Shop) -> Iterator[Installation]:
    with shop_scope(shop):
        yield ensure_shop_app(shop, at=timezone.now())


@pytest.fixture
def owner_client(shop: Shop) -> Panel:
    return Panel(factories.make_member(shop, owner=True), shop)


def ensure(shop: Shop) -> int:
    with shop_scope(shop):
        return ensure_shop_app(shop, at=timezone.now()).pk


@pytest.mark.django_db
def test_a_shop_has_one_own_app(shop: Shop, other_shop: Shop) -> None:
    assert ensure(shop) == ensure(shop)
    assert ensure(shop) != ensure(other_shop)


@pytest.mark.django_db
def test_scopes_of_a_new_release_are_added(shop: Shop, shop_app: Installation) -> None:
    Installation.objects.filter(pk=shop_app.pk).update(scopes=["read_orders"])

    assert ensure_shop_app(shop, at=timezone.now()).scopes == shop_app.scopes
    assert all(scope.startswith("read_") for scope in shop_app.scopes)


@pytest.mark.django_db
def test_an_uninstalled_own_app_is_installed_again(shop: Shop, shop_app: Installation) -> None:
    """A staging copy of a shop ends all installations."""
    Installation.objects.filter(pk=shop_app.pk).update(uninstalled_at=timezone.now())

    again = ensure_shop_app(shop, at=timezone.now())

    assert (again.app_id, again.app.api_secret) == (shop_app.app_id, shop_app.app.api_secret)
    assert again.pk != shop_app.pk


@pytest.mark.django_db
def test_the_secret_of_a_deleted_shop_is_replaced(shop: Shop, shop_app: Installation) -> None:
    """The rows of a deleted shop are gone, but its app is not."""
    old_secret = rotate_secret(shop_app.app, at=timezone.now())
    Installation.objects.all().delete()
    App.objects.update(owner=None)

    app = ensure_shop_app(shop, at=timezone.now()).app

    assert (app.pk, app.owner) == (shop_app.app_id, shop)
    assert old_secret not in get_valid_secrets(app, timezone.now())
    assert get_valid_secrets(App.objects.get(), timezone.now()) == [app.api_secret]


@pytest.mark.django_db
def test_the_own_app_is_in_no_list(owner_client: Panel, shop_app: Installation) -> None:
    shown = factories.make_installation(owner_client.shop, name="Stock sync")

    apps = owner_client.get("shops_installation_changelist").context["cl"].result_list
    assert [row.pk for row in apps] == [shown.pk]
    assert list(owner_client.get("shops_app_changelist").context["cl"].result_list) == []
    services = owner_client.get("fulfillment_fulfillmentservice_add").content.decode()
    assert f'value="{shown.app_id}"' in services
    assert f'value="{shop_app.app_id}"' not in services
    assert f'value="app:{shop_app.app_id}"' not in owner_client.get("events_event_changelist").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["change", "scopes", "delete", "new_token", "rotate", "review", "history"])
def test_the_own_app_has_no_page(owner_client: Panel, shop_app: Installation, page: str) -> None:
    assert owner_client.forge(f"shops_installation_{page}", shop_app.pk).status_code == 404
    assert Installation.objects.get(pk=shop_app.pk).uninstalled_at is None


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["change", "delete", "secret", "install"])
def test_the_own_app_has_no_registration(owner_client: Panel, shop_app: Installation, page: str) -> None:
    assert owner_client.forge(f"shops_app_{page}", shop_app.app_id).status_code == 404
    assert owner_client.forge("webhooks_subscription_configuration", shop_app.app_id).status_code == 404


@pytest.mark.django_db
def test_the_own_app_cannot_get_tokens(owner_client: Panel, shop_app: Installation) -> None:
    app = shop_app.app
    body = {"client_id": app.api_key, "client_secret": app.api_secret, "grant_type": "client_credentials"}

    response = Client().post("/admin/oauth/access_token", body, content_type="application/json")
    asked = owner_client.get("shops_installation_authorize", client_id=app.api_key, scope="read_products")

    assert response.status_code == 401
    assert asked.status_code == 400
    assert b"No app has this client_id" in asked.content
    with pytest.raises(DomainError, match="can't have tokens"):
        issue_token(shop_app, actor="system", at=timezone.now())
    assert not AccessToken.objects.exists()


@pytest.mark.django_db
def test_commands_for_apps_refuse_the_own_app(shop: Shop, shop_app: Installation) -> None:
    key = shop_app.app.api_key

    with pytest.raises(CommandError, match="No app with the API key"):
        call_command("create_app_purchase", "offer", "--shop", shop.domain, "--app", key, *PLAN)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="the unique API key decides, and the second caller finds the first row")
def test_concurrent_first_webhooks_create_one_app(shop: Shop) -> None:
    for _ in range(10):
        with shop_scope(shop):
            Installation.objects.all().delete()
            App.objects.all().delete()
        rows = run_concurrently(shop, *[partial(ensure, shop)] * 4)

        assert len(set(rows)) == 1
