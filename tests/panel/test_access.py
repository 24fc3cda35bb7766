"""Tests of access to every URL of the panel.

The table must list each route of the site; ``test_every_route_is_in_the_table`` fails for a new route.
"""

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern

from apps.catalog.models import Collection, Product, Variant
from apps.content.models import ScriptTag
from apps.customers.models import Customer
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.jobs.models import Job
from apps.shops.models import AccessToken, App, Installation, Shop
from apps.staff.domain.permissions import NAMES as EVERY
from apps.staff.models import Membership, User
from tests import factories
from tests.api.conftest import everything_stored
from tests.conftest import Response
from tests.each import Each
from tests.panel.conftest import Panel, PanelWith
from tests.panel.forms import untouched
from tests.panel.pages import OPEN, TABLE
from tests.panel.things import Things


def routes(patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name


def state() -> dict[str, Any]:
    """Return everything that a forged request could have changed."""
    models: tuple[type[Model], ...] = (
        Shop, App, Installation, AccessToken, ScriptTag, Job, Membership, User, Product, Variant, Collection, Customer,
    )  # fmt: skip
    return {model.__name__: list(model._base_manager.order_by("pk").values()) for model in models} | {
        "events": list(Event._base_manager.exclude(topic="staff/refused").order_by("pk").values_list("pk"))
    }


def links(page: Response) -> dict[str, str]:
    """Return the URL names that a page links to within the shop, each with one address."""
    text = "" if page.streaming else html.unescape(page.content.decode())
    matching_links = {
        urljoin(page.request["PATH_INFO"], link) for link in re.findall(r'<a\b[^>]*?\bhref="([^"#]+)', text)
    }
    panel = URLResolver(RegexPattern("^/s/acme/admin/"), admin.site.get_urls())
    return {
        str(panel.resolve(urlsplit(link).path).url_name): link
        for link in matching_links
        if link.startswith("/s/acme/admin/")
    }


def without_memory(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state without each user's last visited shop."""
    for user in state["User"]:
        user.pop("last_shop_id")
    return state


def test_every_route_is_in_the_table() -> None:
    assert sorted({*routes(admin.site.get_urls())}) == sorted({*TABLE, *OPEN})


def test_nobody_who_is_not_logged_in_gets_further_than_the_login(panel_with: PanelWith, things_of: Things) -> None:
    panel = panel_with(owner=True)
    things = things_of(panel.shop)
    before = state()

    with Each() as checks:
        for name, row in TABLE.items():
            with checks(name):
                address = panel.url(name, *things[row.about])
                answers = [Client().get(address), Client().post(address, {"_selected_action": "1"})]
                assert [response.status_code for response in answers] == [302, 302]
                assert all(
                    response.headers["Location"].startswith("/accounts/login/?next=/s/acme/") for response in answers
                )
                assert state() == before


def test_somebody_without_permissions_is_refused_and_changes_nothing(panel_with: PanelWith, things_of: Things) -> None:
    panel = panel_with()
    things = things_of(panel.shop)
    before = without_memory(state())

    with Each() as checks:
        for name, row in TABLE.items():
            with checks(name):
                args = things[row.about]
                answers = [panel.get(name, *args), panel.forge(name, *args, post="yes", confirm="bko_", active="on")]
                assert [response.status_code for response in answers] == [403, 403]
                assert all(b"Permission required" in response.content for response in answers)
                assert without_memory(state()) == before


@pytest.mark.parametrize("permission", sorted({permission for row in TABLE.values() for permission in row.lets}))
def test_each_permission_lets_in_and_no_link_leads_further(
    permission: str, panel_with: PanelWith, things_of: Things
) -> None:
    panel = panel_with(permission)
    things = things_of(panel.shop)

    with Each() as checks:
        for name, row in TABLE.items():
            if permission in row.lets:
                with checks(name):
                    response = panel.get(name, *things[row.about])
                    assert response.status_code == row.status
                    assert {to for to in links(response) if to in TABLE and permission not in TABLE[to].lets} == set()


@pytest.mark.parametrize("permission", sorted({permission for row in TABLE.values() for permission in row.lets}))
def test_who_may_only_view_by_one_permission_meets_no_refusal_behind_a_link(
    permission: str, panel_with: PanelWith, things_of: Things
) -> None:
    panel = panel_with(view_only=[permission])
    things = things_of(panel.shop)
    named_pages = [("index", ()), *((name, things[row.about]) for name, row in TABLE.items() if permission in row.lets)]
    pages = [panel.get(name, *args) for name, args in named_pages]
    behind = {to: path for page in pages if page.status_code == 200 for to, path in links(page).items()}

    with Each() as checks:
        for name, path in behind.items():
            if name in TABLE:
                with checks(name):
                    assert panel.open(path).status_code != 403


@pytest.mark.parametrize(
    "lets", sorted({row.lets for row in TABLE.values()}), ids=lambda lets: "-".join(lets) or "nobody"
)
def test_no_other_permission_lets_in(lets: tuple[str, ...], panel_with: PanelWith, things_of: Things) -> None:
    panel = panel_with(*(other for other in EVERY if other not in lets))
    things = things_of(panel.shop)

    with Each() as checks:
        for name, row in TABLE.items():
            if row.lets == lets:
                with checks(name):
                    assert panel.get(name, *things[row.about]).status_code == 403


@pytest.mark.both_databases
def test_owners_may_do_what_anybody_may(owner: Panel, things_of: Things) -> None:
    things = things_of(owner.shop)

    with Each() as checks:
        for name, row in TABLE.items():
            with checks(name):
                assert owner.get(name, *things[row.about]).status_code == (row.status if row.lets else 403)


def test_another_shops_object_is_not_found(owner: Panel, other_shop: Shop, things_of: Things) -> None:
    things = things_of(other_shop)
    before = without_memory(state())

    with Each() as checks:
        for name, row in TABLE.items():
            if row.about and row.lets:
                with checks(name):
                    args = things[row.about]
                    answers = [owner.get(name, *args), owner.forge(name, *args, post="yes")]
                    assert answers[0].status_code == 404
                    # Where no one may change anything, a change is refused before the object is looked up.
                    assert answers[1].status_code in {403, 404}
                    assert without_memory(state()) == before


def test_another_shops_panel_is_not_found(owner: Panel, other_shop: Shop, things_of: Things) -> None:
    things = things_of(other_shop)
    owner.shop = other_shop

    with Each() as checks:
        for name, row in TABLE.items():
            with checks(name):
                assert owner.get(name, *things[row.about]).status_code == 404


@pytest.mark.parametrize("identity", ["abc", "99999999999999999999999", "0", "-1", "_5F"])
def test_an_object_that_is_none_is_not_found(identity: str, owner: Panel) -> None:
    assert owner.get("shops_installation_change", identity).status_code == 404


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
def test_open_pages_work_without_any_permission(name: str, status: int, panel_with: PanelWith) -> None:
    assert panel_with().get(name).status_code == status


def test_the_page_of_a_refusal_names_the_permission_and_the_owner(panel_with: PanelWith, shop: Shop) -> None:
    factories.make_member(shop, owner=True, first_name="Kim", last_name="Lee", email="kim@example.com")

    page = panel_with().get("shops_shop_change", shop.pk).content.decode()

    assert "Change the shop&#x27;s settings" in page
    assert "Kim Lee" in page
    assert "kim@example.com" in page


def test_a_refused_change_is_in_the_audit_log(panel_with: PanelWith, shop: Shop) -> None:
    panel = panel_with()

    panel.post("shops_shop_change", shop.pk, name="Mine now")

    with shop_scope(shop):
        event = Event.objects.get(topic="staff/refused")
    assert event.actor == f"staff:{panel.user.pk}"
    assert event.message == f"Was refused: POST /s/acme/admin/shops/shop/{shop.pk}/change/"


def test_a_form_without_its_key_changes_nothing(panel_with: PanelWith, shop: Shop) -> None:
    panel = panel_with("preferences", enforce_csrf_checks=True)

    response = panel.post("shops_shop_change", shop.pk, name="Forged")

    shop.refresh_from_db()
    assert response.status_code == 403
    assert b"no longer valid" in response.content
    assert shop.name == "Acme"


def test_screens_of_packages_are_not_in_the_panel() -> None:
    from apps.panel.admin_base.model_admin import PanelAdmin

    assert all(isinstance(screen, PanelAdmin) for screen in admin.site._registry.values())


def test_the_theme_is_imported_in_one_module_only() -> None:
    from pathlib import Path

    import apps

    root = Path(apps.__file__).parent
    users = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(line.startswith(("import unfold", "from unfold")) for line in path.read_text().splitlines())
    }

    assert users == {"panel/theme.py"}


CHANGED = [name for name, row in TABLE.items() if name.endswith("_change") and row.about]


def test_a_form_that_is_saved_untouched_changes_nothing(owner: Panel, things_of: Things) -> None:
    """Check that an unchanged form writes no row, time stamp, version or event.

    Otherwise apps that react to updates would be called for nothing.
    """
    things = things_of(owner.shop)
    saved = []

    with Each() as checks:
        for name in CHANGED:
            with checks(name):
                arguments = things[TABLE[name].about]
                page = owner.get(name, *arguments)
                if b'name="_save"' not in page.content:
                    continue
                before = everything_stored()
                response = owner.http.post(owner.url(name, *arguments), untouched(page.content.decode()))
                assert response.status_code == 302, shown_errors(response.content.decode())
                after = everything_stored()
                changed = {table for table in before if before[table] != after[table]}
                assert changed <= {"staff.SentForm"}, "the key of the form is spent, and nothing else happens"
                saved.append(name)

    assert len(saved) > 8, saved


def shown_errors(page: str) -> list[str]:
    """Return the errors that a form shows."""
    return re.findall(r"errorlist[^>]*>(.{0,200})", page, re.DOTALL)


# --- view-only access ---

# What a request leaves that changes nothing of the shop: the log of a refusal, the last visit, and the used form.
TRACES = {"events.Event", "staff.User", "staff.SentForm", "sessions.Session", "usersessions.UserSession"}
FORMS_VALUES = {"post": "yes", "confirm": "bko_", "active": "on", "comment": "Hello", "name": "Mine", "_save": "Save"}
SAVES = re.compile(rb'name="_(save|continue|addanother)"|class="deletelink')


@pytest.fixture
def viewer(panel_with: PanelWith) -> Panel:
    """Return a client whose user has every permission, view-only."""
    return panel_with(view_only=EVERY)


def test_who_may_only_view_reads_or_is_refused_in_words(viewer: Panel, things_of: Things) -> None:
    things = things_of(viewer.shop)
    count = 0

    with Each() as checks:
        for name, row in TABLE.items():
            with checks(name):
                response = viewer.get(name, *things[row.about])
                assert response.status_code in {row.status, 403}, response.status_code
                if response.status_code == 403:
                    assert b"Permission required" in response.content
                    assert not row.lets or b"(full access; you have view-only access)" in response.content
                elif response.status_code == 200:
                    count += 1
                    page = b"" if response.streaming else response.content
                    assert not SAVES.search(page), "a button that is dead"

    assert count > 90


def test_who_may_only_view_reads_amounts_in_the_decimals_of_the_currency(viewer: Panel, things_of: Things) -> None:
    things = things_of(viewer.shop)
    too_long = re.compile(r">\s*\d+[.,]\d{3,}\s*<")
    assert too_long.search("<td>18.000</td>")

    with Each() as checks:
        for name, row in TABLE.items():
            if row.lets and row.status == 200:
                with checks(name):
                    response = viewer.get(name, *things[row.about])
                    page = "" if response.streaming else response.content.decode()
                    assert too_long.findall(page) == []


def test_who_may_only_view_changes_nothing_by_any_form(viewer: Panel, things_of: Things) -> None:
    things = things_of(viewer.shop)
    viewer.get()
    before = everything_stored()

    with Each() as checks:
        for name, row in TABLE.items():
            with checks(name):
                response = viewer.forge(name, *things[row.about], **FORMS_VALUES)
                assert response.status_code in {200, 302, 403, 404, 405}
                after = everything_stored()
                assert {table for table in before if before[table] != after[table]} <= TRACES


def test_who_has_the_permission_is_not_told_to_ask_for_it(panel_with: PanelWith) -> None:
    """Check that users with the permission are not told to ask for it; imports have no add page of their own."""
    owner, clerk = panel_with(owner=True), panel_with("products")
    address = "exchange_import_add"

    for panel in (owner, clerk):
        refused = panel.get(address).content.decode()
        assert "this action is not available here" in refused
        assert "You need this permission" not in refused
    assert "Ask the account owner" not in owner.get(address).content.decode()
    assert "Manage products" in panel_with("customers").get("catalog_product_add").content.decode()
