"""Every address of the panel against everybody who might ask for it.

The table must name each route of the site: a new one fails ``test_every_route_is_in_the_table`` until it is listed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLResolver

from apps.catalog.models import Collection, Product, Variant
from apps.content.models import MobilePlatformApplication, ScriptTag
from apps.customers.models import Customer
from apps.events.models import Event
from apps.exchange.models import Export, Import
from apps.ground.tenancy import shop_scope
from apps.inventory.models import StockMovement
from apps.jobs.models import Job
from apps.metafields.domain.setting import set_many
from apps.shops.models import AccessToken, Installation, Shop
from apps.staff.models import Membership, User
from tests import factories
from tests.catalog.factories import make_custom, make_product, make_smart
from tests.content.factories import make_article, make_blog, make_draft, make_rewritten
from tests.customers.factories import make_customer
from tests.inventory.factories import first_location, make_item, put
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith

STAFF = (
    "staff_management_create",
    "staff_management_update",
    "staff_management_delete",
    "staff_management_activation",
)
METAFIELD = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold"}
EXPORTS = ("export_orders", "export_customers", "staff_audit_log_view")
APPS = ("applications", "view_private_apps", "edit_private_apps")


@dataclass
class Row:
    """Who may open an address, and what a GET answers them."""

    lets: tuple[str, ...] = ()  # any one of these names; none: nobody, not even an owner
    about: str = ""  # the kind of object in the address
    status: int = 200


TABLE: dict[str, Row] = {
    "shops_shop_changelist": Row(("preferences",), status=302),
    "shops_shop_add": Row(),
    "shops_shop_change": Row(("preferences",), "shop"),
    "shops_shop_history": Row(("preferences",), "shop"),
    "shops_shop_delete": Row((), "shop"),
    "shops_installation_changelist": Row(APPS),
    "shops_installation_add": Row(("applications",)),
    "shops_installation_change": Row(APPS, "installation"),
    "shops_installation_history": Row(APPS, "installation"),
    "shops_installation_delete": Row(("applications",), "installation"),
    "shops_installation_scopes": Row(("edit_private_apps",), "installation"),
    "shops_installation_new_token": Row(("edit_private_apps",), "installation", 405),
    "shops_installation_rotate": Row(("edit_private_apps",), "installation", 405),
    "shops_installation_revoke": Row(("edit_private_apps",), "token"),
    "content_scripttag_changelist": Row(("themes", "applications")),
    "content_scripttag_add": Row(),
    "content_scripttag_change": Row(("themes", "applications"), "tag"),
    "content_scripttag_history": Row(("themes", "applications"), "tag"),
    "content_scripttag_delete": Row((), "tag"),
    "content_blog_changelist": Row(("pages",)),
    "content_blog_add": Row(("pages",)),
    "content_blog_change": Row(("pages",), "blog"),
    "content_blog_history": Row(("pages",), "blog"),
    "content_blog_delete": Row(("pages",), "blog"),
    "content_article_changelist": Row(("pages",)),
    "content_article_add": Row(("pages",)),
    "content_article_change": Row(("pages",), "article"),
    "content_article_history": Row(("pages",), "article"),
    "content_article_delete": Row(("pages",), "article"),
    "content_article_preview": Row(("pages",), status=405),
    "content_article_version": Row(("pages",), "article_version"),
    "content_theme_changelist": Row(("themes",)),
    "content_theme_add": Row(("themes",)),
    "content_theme_change": Row(("themes",), "theme"),
    "content_theme_history": Row(("themes",), "theme"),
    "content_theme_delete": Row(("themes",), "theme"),
    "content_theme_publish": Row(("themes",), "theme"),
    "content_theme_progress": Row(("themes",), "theme"),
    "content_theme_download": Row(("themes",), "theme"),
    "content_theme_duplicate": Row(("themes",), "theme", 405),
    "content_theme_retry": Row(("themes",), "theme", 405),
    "content_theme_code": Row(("themes",), "theme"),
    "content_theme_delete_file": Row(("themes",), "theme", 405),
    "content_theme_version": Row(("themes",), "version"),
    "content_mobileplatformapplication_changelist": Row(("preferences",)),
    "content_mobileplatformapplication_add": Row(("preferences",)),
    "content_mobileplatformapplication_change": Row(("preferences",), "mobile"),
    "content_mobileplatformapplication_history": Row(("preferences",), "mobile"),
    "content_mobileplatformapplication_delete": Row(("preferences",), "mobile"),
    "inventory_location_changelist": Row(("locations", "products")),
    "inventory_location_add": Row(("locations",)),
    "inventory_location_change": Row(("locations", "products"), "location"),
    "inventory_location_history": Row(("locations", "products"), "location"),
    "inventory_location_delete": Row((), "location"),
    "inventory_location_activation": Row(("locations",), "location"),
    "inventory_inventoryitem_changelist": Row(("products",)),
    "inventory_inventoryitem_add": Row(),
    "inventory_inventoryitem_change": Row(("products",), "item"),
    "inventory_inventoryitem_history": Row(("products",), "item"),
    "inventory_inventoryitem_delete": Row((), "item"),
    "inventory_stockmovement_changelist": Row(("products",)),
    "inventory_stockmovement_add": Row(),
    "inventory_stockmovement_change": Row(("products",), "movement"),
    "inventory_stockmovement_history": Row(("products",), "movement"),
    "inventory_stockmovement_delete": Row((), "movement"),
    "catalog_product_changelist": Row(("products",)),
    "catalog_product_add": Row(("products",)),
    "catalog_product_change": Row(("products",), "product"),
    "catalog_product_history": Row(("products",), "product"),
    "catalog_product_delete": Row(("products",), "product"),
    "catalog_product_images": Row(("products",), "product"),
    "catalog_variant_changelist": Row(("products",)),
    "catalog_variant_add": Row(),
    "catalog_variant_change": Row(("products",), "variant"),
    "catalog_variant_history": Row(("products",), "variant"),
    "catalog_variant_delete": Row(("products",), "variant"),
    "catalog_customcollection_changelist": Row(("products",)),
    "catalog_customcollection_add": Row(("products",)),
    "catalog_customcollection_change": Row(("products",), "custom"),
    "catalog_customcollection_history": Row(("products",), "custom"),
    "catalog_customcollection_delete": Row(("products",), "custom"),
    "catalog_customcollection_products": Row(("products",), "custom"),
    "catalog_smartcollection_changelist": Row(("products",)),
    "catalog_smartcollection_add": Row(("products",)),
    "catalog_smartcollection_change": Row(("products",), "smart"),
    "catalog_smartcollection_history": Row(("products",), "smart"),
    "catalog_smartcollection_delete": Row(("products",), "smart"),
    "catalog_smartcollection_products": Row(("products",), "smart"),
    "catalog_smartcollection_preview": Row(("products",)),
    "metafields_metafield_changelist": Row(("preferences",)),
    "metafields_metafield_add": Row(("preferences",)),
    "metafields_metafield_change": Row(("preferences",), "metafield"),
    "metafields_metafield_history": Row(("preferences",), "metafield"),
    "metafields_metafield_delete": Row(("preferences",), "metafield"),
    "events_event_changelist": Row(("staff_audit_log_view",)),
    "events_event_add": Row(),
    "events_event_change": Row(("staff_audit_log_view",), "event"),
    "events_event_history": Row(("staff_audit_log_view",), "event"),
    "events_event_delete": Row((), "event"),
    "jobs_job_changelist": Row(("preferences",)),
    "jobs_job_add": Row(),
    "jobs_job_change": Row(("preferences",), "job"),
    "jobs_job_history": Row(("preferences",), "job"),
    "jobs_job_delete": Row((), "job"),
    "jobs_job_retry": Row(("preferences",), "job", 405),
    "jobs_job_cancel": Row(("preferences",), "job", 405),
    "customers_customer_changelist": Row(("customers",)),
    "customers_customer_add": Row(("customers",)),
    "customers_customer_change": Row(("customers",), "customer"),
    "customers_customer_history": Row(("customers",), "customer"),
    "customers_customer_delete": Row(("customers",), "customer"),
    "customers_customer_invite": Row(("customers",), "customer"),
    "customers_customer_activation": Row(("customers",), "customer"),
    "customers_customer_disable": Row(("customers",), "customer"),
    "customers_customer_data": Row(("customers",), "customer"),
    "customers_customer_data_export": Row(("customers",), "customer", 405),
    "customers_customer_data_erase": Row(("customers",), "customer", 405),
    "orders_order_changelist": Row(("orders", "edit_orders")),
    "orders_order_add": Row(),
    "orders_order_change": Row(("orders", "edit_orders"), "order"),
    "orders_order_history": Row(("orders", "edit_orders"), "order"),
    "orders_order_delete": Row(("edit_orders",), "order"),
    "orders_order_edit": Row(("edit_orders",), "order"),
    "orders_order_cancel": Row(("edit_orders",), "order"),
    "orders_order_close": Row(("edit_orders",), "order", 405),
    "orders_order_open": Row(("edit_orders",), "order", 405),
    "orders_order_capture": Row(("edit_orders",), "order", 405),
    "orders_order_paid": Row(("edit_orders",), "order", 405),
    "orders_order_comment": Row(("orders",), "order", 405),
    # An export opens to the person who asked for it, whoever else may export.
    "exchange_export_changelist": Row(EXPORTS),
    "exchange_export_add": Row(),
    "exchange_export_new": Row(EXPORTS),
    "exchange_export_change": Row(EXPORTS, "export", 404),
    "exchange_export_history": Row(EXPORTS, "export", 404),
    "exchange_export_delete": Row((), "export", 404),
    "exchange_export_file": Row(EXPORTS, "export_file", 404),
    "exchange_import_changelist": Row(("customers", "edit_orders")),
    "exchange_import_add": Row(),
    "exchange_import_upload": Row(("customers", "edit_orders")),
    "exchange_import_change": Row(("customers", "edit_orders"), "import"),
    "exchange_import_history": Row(("customers", "edit_orders"), "import"),
    "exchange_import_delete": Row((), "import"),
    "exchange_import_confirm": Row(("customers", "edit_orders"), "import", 405),
    "exchange_import_report": Row(("customers", "edit_orders"), "import"),
    "staff_membership_changelist": Row(STAFF),
    "staff_membership_add": Row(("staff_management_create",)),
    "staff_membership_change": Row(STAFF, "membership"),
    "staff_membership_history": Row(STAFF, "membership"),
    "staff_membership_delete": Row(("staff_management_delete",), "membership"),
    "staff_membership_activation": Row(("staff_management_activation",), "membership", 405),
    "staff_membership_invitation": Row(("staff_management_create",), "membership", 405),
}
# What everybody in the shop may open, whatever they hold; each has its own test.
OPEN = {
    "index",
    "search",
    "login",
    "logout",
    "password_change",
    "password_change_done",
    "autocomplete",
    "jsi18n",
    "app_list",
    "save_view",
    "change_view",
}
# Django redirects <id>/ to <id>/change/ and anything else to 404; neither has a name.
NAMES = sorted(TABLE)


def routes(patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name


Things = Callable[[Shop], dict[str, tuple[int, ...]]]


@pytest.fixture
def things_of() -> Things:
    """Makes one object of every kind in a shop; answers the arguments of their addresses."""

    def make(shop: Shop) -> dict[str, tuple[int, ...]]:
        installation = factories.make_installation(shop, ("read_products",))
        factories.make_token(installation)
        member = factories.make_member(shop)
        item, location = make_item(shop), first_location(shop)
        put(item, location, 1)
        with shop_scope(shop):
            export = Export.objects.create(shop=shop, kind="orders", format="csv", user=member)
            product = make_product(prices=("1.00", "2.00"))
            tag = factories.ScriptTagFactory.create(shop=shop, app=installation.app)
            draft, version = make_draft()
            return {
                "": (),
                "shop": (shop.pk,),
                "installation": (installation.pk,),
                "token": (installation.pk, AccessToken.objects.get(installation=installation).pk),
                "tag": (tag.pk,),
                "location": (location.pk,),
                "item": (item.pk,),
                "product": (product.pk,),
                "variant": (Variant.objects.filter(product=product).latest("id").pk,),
                "custom": (make_custom("Kitchen", product).pk,),
                "smart": (make_smart("Mugs", ("title", "contains", "mug")).pk,),
                "movement": (StockMovement.objects.get().pk,),
                "order": (make_order(shop).pk,),
                "export": (export.pk,),
                "export_file": (export.pk, export.key),
                "import": (Import.objects.create(shop=shop, name="in.csv", format="csv", actor="system").pk,),
                "metafield": (set_many(shop, [METAFIELD], actor="system", at=shop.created_at)[0].pk,),
                "event": (Event.objects.order_by("id")[0].pk,),
                "job": (Job.objects.create(shop=shop, task="x.y").pk,),
                "membership": (Membership.objects.get(user=member).pk,),
                "customer": (make_customer().pk,),
                "blog": (make_blog().pk,),
                "article": (make_article().pk,),
                "article_version": make_rewritten(),
                "theme": (draft.pk,),
                "version": (draft.pk, version.pk),
                "mobile": (MobilePlatformApplication.objects.create(shop=shop, platform="ios", application_id="x").pk,),
            }

    return make


def state() -> dict[str, Any]:
    """All that a forged request might have changed."""
    models = (
        Shop, Installation, AccessToken, ScriptTag, Job, Membership, User, Product, Variant, Collection, Customer,
    )  # fmt: skip
    return {model.__name__: list(model._base_manager.order_by("pk").values()) for model in models} | {
        "events": list(Event._base_manager.exclude(topic="staff/refused").order_by("pk").values_list("pk"))
    }


def without_memory(state: dict[str, Any]) -> dict[str, Any]:
    """The state, but for the last shop that each person was in."""
    for user in state["User"]:
        user.pop("last_shop_id")
    return state


def test_every_route_is_in_the_table() -> None:
    assert sorted({*routes(admin.site.get_urls())}) == sorted({*TABLE, *OPEN})


@pytest.mark.parametrize("name", NAMES)
def test_nobody_who_is_not_logged_in_gets_further_than_the_login(
    name: str, panel_with: PanelWith, things_of: Things
) -> None:
    panel = panel_with(owner=True)
    address = panel.url(name, *things_of(panel.shop)[TABLE[name].about])
    before = state()

    answers = [Client().get(address), Client().post(address, {"_selected_action": "1"})]

    assert [answer.status_code for answer in answers] == [302, 302]
    assert all(answer.headers["Location"].startswith("/accounts/login/?next=/s/acme/") for answer in answers)
    assert state() == before


@pytest.mark.parametrize("name", NAMES)
def test_somebody_without_permissions_is_refused_and_changes_nothing(
    name: str, panel_with: PanelWith, things_of: Things
) -> None:
    panel = panel_with()
    args = things_of(panel.shop)[TABLE[name].about]
    before = without_memory(state())

    answers = [panel.get(name, *args), panel.post(name, *args, post="yes", confirm="bko_", active="on")]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert all(b"You may not do this" in answer.content for answer in answers)
    assert without_memory(state()) == before


@pytest.mark.parametrize(("name", "permission"), [(name, lets) for name in NAMES for lets in TABLE[name].lets])
def test_each_permission_lets_in(name: str, permission: str, panel_with: PanelWith, things_of: Things) -> None:
    panel = panel_with(permission)

    answer = panel.get(name, *things_of(panel.shop)[TABLE[name].about])

    assert answer.status_code == TABLE[name].status


@pytest.mark.parametrize("name", NAMES)
def test_no_other_permission_lets_in(name: str, panel_with: PanelWith, things_of: Things) -> None:
    from apps.staff.domain.permissions import NAMES as EVERY

    row = TABLE[name]
    panel = panel_with(*(other for other in EVERY if other not in row.lets))

    answer = panel.get(name, *things_of(panel.shop)[row.about])

    assert answer.status_code == 403


@pytest.mark.parametrize("name", NAMES)
def test_owners_may_do_what_anybody_may(name: str, owner: Panel, things_of: Things) -> None:
    row = TABLE[name]

    answer = owner.get(name, *things_of(owner.shop)[row.about])

    assert answer.status_code == (row.status if row.lets else 403)


@pytest.mark.parametrize("name", [name for name in NAMES if TABLE[name].about and TABLE[name].lets])
def test_another_shops_object_is_not_found(name: str, owner: Panel, other_shop: Shop, things_of: Things) -> None:
    args = things_of(other_shop)[TABLE[name].about]
    before = without_memory(state())

    answers = [owner.get(name, *args), owner.post(name, *args, post="yes")]

    assert answers[0].status_code == 404
    # Where nobody changes anything, a change is refused before anybody looks for the object.
    assert answers[1].status_code in {403, 404}
    assert without_memory(state()) == before


@pytest.mark.parametrize("name", NAMES)
def test_another_shops_panel_is_not_found(name: str, owner: Panel, other_shop: Shop, things_of: Things) -> None:
    things = things_of(other_shop)
    owner.shop = other_shop

    assert owner.get(name, *things[TABLE[name].about]).status_code == 404


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

    answer = panel.post("shops_shop_change", shop.pk, name="Forged")

    shop.refresh_from_db()
    assert answer.status_code == 403
    assert b"no longer valid" in answer.content
    assert shop.name == "Acme"


def test_screens_of_packages_are_not_in_the_panel() -> None:
    from apps.panel.screens.bases import PanelAdmin

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

    assert users == {"staff/theme.py"}
