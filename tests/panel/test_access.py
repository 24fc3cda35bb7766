import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern

from apps.catalog.models import Collection, Product, Variant
from apps.content.models import Asset, ScriptTag, Theme
from apps.core.admin.model_admin.base import PanelAdmin
from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import AccessToken, App, Installation, Membership, Shop, User
from apps.core.tenancy.permissions import NAMES as EVERY
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.fulfillment.models import Fulfillment
from apps.imports_exports.models import Import
from tests.support import factories
from tests.support.api_client import Response
from tests.support.databases.snapshots import snapshot_database
from tests.support.panel.admin_urls import OPEN, TABLE
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_untouched_data
from tests.support.panel.one_of_each import Things, make_one_of_each
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

pytestmark = pytest.mark.shop_with(fill=make_one_of_each)


def list_routes(patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from list_routes(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name


def get_state() -> JsonObject:
    """Return all rows that a forged request could change, without the last shop that each user visited."""
    models: tuple[type[Model], ...] = (
        Shop, App, Installation, AccessToken, ScriptTag, Job, Membership, User, Product, Variant, Collection, Customer,
        Theme, Asset, Import, Fulfillment,
    )  # fmt: skip
    state = {model.__name__: list(model._base_manager.order_by("pk").values()) for model in models}
    for user in state["User"]:
        user.pop("last_shop_id")
    events = Event._base_manager.exclude(topic="staff/refused").order_by("pk")
    return {**state, "events": list(events.values_list("pk"))}


def find_links(page: Response) -> dict[str, str]:
    """Return the panel pages that a page links to, as URLs by URL name."""
    is_html = not page.streaming and "html" in page.headers.get("Content-Type", "")
    text = html.unescape(page.content.decode()) if is_html else ""
    matching_links = {
        urljoin(page.request["PATH_INFO"], link) for link in re.findall(r'<a\b[^>]*?\bhref="([^"#]+)', text)
    }
    panel = URLResolver(RegexPattern("^/s/acme/admin/"), admin.site.get_urls())
    return {
        str(panel.resolve(urlsplit(link).path).url_name): link
        for link in matching_links
        if link.startswith("/s/acme/admin/")
    }


def test_every_route_is_in_the_table() -> None:
    assert sorted({*list_routes(admin.site.get_urls())}) == sorted({*TABLE, *OPEN})


def test_anonymous_requests_are_redirected_to_the_login(admin_client_with: PanelWith, shared_rows: Things) -> None:
    panel = admin_client_with(owner=True)
    before = get_state()

    with Subtests() as checks:
        for name, row in TABLE.items():
            with checks(name):
                address = panel.url(name, *shared_rows[row.about])
                for response in (Client().get(address), Client().post(address, {"_selected_action": "1"})):
                    assert response.status_code == 302
                    assert response.headers["Location"].startswith("/accounts/login/?next=/s/acme/")
                assert get_state() == before


def test_users_without_permissions_are_refused_and_change_nothing(
    admin_client_with: PanelWith, shared_rows: Things
) -> None:
    panel = admin_client_with()
    before = get_state()

    with Subtests() as checks:
        for name, row in TABLE.items():
            with checks(name):
                args = shared_rows[row.about]
                answers = [panel.get(name, *args), panel.forge(name, *args, post="yes", confirm="bko_", active="on")]
                assert [response.status_code for response in answers] == [403, 403]
                assert all(b"Permission required" in response.content for response in answers)
                assert get_state() == before


@pytest.mark.parametrize("permission", sorted({permission for row in TABLE.values() for permission in row.lets}))
def test_each_permission_lets_in_and_no_link_leads_further(
    permission: str, admin_client_with: PanelWith, shared_rows: Things
) -> None:
    panel = admin_client_with(permission)

    with Subtests() as checks:
        for name, row in TABLE.items():
            if permission in row.lets:
                with checks(name):
                    response = panel.get(name, *shared_rows[row.about])
                    assert response.status_code == row.status
                    assert {
                        to for to in find_links(response) if to in TABLE and permission not in TABLE[to].lets
                    } == set()


@pytest.mark.parametrize("permission", sorted({permission for row in TABLE.values() for permission in row.lets}))
def test_viewers_with_one_permission_see_no_link_that_is_refused(
    permission: str, admin_client_with: PanelWith, shared_rows: Things
) -> None:
    panel = admin_client_with(view_only=[permission])
    named_pages = [
        ("index", ()),
        *((name, shared_rows[row.about]) for name, row in TABLE.items() if permission in row.lets),
    ]
    pages = {name: panel.get(name, *args) for name, args in named_pages}
    behind = {to: path for page in pages.values() if page.status_code == 200 for to, path in find_links(page).items()}

    with Subtests() as checks:
        for name, path in behind.items():
            if name in TABLE:
                with checks(name):
                    assert (pages.get(name) or panel.open(path)).status_code != 403


@pytest.mark.parametrize(
    "lets", sorted({row.lets for row in TABLE.values()}), ids=lambda lets: "-".join(lets) or "nobody"
)
def test_other_permissions_give_no_access(
    lets: tuple[str, ...], admin_client_with: PanelWith, shared_rows: Things
) -> None:
    panel = admin_client_with(*(other for other in EVERY if other not in lets))

    with Subtests() as checks:
        for name, row in TABLE.items():
            if row.lets == lets:
                with checks(name):
                    assert panel.get(name, *shared_rows[row.about]).status_code == 403


@pytest.mark.both_databases
def test_owners_may_do_what_anybody_may(owner_client: Panel, shared_rows: Things) -> None:

    with Subtests() as checks:
        for name, row in TABLE.items():
            with checks(name):
                assert owner_client.get(name, *shared_rows[row.about]).status_code == (row.status if row.lets else 403)


def test_another_shops_object_is_not_found(owner_client: Panel, other_shop: Shop) -> None:
    things = make_one_of_each(other_shop)
    before = get_state()

    with Subtests() as checks:
        for name, row in TABLE.items():
            if row.about and row.lets:
                with checks(name):
                    args = things[row.about]
                    answers = [owner_client.get(name, *args), owner_client.forge(name, *args, post="yes")]
                    assert answers[0].status_code == 404
                    # If no one may change this type of object, the response is 403 before the object is looked up.
                    assert answers[1].status_code in {403, 404}
                    assert get_state() == before


def test_another_shops_panel_is_not_found(owner_client: Panel, other_shop: Shop) -> None:
    things = make_one_of_each(other_shop)
    owner_client.shop = other_shop

    with Subtests() as checks:
        for name, row in TABLE.items():
            with checks(name):
                assert owner_client.get(name, *things[row.about]).status_code == 404


@pytest.mark.parametrize("identity", ["abc", "99999999999999999999999", "0", "-1", "_5F"])
def test_an_object_that_is_none_is_not_found(identity: str, owner_client: Panel) -> None:
    assert owner_client.get("shops_installation_change", identity).status_code == 404


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("index", 200),
        ("search", 200),
        ("jsi18n", 200),
        ("login", 302),
        ("logout", 405),
        ("password_change", 302),
        ("password_change_done", 302),
        ("autocomplete", 403),
        ("save_view", 405),
        ("choose_columns", 405),
        ("end_tour", 405),
        ("session", 200),
    ],
)
def test_open_pages_work_without_any_permission(name: str, status: int, admin_client_with: PanelWith) -> None:
    assert admin_client_with().get(name).status_code == status


def test_the_page_of_a_refusal_names_the_permission_and_the_owner(admin_client_with: PanelWith, shop: Shop) -> None:
    factories.make_member(shop, owner=True, first_name="Kim", last_name="Lee", email="kim@example.com")

    page = admin_client_with().get("shops_shop_change", shop.pk).content.decode()

    expected = ("Change shop settings and view background jobs", "Kim Lee", "kim@example.com")
    assert [text for text in expected if text not in page] == []


def test_a_refused_change_is_in_the_audit_log(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with()

    panel.post("shops_shop_change", shop.pk, name="Mine now")

    with shop_scope(shop):
        event = Event.objects.get(topic="staff/refused")
    assert event.actor == f"staff:{panel.user.pk}"
    assert event.message == f"Was refused: POST /s/acme/admin/shops/shop/{shop.pk}/change/"


def test_a_form_without_its_key_changes_nothing(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("preferences", enforce_csrf_checks=True)

    response = panel.post("shops_shop_change", shop.pk, name="Forged")

    shop.refresh_from_db()
    assert response.status_code == 403
    assert b"no longer valid" in response.content
    assert shop.name == "Acme"


def test_screens_of_packages_are_not_in_the_panel() -> None:
    assert all(isinstance(screen, PanelAdmin) for screen in admin.site._registry.values())


def test_the_theme_is_imported_in_one_module_only() -> None:
    root = Path(settings.BASE_DIR, "apps")
    users = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(line.startswith(("import unfold", "from unfold")) for line in path.read_text().splitlines())
    }

    assert users == {"core/admin/theme.py"}


def test_a_form_that_is_saved_untouched_changes_nothing(owner_client: Panel, shared_rows: Things) -> None:
    """Check that submitting an unchanged form writes no row, timestamp, version or event.

    Otherwise apps would receive webhooks without a change.
    """
    saved = []

    with Subtests() as checks:
        for name in (name for name, row in TABLE.items() if name.endswith("_change") and row.about):
            with checks(name):
                arguments = shared_rows[TABLE[name].about]
                page = owner_client.get(name, *arguments)
                if b'name="_save"' not in page.content:
                    continue
                before = snapshot_database()
                response = owner_client.post(name, *arguments, **get_untouched_data(page.content.decode()))
                errors = re.findall(r"errorlist[^>]*>(.{0,200})", response.content.decode(), re.DOTALL)
                assert response.status_code == 302, errors
                after = snapshot_database()
                changed = {table for table in before if before[table] != after[table]}
                assert changed <= {"staff.SentForm"}, "the key of the form is spent, and nothing else happens"
                saved.append(name)

    assert len(saved) > 8, saved


# Tables that refused requests may change: the audit log, the last visited shop, used form keys and sessions.
TRACES = {"events.Event", "staff.User", "staff.SentForm", "sessions.Session", "usersessions.UserSession"}
FORMS_VALUES = {"post": "yes", "confirm": "bko_", "active": "on", "comment": "Hello", "name": "Mine", "_save": "Save"}
SAVES = re.compile(rb'name="_(save|continue|addanother)"|class="deletelink')
TOO_LONG = re.compile(rb">\s*\d+[.,]\d{3,}\s*<")


@pytest.fixture
def view_only_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with(view_only=EVERY)


def test_viewers_read_pages_or_see_a_clear_refusal(view_only_client: Panel, shared_rows: Things) -> None:
    assert TOO_LONG.search(b"<td>18.000</td>")
    count = 0

    with Subtests() as checks:
        for name, row in TABLE.items():
            with checks(name):
                response = view_only_client.get(name, *shared_rows[row.about])
                assert response.status_code in {row.status, 403}
                if response.status_code == 403:
                    assert b"Permission required" in response.content
                    assert not row.lets or b"(full access instead of view-only access)" in response.content
                elif response.status_code == 200:
                    count += 1
                    page = b"" if response.streaming else response.content
                    assert not SAVES.search(page), "a button that is dead"
                    assert TOO_LONG.findall(page) == [], "not the decimals of the currency"

    assert count > 90


def test_viewers_change_nothing_with_any_form(view_only_client: Panel, shared_rows: Things) -> None:
    view_only_client.get()
    before = snapshot_database()

    with Subtests() as checks:
        for name, row in TABLE.items():
            with checks(name):
                response = view_only_client.forge(name, *shared_rows[row.about], **FORMS_VALUES)
                assert response.status_code in {200, 302, 403, 404, 405}
                after = snapshot_database()
                assert {table for table in before if before[table] != after[table]} <= TRACES


def test_users_with_a_permission_are_not_told_to_request_it(admin_client_with: PanelWith) -> None:
    """Check that the page does not ask users to request a permission that they have. Imports have no add page."""
    owner, clerk = admin_client_with(owner=True), admin_client_with("products")
    address = "imports_exports_import_add"

    for panel in (owner, clerk):
        refused = panel.get(address).content.decode()
        assert "this action is not available here" in refused
        assert "You need this permission" not in refused
    assert "contact the account owner" not in owner.get(address).content.decode()
    assert "Manage products" in admin_client_with("customers").get("catalog_product_add").content.decode()
