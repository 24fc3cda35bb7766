"""Tests for the pages of the shop's own apps."""

import re
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.actor_names import get_actor_name
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.models.redirect_urls import check_redirect_urls
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.domain import app_installation, app_secrets
from tests.support.api_client import Response
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")

SECRET = re.compile(r"bks_[\w-]{43}")
VALUES = {
    "name": "Stock sync",
    "distribution": "public",
    "application_url": "https://app.example",
    "redirect_urls": "https://app.example/a\r\n\r\n https://app.example/b ",
    "scope_products": "write",
}


def register_app(panel: Panel, **values: str) -> Response:
    return panel.post("shops_app_add", form_key=panel.form_key("shops_app_add"), **{**VALUES, **values})


@pytest.fixture
def app(shop: Shop) -> App:
    return app_installation.create_app(name="Stock sync", owner=shop, scopes=["read_products"])


def get_topics(shop: Shop) -> list[str]:
    return list(Event.objects.filter(topic__startswith="apps/").order_by("id").values_list("topic", flat=True))


def test_an_app_is_registered_and_its_secret_shown_once(owner_client: Panel, shop: Shop) -> None:
    page = register_app(owner_client)
    second_response = owner_client.post("shops_app_add", form_key=page.wsgi_request.POST["form_key"], **VALUES)

    app = App.objects.get()
    later = owner_client.get("shops_app_change", app.pk).content.decode()
    assert (page.status_code, second_response.status_code) == (201, 302)
    assert "no-store" in page["Cache-Control"]
    assert SECRET.findall(page.content.decode()) == [app.api_secret]
    assert "no token yet" not in page.content.decode()
    assert not SECRET.search(later)
    assert app.api_key in later
    assert (app.owner, app.distribution, app.requested_scopes) == (shop, "public", ["write_products"])
    assert app.redirect_urls == ["https://app.example/a", "https://app.example/b"]
    assert get_topics(shop) == ["apps/create"]
    with all_shops_scope():
        assert not Installation.objects.exists()


def test_invalid_values_are_reported_at_their_fields_and_create_nothing(owner_client: Panel) -> None:
    page = register_app(owner_client, redirect_urls="http://app.example/a", application_url="nonsense", name="")

    assert page.context["form"].errors.keys() == {"redirect_urls", "application_url", "name"}
    assert "must use HTTPS" in page.content.decode()
    assert not App.objects.exists()


WRONG = [
    "app.example/a", "/a", "", "https://", "http://app.example", "javascript:alert(1)", "data:text/html,x",
    "https://a@app.example/", "https://app.example/#x", "https://app.example/#", "https://app.example/a b",
    "https://*.app.example/", "https://app.example:99999/", "https://app.example/?code=1", "https://app.example/?a[]=1",
    "https://app.example/?a=1&a=2", "https://app.example;x/", "https://app.example,evil.example/", "https://ä.example/",
    "https://app.example/\n", "https://app.example\\@evil.example/", "https://'none'/",
    f"https://app.example/{'x' * 2100}",
]  # fmt: skip


def test_addresses_to_which_a_code_must_not_go_are_refused() -> None:
    with Subtests() as checks:
        for url in WRONG:
            with checks(url), pytest.raises(ValidationError):
                check_redirect_urls([url])


def test_addresses_of_the_developers_own_machine_may_be_plain() -> None:
    hosts = ("localhost:3000/a?x=1", "127.0.0.1/", "[::1]:8080/", "a.localhost/")
    check_redirect_urls([f"http://{host}" for host in hosts])
    with pytest.raises(ValidationError, match="at most 20"):
        check_redirect_urls([f"https://app.example/{number}" for number in range(21)])


def test_a_change_asks_the_shops_that_have_the_app(owner_client: Panel, shop: Shop, app: App) -> None:
    installation = app_installation.install_app(app, shop, scopes=["read_products"], actor="system", at=timezone.now())
    values = {**VALUES, "scope_orders": "read", "seen": owner_client.get("shops_app_change", app.pk).context["seen"]}

    saved = owner_client.post("shops_app_change", app.pk, **values)
    page = owner_client.get("shops_installation_change", installation.pk).content.decode()
    untouched = Installation.objects.get().scopes
    response = owner_client.get("shops_installation_review", installation.pk)
    forged = owner_client.post("shops_installation_review", installation.pk)
    approved = owner_client.post("shops_installation_review", installation.pk, seen=response.context["seen"])

    now = Installation.objects.get().scopes
    event = Event.objects.get(topic="app/scopes_update")
    assert (saved.status_code, forged.status_code, approved.status_code) == (302, 200, 302)
    assert untouched == ["read_products"]
    assert "is requesting additional access" in page
    assert response.content.decode().count(">new</span>") == 2
    assert now == ["read_orders", "write_products"]
    assert (event.actor, event.changes) == (f"staff:{owner_client.user.pk}", {"scopes": [untouched, now]})
    assert get_topics(shop) == ["apps/update"]


def test_an_own_app_is_installed_with_what_it_asks_for(owner_client: Panel, app: App) -> None:
    seen = owner_client.get("shops_app_install", app.pk).context["seen"]

    response = owner_client.post("shops_app_install", app.pk, seen=seen)

    installation = Installation.objects.get()
    assert response["Location"] == owner_client.url("shops_installation_change", installation.pk)
    assert installation.scopes == ["read_products"]


def test_concurrent_changes_are_not_overwritten(owner_client: Panel, app: App) -> None:
    seen = owner_client.get("shops_app_change", app.pk).context["seen"]
    App.objects.filter(pk=app.pk).update(name="Renamed")

    page = owner_client.post("shops_app_change", app.pk, **VALUES, seen=seen)

    app.refresh_from_db()
    assert "Someone else changed this in the meantime" in page.content.decode()
    assert app.name == "Renamed"


@pytest.mark.parametrize(("overlap", "both"), [("24", True), ("0", False)])
def test_secrets_are_replaced_with_an_overlap(
    owner_client: Panel, shop: Shop, app: App, overlap: str, both: bool
) -> None:
    old, now = app.api_secret, timezone.now()

    page = owner_client.forge("shops_app_secret", app.pk, overlap=overlap)

    app.refresh_from_db()
    assert SECRET.findall(page.content.decode()) == [app.api_secret]
    assert app_secrets.is_valid_secret(app, app.api_secret, now)
    assert app_secrets.is_valid_secret(app, old, timezone.now()) is both
    assert not app_secrets.is_valid_secret(app, old, now + timedelta(hours=25))
    assert get_topics(shop) == ["apps/secret"]


def test_the_old_secret_can_be_ended(owner_client: Panel, shop: Shop, app: App) -> None:
    old = app.api_secret
    app_secrets.rotate_secret(app, at=timezone.now())

    owner_client.post("shops_app_end_old", app.pk)

    assert not app_secrets.is_valid_secret(app, old, timezone.now())
    assert get_topics(shop) == ["apps/old_secret_ended"]


def test_an_overlap_that_is_not_offered_changes_nothing(owner_client: Panel, app: App) -> None:
    before = app.api_secret

    for overlap in ("", "9999"):
        owner_client.forge("shops_app_secret", app.pk, overlap=overlap)

    app.refresh_from_db()
    assert app.api_secret == before


def test_apps_without_an_owning_shop_belong_to_the_operator(
    owner_client: Panel, operator_client: Panel, other_shop: Shop, admin_client_with: PanelWith
) -> None:
    theirs = app_installation.create_app(name="Theirs", owner=other_shop)
    nobodys = app_installation.create_app(name="Nobodys")

    for panel, statuses in ((owner_client, [404, 404]), (operator_client, [404, 200])):
        assert [panel.get("shops_app_change", app.pk).status_code for app in (theirs, nobodys)] == statuses


def test_an_app_that_no_shop_has_is_removed_and_named_on(owner_client: Panel, shop: Shop, app: App) -> None:
    key, secret = app.api_key, app.api_secret
    page = owner_client.get("shops_app_delete", app.pk).content.decode()

    response = owner_client.forge("shops_app_delete", app.pk)

    body = {"client_id": key, "client_secret": secret, "grant_type": "client_credentials"}
    token = Client().post("/admin/oauth/access_token", body, content_type="application/json")
    rows = owner_client.get("shops_app_changelist").content.decode().split("Stock sync deleted.")[-1]
    assert "Delete Stock sync?" in page
    assert response.status_code == 302
    assert "Stock sync" not in rows
    assert owner_client.get("shops_app_change", app.pk).status_code == 404
    assert (token.status_code, token.json()["error"]) == (401, "invalid_client")
    assert get_actor_name(f"app:{app.pk}") == "Stock sync (app)"
    assert get_topics(shop) == ["apps/delete"]
    with pytest.raises(app_installation.AppRetired):
        app_installation.install_app(app, shop, scopes="", actor="system", at=timezone.now())
    with all_shops_scope():
        assert not Installation.objects.exists()


def test_an_app_at_work_is_not_removed(owner_client: Panel, shop: Shop, other_shop: Shop, app: App) -> None:
    for current_shop in (shop, other_shop):
        app_installation.install_app(app, current_shop, scopes="", actor="system", at=timezone.now())
    page = owner_client.get("shops_app_delete", app.pk).content.decode()

    response = owner_client.forge("shops_app_delete", app.pk)

    app.refresh_from_db()
    assert "The app is installed in this shop." in page
    assert "1 other shop must uninstall the app before you can delete it." in " ".join(page.split())
    assert response.status_code == 302
    assert "The app is installed in 2 shops." in owner_client.get("shops_app_delete", app.pk).content.decode()
    assert app.retired_at is None
    assert get_topics(shop) == []
