import uuid
from datetime import UTC, datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.events.redaction import allow_redaction
from apps.core.events.topics import get_all_topics
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.fulfillment.admin.order_page import SENTENCES
from apps.fulfillment.domain import fulfillments, tracking
from apps.fulfillment.domain.fulfillment_orders import requests
from apps.fulfillment.models import FulfillmentOrder
from apps.orders.models import Order
from tests.support import factories
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_fulfillment_order, make_service
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import MUG, make_order
from tests.support.factories.refunds import refund_amount
from tests.support.panel.client import Panel, PanelWith

ACT, PARCEL, PAGE = "fulfillment_fulfillmentorder_act", "fulfillment_fulfillmentorder_parcel", "orders_order_change"


def get_timeline(panel: Panel, order_id: int) -> list[tuple[str, str]]:
    """Return the actor and text of each timeline entry, newest first, without entries about the order itself."""
    page = panel.get(PAGE, order_id)
    moments = page.context["timeline"]
    texts = [text for moment in moments for text in (moment.text, *moment.others)]
    assert all(text in page.content.decode().replace("&#x27;", "'") for text in texts)
    return [(moment.actor_name, moment.text) for moment in moments if not moment.text.startswith("Order ")]


def build_unit_fields(row: FulfillmentOrder, *counts: int) -> dict[str, int]:
    return {f"units-{line.pk}": count for line, count in zip(row.lines.order_by("pk"), counts, strict=True)}


def test_every_event_of_a_fulfillment_order_has_its_sentence() -> None:
    topics = {topic.name for topic in get_all_topics() if topic.name.startswith("fulfillment_orders/")}

    assert {f"fulfillment_orders/{name}" for name in SENTENCES} == topics


def test_actions_on_fulfillment_orders_show_the_staff_members_name(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order(lines=[MUG, {**MUG, "title": "Bowl"}])
    first, work = row.assigned_location.name, f"fulfillment order no. {row.pk}"
    depot = make_location(in_shop)

    reason = {"reason": "inventory_out_of_stock", "notes": "Back on Monday"}
    order_client.forge(ACT, row.pk, "hold", **reason, **build_unit_fields(row, 2, 0))
    other = FulfillmentOrder.objects.exclude(pk=row.pk).get()
    order_client.forge(ACT, row.pk, "release_hold")
    order_client.forge(ACT, row.pk, "set_fulfillment_deadline", fulfill_by="2031-03-02T12:00")
    order_client.forge(ACT, row.pk, "move", location=depot.pk, **build_unit_fields(row, 2))
    moved = FulfillmentOrder.objects.get(assigned_location=depot)
    order_client.forge(ACT, moved.pk, "cancel_fulfillment_order")

    me = str(order_client.user)
    assert get_timeline(order_client, row.order_id) == [
        (me, f"Fulfillment order no. {moved.pk} at {depot.name} was canceled."),
        (me, f"Items were moved from {first} to {depot.name}: fulfillment order no. {moved.pk}."),
        (me, f"{work.capitalize()} at {first} has to be fulfilled by 2 Mar 2031, 12:00."),
        (me, f"The hold on {work} at {first} was released."),
        (me, f"{work.capitalize()} at {first} was put on hold: Out of stock."),
        ("Backoffice", f"{work.capitalize()} was created at {first}."),
    ]
    # The split is part of the hold, so both are one entry.
    (hold,) = (
        moment for moment in order_client.get(PAGE, row.order_id).context["timeline"] if "put on hold" in moment.text
    )
    assert f"Some items of {work} at {first} were split off into fulfillment order no. {other.pk}." in hold.others


def test_responses_of_a_service_name_its_app(order_client: Panel, in_shop: Shop) -> None:
    app = factories.make_installation(in_shop, ()).app
    row = make_fulfillment_order(make_service(app, name="Far depot"))
    work = f"fulfillment order no. {row.pk}"
    by: Attrs = {"actor": f"app:{app.pk}", "at": timezone.now()}

    order_client.forge(ACT, row.pk, "request_fulfillment", **build_unit_fields(row, 2))
    requests.reject_request(row, message="Closed today", **by)
    order_client.forge(ACT, row.pk, "request_fulfillment", **build_unit_fields(row, 2))
    requests.accept_request(row, **by)
    order_client.forge(ACT, row.pk, "request_cancellation")
    requests.reject_cancellation(row, **by)
    row.refresh_from_db()
    order_client.forge(ACT, row.pk, "close", message="The depot burnt down")

    me, it = str(order_client.user), f"{app.name} (app)"
    entries = [
        (me, f"{work.capitalize()} at Far depot was marked as incomplete: “The depot burnt down”."),
        (it, f"Far depot rejected the cancellation of {work} and continues to fulfill it."),
        (me, f"Far depot was asked to cancel {work}."),
        (it, f"Far depot accepted the request to fulfill {work}."),
        (it, f"Far depot rejected the request to fulfill {work}."),
        *[(me, f"Far depot was asked to fulfill {work}.")] * 2,
        ("Backoffice", f"{work.capitalize()} was created at Far depot."),
    ]
    assert sorted(get_timeline(order_client, row.order_id)) == sorted(entries)


def test_scheduled_fulfillment_is_shown(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order(status="scheduled")
    name, work = row.assigned_location.name, f"fulfillment order no. {row.pk}"

    order_client.forge(ACT, row.pk, "reschedule", new_fulfill_at="2031-03-02T12:00")
    order_client.forge(ACT, row.pk, "mark_as_open")

    assert [text for _, text in get_timeline(order_client, row.order_id)][:2] == [
        f"{work.capitalize()} at {name} is ready to fulfill.",
        f"{work.capitalize()} at {name} was rescheduled for 2 Mar 2031, 12:00.",
    ]


def test_fulfillments_are_shown(order_client: Panel, in_shop: Shop) -> None:
    parcel = make_fulfillment()

    order_client.forge(PARCEL, parcel.pk, "event", status="in_transit", happened_at="2026-03-02T12:00")
    order_client.forge(PARCEL, parcel.pk, "tracking", numbers="A-1")
    order_client.forge("fulfillment_fulfillmentorder_remove_event", parcel.events.get().pk)
    order_client.forge(PARCEL, parcel.pk, "cancel")

    me = str(order_client.user)
    assert get_timeline(order_client, parcel.order_id)[:5] == [
        (me, f"{parcel} was canceled. The items are now unfulfilled."),
        (me, f"The latest tracking event of {parcel} was removed."),
        (me, f"The tracking information of {parcel} was updated."),
        (me, f"Shipment status of {parcel}: in transit."),
        ("Backoffice", f"{parcel} was fulfilled from {parcel.location}: 2 × Mug."),
    ]


def test_a_manual_refund_is_one_sentence_without_the_new_status(order_client: Panel, in_shop: Shop) -> None:
    order = make_order(in_shop, financial_status="paid")
    refund_amount(order, "5.00")

    page = order_client.get(PAGE, order.pk)
    newest = page.context["timeline"][0]

    assert order_client.get(PAGE, order.pk).context["original"].financial_status == "partially_refunded"
    assert (newest.text, newest.changes) == ("Refunded 5.00 USD manually", [])
    assert "5.00 USD · Manual payment" in page.content.decode()


def test_the_page_costs_the_same_statements_however_much_happened(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order(lines=[MUG])
    order_client.forge(ACT, row.pk, "set_fulfillment_deadline", fulfill_by="2031-03-02T12:00")
    parcel = make_fulfillment(row)
    make_event(parcel)
    order = Order.objects.get()
    order_client.get(PAGE, order.pk)

    with CaptureQueriesContext(connection) as queries:
        order_client.get(PAGE, order.pk)
    for _ in range(3):
        fulfillments.cancel_fulfillment(parcel, actor="system", at=timezone.now())
        row = FulfillmentOrder.objects.filter(order=order, status="open").get()
        order_client.forge(ACT, row.pk, "hold", reason="other", **build_unit_fields(row, 2))
        order_client.forge(ACT, row.pk, "release_hold")
        parcel = make_fulfillment(row)
        tracking.add_event(parcel, {"status": "delivered"}, actor="system", at=timezone.now())
    with CaptureQueriesContext(connection) as captured_queries:
        response = order_client.get(PAGE, order.pk)

    assert len(response.context["timeline"]) > 20
    assert len(captured_queries) == len(queries)


def test_the_timeline_shows_only_the_newest_entries(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    at = datetime(2026, 3, 2, tzinfo=UTC)
    hold: Attrs = {"topic": "fulfillment_orders/placed_on_hold", "subject_type": "fulfillment.fulfillmentorder"}
    about: Attrs = {"shop": in_shop, "subject_id": row.pk, "actor": "system", "created_at": at}
    Event.objects.bulk_create(Event(group=uuid.uuid4(), **hold, **about) for _ in range(250))

    assert len(order_client.get(PAGE, row.order_id).context["timeline"]) == 200


def test_other_orders_and_shops_are_not_shown(order_client: Panel, in_shop: Shop, other_shop: Shop) -> None:
    row, other = make_fulfillment_order(), make_fulfillment_order()
    with shop_scope(other_shop):
        foreign = make_fulfillment_order()

    moments = order_client.get(PAGE, row.order_id).context["timeline"]
    texts = " ".join(moment.text for moment in moments)

    assert [f"no. {shown.pk} " in texts for shown in (row, other, foreign)] == [True, False, False]


def test_fulfillment_entries_need_the_permission(admin_client_with: PanelWith, in_shop: Shop) -> None:
    parcel = make_fulfillment()

    moments = admin_client_with("refund_orders").get(PAGE, parcel.order_id).context["timeline"]

    assert not [moment for moment in moments if "ulfillment order no." in moment.text or "was fulfilled" in moment.text]


def test_events_that_lost_their_changes_say_less(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order()
    depot = make_location(in_shop)
    order_client.forge(ACT, row.pk, "move", location=depot.pk, **build_unit_fields(row, 2))
    moved = FulfillmentOrder.objects.get(assigned_location=depot)
    order_client.forge(ACT, moved.pk, "hold", reason="other", **build_unit_fields(moved, 2))
    with allow_redaction():
        Event.objects.filter(subject_type=moved._meta.label_lower, subject_id=moved.pk).update(changes={})

    work = f"fulfillment order no. {moved.pk}"
    assert [text for _, text in get_timeline(order_client, row.order_id)][:2] == [
        f"{work.capitalize()} at {depot.name} was put on hold.",
        f"Items were moved from another location to {depot.name}: {work}.",
    ]
