"""Tests for locations in the panel."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.inventory.domain import locations
from apps.inventory.models import Location
from apps.shops.models import Shop
from tests.inventory.factories import get_topics, make_item, make_location, set_stock
from tests.panel.conftest import PanelWith
from tests.panel.stock_grid import get_messages

ADDRESS = {"name": "Depot", "country_code": "CA", "province": "québec", "priority": "2"}


def test_staff_open_and_change_a_location(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("locations")

    opened = panel.post("inventory_location_add", **ADDRESS)
    with shop_scope(shop):
        depot = Location.objects.get(name="Depot")
    changed = panel.post(
        "inventory_location_change", depot.pk, **ADDRESS, city="Laval", seen_version=str(depot.version)
    )

    assert (opened.status_code, changed.status_code) == (302, 302)
    depot.refresh_from_db()
    assert (depot.province, depot.province_code, depot.city, depot.priority) == ("Quebec", "QC", "Laval", 2)
    assert get_topics(shop, "locations/") == ["locations/create", "locations/create", "locations/update"]
    with shop_scope(shop):
        assert Event.objects.get(topic="locations/update").actor == f"staff:{panel.user.pk}"


def test_a_location_of_a_service_is_shown_and_not_changed(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, legacy = admin_client_with("locations"), make_location(shop, legacy=True)

    response = panel.get("inventory_location_change", legacy.pk)
    panel.post("inventory_location_change", legacy.pk, **ADDRESS | {"name": "Mine"}, seen_version=str(legacy.version))

    assert "Only the fulfillment service can change this location" in response.content.decode()
    assert 'name="_save"' not in response.content.decode()
    legacy.refresh_from_db()
    assert legacy.name == "Depot"


def test_the_page_names_obstacles_and_refuses(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, depot = admin_client_with("locations"), make_location(shop)
    set_stock(make_item(shop), depot, 3)

    page = panel.get("inventory_location_activation", depot.pk).content.decode()
    refused = panel.http.post(panel.url("inventory_location_activation", depot.pk), follow=True)

    assert "1 item still has stock here." in page
    assert ">Deactivate</button>" not in page
    assert "1 item still has stock here." in get_messages(refused)
    depot.refresh_from_db()
    assert depot.active


def test_a_location_is_deactivated_and_activated(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, depot = admin_client_with("locations"), make_location(shop)

    assert ">Deactivate</button>" in panel.get("inventory_location_activation", depot.pk).content.decode()
    panel.post("inventory_location_activation", depot.pk)
    depot.refresh_from_db()
    after_first = depot.active
    panel.post("inventory_location_activation", depot.pk, active="on")
    depot.refresh_from_db()

    assert (after_first, depot.active) == (False, True)
    assert get_topics(shop, "locations/")[-2:] == ["locations/deactivate", "locations/activate"]


def test_the_list_names_places_and_a_location_how_many_units_lie_there(
    admin_client_with: PanelWith, shop: Shop
) -> None:
    depot = make_location(shop)
    set_stock(make_item(shop), depot, 12)
    panel = admin_client_with("locations")

    assert "Montreal, Canada" in panel.get("inventory_location_changelist").content.decode()
    with CaptureQueriesContext(connection) as statements:
        page = panel.get("inventory_location_change", depot.pk).content.decode()
    assert ">12<" in page.replace(" ", "").replace("\n", "")
    assert sum("SUM(" in statement["sql"] for statement in statements) == 1


def test_objections_of_other_domains_are_shown(
    admin_client_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    depot = make_location(shop)
    monkeypatch.setattr(
        locations, "_objection_sources", {"orders": lambda location: ["Two fulfillment orders are open."]}
    )

    page = admin_client_with("locations").get("inventory_location_activation", depot.pk).content.decode()

    assert "Two fulfillment orders are open." in page
