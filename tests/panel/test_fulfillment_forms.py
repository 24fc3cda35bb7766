from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.admin.fulfill_form import FulfillForm
from apps.fulfillment.admin.fulfillment_order_cards import get_order_cards
from apps.fulfillment.domain import fulfillments
from apps.fulfillment.domain.fulfillment_orders.quantities import QuantitiesRefused
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.domain.tracking import Tracking
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentOrder,
    FulfillmentService,
    Pull,
    PullAttempt,
)
from apps.inventory.models import Location
from apps.orders.domain.transitions import cancel_order
from apps.orders.models import Order
from tests.support import factories
from tests.support.api_client import Response
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_fulfillment_order, make_service
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import MUG, make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")

ACT, FULFIL = "fulfillment_fulfillmentorder_act", "fulfillment_fulfillmentorder_fulfill"
PARCEL, PARCEL_SLIP = "fulfillment_fulfillmentorder_parcel", "fulfillment_fulfillmentorder_parcel_slip"
RECORDS, ORDER = "fulfillment_fulfillmentservice_records", "orders_order_change"
UPS = "1Z5R89390357567127"
ADDRESS = {"first_name": "Ada", "last_name": "Lovelace", "address1": "1 Main <b>Street</b>", "city": "Ottawa"}
ON_SLIP = ("Ada Lovelace", "1 Main &lt;b&gt;Street", "Ring twice", "M-1")


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders", "applications")


@pytest.fixture
def row(in_shop: Shop) -> FulfillmentOrder:
    """Return a fulfillment order of two mugs and two bowls at the primary location."""
    return make_fulfillment_order(lines=[MUG, {**MUG, "title": "Bowl"}], email="ada@example.com")


def build_unit_fields(row: FulfillmentOrder, *counts: int) -> dict[str, int]:
    return {f"units-{line.pk}": count for line, count in zip(row.lines.order_by("pk"), counts, strict=True)}


def send_form(panel: Panel, row: FulfillmentOrder, **data: object) -> Response:
    return panel.forge(FULFIL, row.order_id, **{"from": row.assigned_location_id, **data})


def split_units(panel: Panel, row: FulfillmentOrder, *counts: int) -> FulfillmentOrder:
    """Hold some units and release them; return the fulfillment order of the other units."""
    panel.forge(ACT, row.pk, "hold", reason="other", **build_unit_fields(row, *counts))
    panel.forge(ACT, row.pk, "release_hold")
    row.refresh_from_db()
    return FulfillmentOrder.objects.exclude(pk=row.pk).get()


def test_fulfilled_items_notify_the_customer(panel: Panel, row: FulfillmentOrder) -> None:
    page = panel.get(FULFIL, row.order_id).content.decode()
    typed = {"numbers": f" {UPS} ", "notify": "on", "message": "Fragile"}
    response = send_form(panel, row, **build_unit_fields(row, 1, 0), **typed)

    row.refresh_from_db()
    assert all(f'name="{name}"' in page for name in build_unit_fields(row, 0, 0))
    assert (response.status_code, row.status) == (302, "in_progress")
    stored = Fulfillment.objects.values_list("tracking_numbers", "tracking_company", "tracking_urls", "message").get()
    assert stored == ([UPS], "UPS", [f"https://www.ups.com/track?tracknum={UPS}"], "Fragile")
    assert [line.fulfillable_quantity for line in row.lines.order_by("pk")] == [1, 2]
    assert Event.objects.get(topic="fulfillments/create").actor == f"staff:{panel.user.pk}"
    assert Job.objects.filter(task="fulfillment.send_shipping_confirmation").count() == 1
    story = panel.get(ORDER, row.order_id).content.decode()
    assert [text in story for text in (UPS, "Fragile")] == [True, True]


def test_one_fulfillment_takes_several_orders(panel: Panel, row: FulfillmentOrder) -> None:
    bowl = row.lines.order_by("pk")[1]
    other = split_units(panel, row, 2, 0)

    send_form(panel, row, **build_unit_fields(row, 2), **build_unit_fields(other, 1))

    units = Fulfillment.objects.get().lines.values_list("fulfillment_order_id", "quantity")
    assert sorted(units) == [(row.pk, 2), (other.pk, 1)]
    assert other.lines.get().line_item_id == bowl.line_item_id
    assert Order.objects.get(pk=row.order_id).fulfillment_status == "partial"


def test_each_location_has_its_own_form(panel: Panel, row: FulfillmentOrder) -> None:
    depot = make_location(row.shop)
    panel.forge(ACT, row.pk, "move", location=depot.pk, **build_unit_fields(row, 1, 0))
    moved = FulfillmentOrder.objects.get(assigned_location=depot)
    panel.forge(ACT, moved.pk, "hold", reason="other", **build_unit_fields(moved, 1))

    page = panel.get(FULFIL, row.order_id)

    assert [form.location.pk for form in page.context["forms"]] == [row.assigned_location_id]
    assert "Fulfillment orders that can't be fulfilled now" in page.content.decode()
    panel.forge(ACT, moved.pk, "release_hold")
    both = panel.get(FULFIL, row.order_id, location=depot.pk).context["forms"]
    assert [form.location.pk for form in both] == [depot.pk, row.assigned_location_id]


def test_invalid_fulfillments_are_not_created(panel: Panel, row: FulfillmentOrder) -> None:
    first = f"units-{row.lines.order_by('pk')[0].pk}"
    with Subtests() as checks:
        for data, expected_message in (
            ({first: "0"}, "at least one item"),
            ({first: "3"}, "Only 2 left"),
            ({first: "-1"}, "greater than or equal to 0"),
            ({first: "many"}, "whole number"),
            ({first: "1", "numbers": "x" * 2049}, "up to 2048"),
            ({first: "1", "numbers": ",".join(map(str, range(101)))}, "at most 100"),
            ({first: "1", "urls": "javascript:alert(1)"}, "starts with https"),
            ({first: "1", "company": "x" * 256}, "at most 255"),
        ):
            with checks(data):
                response = send_form(panel, row, **data)
                assert response.status_code == 200
                assert expected_message in response.content.decode()
                assert "Nothing was fulfilled. Correct the errors below." in response.content.decode()
    assert send_form(panel, row, **build_unit_fields(row, 1, 1), **{"from": 999_999}).status_code == 200
    assert not Fulfillment.objects.exists()
    assert panel.get(FULFIL, "x").status_code == 404


def test_already_fulfilled_items_are_refused(panel: Panel, row: FulfillmentOrder) -> None:
    second = row.lines.order_by("pk")[1]
    values = {name: str(count) for name, count in build_unit_fields(row, 1, 2).items()}
    form = FulfillForm(row.order, row.assigned_location, get_order_cards(row.order), values)
    assert form.is_valid()
    make_fulfillment(row, lines=[{"id": second.pk, "quantity": 1}])

    parts = [FulfillmentPart(row, form.selected_lines[0][1])]
    with pytest.raises(QuantitiesRefused) as error:
        fulfillments.create_fulfillment(parts, actor="system", at=timezone.now())
    form.add_domain_error(error.value)
    later = send_form(panel, row, **build_unit_fields(row, 1, 2))

    assert form.errors == {f"units-{second.pk}": ["is more than the remaining quantity (1)"]}
    assert "Only 1 left" in later.content.decode()
    assert Fulfillment.objects.count() == 1


def test_a_carrier_is_recognized_while_typing(panel: Panel) -> None:
    def recognize_carrier(number: str) -> dict[str, str]:
        return dict(panel.get("fulfillment_fulfillmentorder_carrier", number=number).json())

    assert recognize_carrier(UPS) == {"company": "UPS", "url": f"https://www.ups.com/track?tracknum={UPS}"}
    assert recognize_carrier("hello") == recognize_carrier("") == {}


def test_tracking_and_fulfillment_events_are_changed(panel: Panel, in_shop: Shop) -> None:
    parcel = make_fulfillment()
    assert b"In transit" in panel.get(PARCEL, parcel.pk, "event").content

    panel.forge(PARCEL, parcel.pk, "tracking", numbers="A-1\nA-2", company="Courier", urls="https://a.example/1")
    panel.forge(PARCEL, parcel.pk, "event", status="delivered", happened_at="2026-03-02T12:00", city="Ottawa")

    parcel.refresh_from_db()
    event = FulfillmentEvent.objects.get()
    page = panel.get(ORDER, parcel.order_id).content.decode()
    assert (parcel.tracking_numbers, parcel.tracking_company) == (["A-1", "A-2"], "Courier")
    assert parcel.shipment_status == "delivered"
    assert (event.city, event.happened_at) == ("Ottawa", datetime(2026, 3, 2, 12, tzinfo=in_shop.tzinfo))
    assert [text in page for text in ('href="https://a.example/1"', "Delivered")] == [True, True]
    panel.forge("fulfillment_fulfillmentorder_remove_event", event.pk)
    parcel.refresh_from_db()
    assert (parcel.shipment_status, FulfillmentEvent.objects.count()) == ("", 0)


def test_wrong_values_about_a_parcel_change_nothing(panel: Panel) -> None:
    parcel = make_fulfillment()
    before = parcel.version

    with Subtests() as checks:
        for name, data in (
            ("event", {"status": "eaten", "happened_at": "2026-03-02T12:00"}),
            ("event", {"status": "delivered", "happened_at": "yesterday"}),
            ("event", {"status": "delivered", "happened_at": "0001-01-01T00:00"}),
            ("tracking", {"urls": "ftp://a.example"}),
        ):
            with checks(name, data):
                assert panel.forge(PARCEL, parcel.pk, name, **data).status_code == 200
    parcel.refresh_from_db()
    assert (parcel.version, FulfillmentEvent.objects.count()) == (before, 0)
    assert panel.get(PARCEL, parcel.pk, "eat").status_code == 404


def test_addresses_that_are_none_are_no_links(panel: Panel) -> None:
    parcel = make_fulfillment()
    Fulfillment.objects.filter(pk=parcel.pk).update(tracking_numbers=["N-1"], tracking_urls=["javascript:alert(1)"])

    page = panel.get(ORDER, parcel.order_id).content.decode()

    assert "N-1" in page
    assert "javascript:" not in page


def test_a_canceled_fulfillment_is_open_again(panel: Panel) -> None:
    parcel = make_fulfillment()

    panel.forge(PARCEL, parcel.pk, "cancel")

    parcel.refresh_from_db()
    assert parcel.status == "cancelled"
    assert FulfillmentOrder.objects.filter(status="open").get().lines.get().fulfillable_quantity == 2
    page = panel.get(ORDER, parcel.order_id).content.decode()
    assert panel.url(PARCEL, parcel.pk, "cancel") not in page
    assert panel.get(PARCEL, parcel.pk, "cancel").status_code == 302


def test_readers_see_parcels_without_buttons(admin_client_with: PanelWith) -> None:
    event = make_event()
    reader = admin_client_with("orders")

    page = reader.get(ORDER, event.fulfillment.order_id).content.decode()

    assert "In transit" in page
    assert "/fulfillments/" not in page.replace(reader.url(PARCEL_SLIP, event.fulfillment_id), "")
    assert "/events/" not in page
    assert reader.forge(PARCEL, event.fulfillment_id, "cancel").status_code == 403
    assert Fulfillment.objects.get().status == "success"


def test_packing_slips_contain_no_prices(panel: Panel, in_shop: Shop, other_shop: Shop) -> None:
    first = make_fulfillment_order(shipping_address=ADDRESS, note="Ring twice", lines=[{**MUG, "sku": "M-1"}])
    second = make_fulfillment_order(lines=[{**MUG, "title": "Bowl", "quantity": 7}])
    with shop_scope(other_shop):
        foreign = make_fulfillment_order(lines=[{**MUG, "title": "Secret"}])

    first_html = panel.get("fulfillment_fulfillmentorder_slip", first.pk).content.decode()
    selected = panel.forge(
        "fulfillment_fulfillmentorder_changelist", action="print_slips", _selected_action=[second.pk, first.pk]
    )
    many_html = panel.http.get(selected.headers["Location"]).content.decode()
    mixed = panel.get("fulfillment_fulfillmentorder_slips", ids=f"{foreign.pk},{second.pk},x").content.decode()

    assert [part for part in (first.order.name, *ON_SLIP, in_shop.name) if part not in first_html] == []
    assert [absent for absent in ("10.00", "20.00", "USD", "Bowl") if absent in first_html] == []
    assert many_html.count('<article class="slip"') == 2
    assert many_html.index("Mug") < many_html.index("Bowl")
    assert ("Bowl" in mixed, "Secret" in mixed, "Mug" in mixed) == (True, False, False)


def test_the_packing_slip_lists_the_fulfilled_items(panel: Panel) -> None:
    lines = [{**MUG, "quantity": 5, "sku": "M-1"}, {**MUG, "title": "Bowl", "quantity": 4}]
    row = make_fulfillment_order(shipping_address=ADDRESS, note="Ring twice", lines=lines)
    mugs, bowls = row.lines.order_by("pk")
    # Split one line item between two fulfillment orders.
    other = split_units(panel, row, 2, 0)
    other_rows = [{"id": other.lines.get(line_item=mugs.line_item).pk, "quantity": 1}]
    first = fulfillments.create_fulfillment(
        [FulfillmentPart(row, [{"id": mugs.pk, "quantity": 2}]), FulfillmentPart(other, other_rows)],
        tracking=Tracking(("N-1", "N-2"), (), "Courier"),
        origin_address={"address1": "9 Side Street", "city": "Hull", "country_code": "CA"},
        actor="system",
        at=timezone.now(),
    )
    second = make_fulfillment(other, lines=[{"id": other.lines.get(line_item=bowls.line_item).pk, "quantity": 3}])

    response = panel.get(PARCEL_SLIP, first.pk)
    two = panel.get(PARCEL_SLIP, second.pk).content.decode()

    html = response.content.decode()
    (slip,) = response.context["slips"]
    assert [(item.name, count) for item, count in slip.lines] == [(mugs.line_item.name, 3)]
    expected = (f"Fulfillment {first}", "N-1", "N-2", "Courier", *ON_SLIP, "9 Side Street", "Hull", "Canada")
    assert [part for part in expected if part not in html] == []
    assert [absent for absent in ("Bowl", "10.00", "USD", str(second)) if absent in html] == []
    texts = ("Bowl", row.assigned_location.name, "Mug", "Tracking")
    assert [text in two for text in texts] == [True, True, False, False]
    story = panel.get(ORDER, row.order_id).content.decode()
    assert all(f'href="{panel.url(PARCEL_SLIP, parcel.pk)}"' in story for parcel in (first, second))


def test_a_parcel_that_was_taken_back_has_no_slip(panel: Panel) -> None:
    parcel = make_fulfillment()
    panel.forge(PARCEL, parcel.pk, "cancel")

    response = panel.http.get(panel.url(PARCEL_SLIP, parcel.pk), follow=True)

    assert f"{parcel} has no packing slip. Status: canceled." in response.content.decode()
    assert panel.url(PARCEL_SLIP, parcel.pk) not in panel.get(ORDER, parcel.order_id).content.decode()


@pytest.fixture
def service(in_shop: Shop) -> FulfillmentService:
    app = factories.make_installation(in_shop, ()).app
    return make_service(app, name="Far depot", inventory_management=True)


def test_a_service_is_changed_with_its_location(panel: Panel, service: FulfillmentService) -> None:
    page = "fulfillment_fulfillmentservice_change"
    data = {"name": "Near depot", "callback_url": service.callback_url, "permits_sku_sharing": "on"}
    form_fields = panel.get(page, service.pk).context["adminform"].form.initial["seen_version"]

    refused = panel.post(page, service.pk, seen_version=form_fields, **{**data, "callback_url": "https://127.0.0.1/x"})
    panel.post(page, service.pk, seen_version=form_fields, **data)

    service.refresh_from_db()
    assert refused.status_code == 200
    assert (service.name, service.location.name, service.inventory_management) == ("Near depot", "Near depot", False)
    assert Event.objects.get(topic="fulfillment_services/update").actor == f"staff:{panel.user.pk}"


def test_service_requests_are_shown_and_can_be_sent_now(
    panel: Panel, admin_client_with: PanelWith, service: FulfillmentService
) -> None:
    row = make_fulfillment_order(service)
    panel.forge(ACT, row.pk, "request_fulfillment", **build_unit_fields(row, 2))
    PullAttempt.objects.create(
        shop=service.shop, service=service, kind="stock", number=1, url="https://depot.example/fetch_stock?shop=x",
        outcome="bad_answer", status=200, message="The response is not valid JSON.", excerpt="<html>Hello",
    )  # fmt: skip
    Pull.objects.update(next_at=timezone.now() + timedelta(minutes=30))

    page = panel.get(RECORDS, service.pk).content.decode()
    response = panel.forge("fulfillment_fulfillmentservice_pull", service.pk, "stock")
    not_asked = panel.http.post(
        panel.url("fulfillment_fulfillmentservice_pull", service.pk, "tracking"),
        {"form_key": panel.form_key(RECORDS, service.pk)},
        follow=True,
    )

    parts = ("The response is not valid JSON.", "fetch_stock?shop=x", "&lt;html&gt;Hello", "/webhooks/delivery/")
    assert [part for part in parts if part not in page] == []
    assert response.status_code == 302
    assert Job.objects.get(task="fulfillment.poll_service").actor == f"staff:{panel.user.pk}"
    assert "does not report tracking numbers" in not_asked.content.decode()
    reader = admin_client_with("locations").get(RECORDS, service.pk).content.decode()
    assert [text in reader for text in (parts[0], "Request now", "/webhooks/delivery/")] == [True, False, False]


def test_a_service_is_removed_with_what_goes(panel: Panel, service: FulfillmentService) -> None:
    row = make_fulfillment_order(service)
    remove = "fulfillment_fulfillmentservice_delete"
    heir = make_location(service.shop, name="Heir")

    html = panel.get(remove, service.pk).content.decode()
    nowhere = panel.forge(remove, service.pk, inventory_action="delete", location=service.location_id)
    fulfillment_service_count = FulfillmentService.objects.count()
    panel.forge(remove, service.pk, inventory_action="delete", location=heir.pk)

    assert "Unfinished fulfillment orders" in html
    assert (nowhere.status_code, fulfillment_service_count) == (200, 1)
    assert not FulfillmentService.objects.exists()
    assert FulfillmentOrder.objects.get(status="open").assigned_location == heir
    assert FulfillmentOrder.objects.get(pk=row.pk).status == "closed"
    assert not Location.objects.filter(pk=service.location_id, active=True).exists()


def test_a_fulfillment_order_on_hold_is_not_offered_another_hold(panel: Panel, row: FulfillmentOrder) -> None:
    before = panel.get(ORDER, row.order_id).content.decode()
    panel.forge(
        ACT, row.pk, "hold", reason="other", **build_unit_fields(row, *(line.quantity for line in row.lines.all()))
    )

    on_hold = panel.get(ORDER, row.order_id).content.decode()

    assert ("Hold fulfillment…" in before, "Release hold…" in before) == (True, False)
    assert ("Hold fulfillment…" in on_hold, "Release hold…" in on_hold) == (False, True)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "is not assigned to a location yet"),
        ({"status": "closed", "closed_at": timezone.now()}, "The order is closed. Reopen it to fulfill its items."),
    ],
)
def test_an_order_without_fulfillment_orders_says_why(
    panel: Panel, in_shop: Shop, values: dict[str, object], text: str
) -> None:
    order = make_order(in_shop)
    Order.objects.filter(pk=order.pk).update(**values)

    page = " ".join(panel.get(ORDER, order.pk).content.decode().split())

    assert text in page
    assert ("is not assigned to a location yet" in page) is (values == {})


def test_a_canceled_order_shows_removed_totals_and_no_empty_sections(panel: Panel, in_shop: Shop) -> None:
    order = make_order(in_shop)
    line = order.line_items.get()
    cancel_order(order, actor="system", at=order.created_at)

    page = " ".join(panel.get(ORDER, order.pk).content.decode().split())

    assert f'<s class="bo-subtle">{line.net_price:.2f} USD</s> <br> 0.00 USD' in page
    assert not any(f'id="{section}"' in page for section in ("fulfillment", "documents"))


def test_an_order_with_nothing_to_fulfill_does_not_wait_for_a_location(panel: Panel, in_shop: Shop) -> None:
    order = make_order(in_shop)
    order.line_items.update(fulfillable_quantity=0)

    page = panel.get(ORDER, order.pk).content.decode()

    assert "No items have to be fulfilled." in page
    assert "is not assigned to a location yet" not in page
