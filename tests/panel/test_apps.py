import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from apps.content.models import ScriptTag
from apps.core.events.models import Event
from apps.core.tenancy.models import AccessToken, App, Installation, Shop, hash_token
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.admin import uninstall_preview
from apps.shops.domain import app_installation
from apps.shops.models import AppPurchase
from tests.support import factories
from tests.support.api_client import Response
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

TOKEN = re.compile(r"bko_[\w-]{43}")


def get_api_status(token: str) -> int:
    headers = {"X-Platform-Access-Token": token}
    return Client(headers=headers).get("/admin/api/2026-10/shop.json").status_code


@pytest.fixture
def installation(shop: Shop) -> Installation:
    return factories.make_installation(shop, ("read_products",))


def install_app(panel: Panel, **data: str) -> Response:
    values = {"name": "Warehouse sync", "scope_products": "write", "scope_customers": "read", **data}
    return panel.forge("shops_installation_add", **values)


def test_a_new_app_gets_a_token_that_is_shown_once(owner_client: Panel) -> None:
    response = install_app(owner_client)

    page = response.content.decode()
    (token,) = set(TOKEN.findall(page))
    assert "no-store" in response.headers["Cache-Control"]
    installation, row = Installation.objects.get(), AccessToken.objects.get()
    assert installation.scopes == ["read_customers", "write_products"]
    assert (row.digest, row.created_by) == (hash_token(token), f"staff:{owner_client.user.pk}")
    assert installation.app.api_secret in page
    own_pages = [owner_client.get(f"shops_installation_{name}", installation.pk) for name in ("change", "history")]
    lists = [owner_client.get(f"{name}_changelist") for name in ("shops_installation", "events_event")]
    later = "".join(shown.content.decode() for shown in (*own_pages, *lists, owner_client.get()))
    assert not TOKEN.search(later)
    assert installation.app.api_secret not in later
    assert row.prefix in later
    assert get_api_status(token) == 200


def test_installing_without_the_permission_for_tokens_makes_none(admin_client_with: PanelWith) -> None:
    response = install_app(admin_client_with("applications"))

    assert not TOKEN.search(response.content.decode())
    with all_shops_scope():
        assert (Installation.objects.count(), AccessToken.objects.count()) == (1, 0)


def test_an_app_needs_a_name_and_a_form_key(owner_client: Panel) -> None:
    page = install_app(owner_client, name="", application_url="https://app.example").content.decode()
    for key in ("", "made-up"):
        owner_client.post("shops_installation_add", form_key=key, name="App")

    assert "This field is required." in page
    assert 'value="https://app.example"' in page
    assert not App.objects.exists()


def test_a_second_token_works_with_the_first(owner_client: Panel, installation: Installation) -> None:
    first = factories.make_token(installation)

    page = owner_client.forge("shops_installation_new_token", installation.pk).content.decode()

    assert {get_api_status(first), get_api_status(TOKEN.findall(page)[0])} == {200}


@pytest.mark.parametrize(("overlap", "first_works"), [("24", 200), ("0", 401)])
def test_old_tokens_live_for_the_overlap(
    owner_client: Panel, installation: Installation, overlap: str, first_works: int
) -> None:
    first = factories.make_token(installation)

    page = owner_client.forge("shops_installation_rotate", installation.pk, overlap=overlap).content.decode()

    assert (get_api_status(TOKEN.findall(page)[0]), get_api_status(first)) == (200, first_works)
    ends = AccessToken.objects.get(digest=hash_token(first)).expires_at
    assert ends is not None
    assert ends <= timezone.now() + timedelta(hours=int(overlap))


def test_rotating_without_an_offered_overlap_changes_nothing(owner_client: Panel, installation: Installation) -> None:
    owner_client.forge("shops_installation_rotate", installation.pk, overlap="9999")

    assert not AccessToken.objects.exists()


def test_revoking_needs_the_beginning_typed_and_works_at_once(owner_client: Panel, installation: Installation) -> None:
    token = factories.make_token(installation)
    row = AccessToken.objects.get()
    args = ("shops_installation_revoke", installation.pk, row.pk)

    wrong = owner_client.post(*args, confirm="bko_nope")

    assert b"The token was not revoked" in wrong.content
    assert get_api_status(token) == 200
    owner_client.post(*args, confirm=row.prefix)
    assert get_api_status(token) == 401


def test_a_token_of_another_app_is_not_revoked_through_this_one(
    owner_client: Panel, shop: Shop, installation: Installation
) -> None:
    factories.make_token(factories.make_installation(shop))
    row = AccessToken.objects.get()

    response = owner_client.post("shops_installation_revoke", installation.pk, row.pk, confirm=row.prefix)

    row.refresh_from_db()
    assert (response.status_code, row.revoked_at) == (404, None)


def test_changing_scopes_applies_and_is_recorded(owner_client: Panel, installation: Installation) -> None:
    owner_client.post("shops_installation_scopes", installation.pk, scope_orders="write")

    installation.refresh_from_db()
    event = Event.objects.get(topic="app/scopes_update")
    assert installation.scopes == ["write_orders"]
    assert event.changes == {"scopes": [["read_products"], ["write_orders"]]}
    assert event.actor == f"staff:{owner_client.user.pk}"


def test_uninstalling_says_what_goes_and_takes_it(owner_client: Panel, shop: Shop, installation: Installation) -> None:
    token = factories.make_token(installation)
    for _ in range(2):
        factories.ScriptTagFactory.create(shop=shop, app=installation.app)

    response = owner_client.get("shops_installation_delete", installation.pk)

    assert {("script tags", 2), ("access tokens", 1)} <= set(response.context["goes"])
    owner_client.post("shops_installation_delete", installation.pk)

    assert not ScriptTag.objects.exists()
    assert get_api_status(token) == 401
    assert owner_client.get("shops_installation_change", installation.pk).status_code == 404


def test_uninstalling_an_app_lists_everything_that_is_deleted() -> None:
    assert app_installation.uninstall_cleaners.keys() <= uninstall_preview.uninstall_counts.keys()


def test_every_scope_can_be_chosen() -> None:
    from apps.core.tenancy.access_scopes import SCOPES
    from apps.shops.admin.scope_fields import get_scope_rows

    offered = {scope for row in get_scope_rows() for scope in (row.read_scope, row.write_scope) if scope}

    assert offered == set(SCOPES)


def test_staff_ask_and_decide_on_the_apps_page(owner_client: Panel, shop: Shop, installation: Installation) -> None:
    arguments = "shops_installation_new_purchase", installation.pk
    refused = owner_client.forge(*arguments, name="Import", price="0")
    owner_client.forge(*arguments, name="Import", price="12.5", test="on")

    assert "must be greater than or equal to" in refused.content.decode()
    purchase = AppPurchase.objects.get()
    assert (purchase.price, purchase.currency, purchase.test) == (Decimal("12.5"), "USD", True)
    assert "12.50 USD" in owner_client.get("shops_installation_change", installation.pk).content.decode()
    for decision in ("approve", "decline"):
        owner_client.post("shops_installation_decide", installation.pk, purchase.pk, decision=decision)
    purchase.refresh_from_db()
    assert purchase.status == "active"
    other = factories.make_installation(shop, ())
    response = owner_client.post("shops_installation_decide", other.pk, purchase.pk, decision="decline")
    assert response.status_code == 404
