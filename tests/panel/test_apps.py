"""Tests for apps and access tokens: tokens displayed once, rotation, revocation and uninstalling."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from apps.content.models import ScriptTag
from apps.core.events.models import Event
from apps.core.tenancy.models import AccessToken, App, Installation, Shop, hash_token
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.shops.admin import uninstall_preview
from apps.shops.domain import app_installation
from apps.shops.models import AppPurchase
from tests.support import factories
from tests.support.panel.client import Panel, PanelWith

TOKEN = re.compile(r"bko_[\w-]{43}")


def get_api_status(token: str) -> int:
    headers = {"X-Platform-Access-Token": token}
    return Client(headers=headers).get("/admin/api/2026-07/shop.json").status_code


def install_app(panel: Panel, **data: str) -> str:
    """Install an app with the installation form; return the next page."""
    key = panel.form_key("shops_installation_add")
    values = {"name": "Warehouse sync", "scope_products": "write", "scope_customers": "read", **data}
    return panel.post("shops_installation_add", form_key=key, **values).content.decode()


def get_later_pages(panel: Panel, *args: object) -> str:
    """Return the content of all pages that could display the token later."""
    pages = [panel.get("shops_installation_change", *args), panel.get("shops_installation_history", *args)]
    pages += [panel.get("shops_installation_changelist"), panel.get("events_event_changelist"), panel.get()]
    return "".join(page.content.decode() for page in pages)


def test_a_new_app_gets_a_token_that_is_shown_once(owner_client: Panel, shop: Shop) -> None:
    page = install_app(owner_client)

    matches = set(TOKEN.findall(page))
    assert len(matches) == 1
    token = matches.pop()
    with shop_scope(shop):
        installation = Installation.objects.get()
        row = AccessToken.objects.get()
    assert installation.scopes == ["read_customers", "write_products"]
    assert row.digest == hash_token(token)
    assert row.created_by == f"staff:{owner_client.user.pk}"
    assert installation.app.api_secret in page
    later = get_later_pages(owner_client, installation.pk)
    assert not TOKEN.search(later)
    assert installation.app.api_secret not in later
    assert row.prefix in later
    assert get_api_status(token) == 200


def test_the_page_with_the_token_is_kept_by_no_cache(owner_client: Panel) -> None:
    key = owner_client.form_key("shops_installation_add")

    response = owner_client.post("shops_installation_add", form_key=key, name="App")

    assert "no-store" in response.headers["Cache-Control"]


def test_sending_the_form_again_installs_nothing_and_shows_no_token(owner_client: Panel) -> None:
    key = owner_client.form_key("shops_installation_add")
    owner_client.post("shops_installation_add", form_key=key, name="App")

    second_response = owner_client.post("shops_installation_add", form_key=key, name="App")

    assert second_response.status_code == 302
    assert App.objects.count() == 1


@pytest.mark.parametrize("key", ["", "made-up"])
def test_a_form_with_a_made_up_key_installs_nothing(owner_client: Panel, key: str) -> None:
    owner_client.post("shops_installation_add", form_key=key, name="App")

    assert not App.objects.exists()


def test_installing_without_the_permission_for_tokens_makes_none(admin_client_with: PanelWith, shop: Shop) -> None:
    page = install_app(admin_client_with("applications"))

    assert not TOKEN.search(page)
    with all_shops_scope():
        assert Installation.objects.count() == 1
        assert not AccessToken.objects.exists()


def test_an_app_needs_a_name_and_keeps_what_was_typed(owner_client: Panel) -> None:
    page = install_app(owner_client, name="", application_url="https://app.example")

    assert "This field is required." in page
    assert 'value="https://app.example"' in page
    assert not App.objects.exists()


def test_a_second_token_works_with_the_first(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop)
    first = factories.make_token(installation)
    key = owner_client.form_key("shops_installation_change", installation.pk)

    page = owner_client.post("shops_installation_new_token", installation.pk, form_key=key).content.decode()

    second = TOKEN.findall(page)[0]
    assert {get_api_status(first), get_api_status(second)} == {200}


@pytest.mark.parametrize(("overlap", "first_works"), [("24", 200), ("0", 401)])
def test_old_tokens_live_for_the_overlap(owner_client: Panel, shop: Shop, overlap: str, first_works: int) -> None:
    installation = factories.make_installation(shop)
    first = factories.make_token(installation)
    key = owner_client.form_key("shops_installation_change", installation.pk)

    page = owner_client.post(
        "shops_installation_rotate", installation.pk, form_key=key, overlap=overlap
    ).content.decode()

    assert get_api_status(TOKEN.findall(page)[0]) == 200
    assert get_api_status(first) == first_works
    with shop_scope(shop):
        ends = AccessToken.objects.get(digest=hash_token(first)).expires_at
    assert ends is not None
    assert ends <= timezone.now() + timedelta(hours=int(overlap))


def test_rotating_without_an_overlap_that_we_offer_changes_nothing(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop)
    key = owner_client.form_key("shops_installation_change", installation.pk)

    owner_client.post("shops_installation_rotate", installation.pk, form_key=key, overlap="9999")

    with shop_scope(shop):
        assert not AccessToken.objects.exists()


def test_revoking_needs_the_beginning_typed_and_works_at_once(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop)
    token = factories.make_token(installation)
    with shop_scope(shop):
        row = AccessToken.objects.get()
    args = ("shops_installation_revoke", installation.pk, row.pk)

    wrong = owner_client.post(*args, confirm="bko_nope")

    assert b"The token was not revoked" in wrong.content
    assert get_api_status(token) == 200

    owner_client.post(*args, confirm=row.prefix)

    assert get_api_status(token) == 401


def test_a_token_of_another_app_is_not_revoked_through_this_one(owner_client: Panel, shop: Shop) -> None:
    installation, there = factories.make_installation(shop), factories.make_installation(shop)
    factories.make_token(there)
    with shop_scope(shop):
        row = AccessToken.objects.get()

    response = owner_client.post("shops_installation_revoke", installation.pk, row.pk, confirm=row.prefix)

    row.refresh_from_db()
    assert response.status_code == 404
    assert row.revoked_at is None


def test_changing_scopes_applies_and_is_recorded(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop, ("read_products",))

    owner_client.post("shops_installation_scopes", installation.pk, scope_orders="write")

    with shop_scope(shop):
        installation.refresh_from_db()
        event = Event.objects.get(topic="app/scopes_update")
    assert installation.scopes == ["write_orders"]
    assert event.changes == {"scopes": [["read_products"], ["write_orders"]]}
    assert event.actor == f"staff:{owner_client.user.pk}"


def test_uninstalling_says_what_goes_and_takes_it(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop)
    token = factories.make_token(installation)
    with shop_scope(shop):
        factories.ScriptTagFactory.create(shop=shop, app=installation.app)
        factories.ScriptTagFactory.create(shop=shop, app=installation.app)

    response = owner_client.get("shops_installation_delete", installation.pk)

    assert ("script tags", 2) in response.context["goes"]
    assert ("access tokens", 1) in response.context["goes"]

    owner_client.post("shops_installation_delete", installation.pk)

    with shop_scope(shop):
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


def test_staff_ask_and_decide_on_the_apps_page(owner_client: Panel, shop: Shop) -> None:
    installation = factories.make_installation(shop, ())
    key = owner_client.form_key("shops_installation_new_purchase", installation.pk)

    refused = owner_client.post(
        "shops_installation_new_purchase", installation.pk, form_key=key, name="Import", price="0"
    )
    owner_client.post(
        "shops_installation_new_purchase", installation.pk, form_key=key, name="Import", price="12.5", test="on"
    )

    assert "must be greater than or equal to" in refused.content.decode()
    with shop_scope(shop):
        purchase = AppPurchase.objects.get()
    assert (purchase.price, purchase.currency, purchase.test) == (Decimal("12.5"), "USD", True)
    assert "12.50 USD" in owner_client.get("shops_installation_change", installation.pk).content.decode()
    owner_client.post("shops_installation_decide", installation.pk, purchase.pk, decision="approve")
    owner_client.post("shops_installation_decide", installation.pk, purchase.pk, decision="decline")
    with shop_scope(shop):
        purchase.refresh_from_db()
    assert purchase.status == "active"
    stranger = factories.make_installation(shop, ())
    assert (
        owner_client.post("shops_installation_decide", stranger.pk, purchase.pk, decision="decline").status_code == 404
    )
