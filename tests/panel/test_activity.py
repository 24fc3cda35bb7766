"""Tests of acts: the audit log and the home page show one row for each request or job."""

import re
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
import uuid6
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.audit_log.admin import act_list
from apps.core.events import acts
from apps.core.events.models import Event
from apps.core.events.recording import record_event
from apps.core.tenancy.models import Membership, Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_customer
from tests.support.factories.fulfillment import make_fulfillment, make_fulfillment_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.services import is_postgres

pytestmark = pytest.mark.usefixtures("in_shop")

LOG, ENTRY = "events_event_changelist", "events_event_change"


def make_act(shop: Shop, *topics: str, actor: str = "app:7", **values: Any) -> list[Event]:
    """Create the events of one act, each about its own order."""
    group = uuid6.uuid7()
    defaults = {"shop": shop, "subject_type": "orders.order", "group": group, "created_at": timezone.now()}
    return [
        Event.objects.create(**{**defaults, "topic": topic, "actor": actor, "subject_id": n, **values})
        for n, topic in enumerate(topics, 1)
    ]


def get_rows(panel: Panel, **query: str) -> list[str]:
    return [row.topic for row in panel.get(LOG, **query).context["cl"].result_list]


def get_cells(panel: Panel, **query: str) -> list[str]:
    text = " ".join(panel.get(LOG, **query).content.decode().split())
    return [
        " ".join(re.sub("<[^>]+>", " ", row).split()).replace(" ,", ",")
        for row in re.findall('<tr class="data-row">(.*?)</tr>', text)
    ]


def test_a_request_is_one_row_with_names_instead_of_ids(api: ApiClient, owner_client: Panel) -> None:
    variants = [{"option1": size, "sku": f"TEE-{size}"} for size in ("S", "M", "L")]
    body = {"title": "Tee", "options": [{"name": "Size"}], "variants": variants}
    product = api.post("products.json", {"product": body}).json()["product"]
    act = Event.objects.filter(group=Event.objects.filter(topic="products/create").latest("id").group)

    (row, *_others) = get_cells(owner_client)
    lead = act.get(topic="products/create")
    page = owner_client.get(ENTRY, lead.pk)
    entries = {(entry.text, entry.subject.name, entry.subject.url) for entry in page.context["others"]}

    assert act.count() > 4
    assert f"{api.installation.app.name} (app) Product created + {act.count() - 1} other changes Tee" in row
    link = owner_client.url("catalog_product_change", product["id"])
    assert f'href="{link}"' in owner_client.get(LOG).content.decode()
    assert ("Inventory item created", "Tee · S (TEE-S)", link) in entries
    assert {name for _text, name, url in entries} == {f"Tee · {size} (TEE-{size})" for size in "SML"} | {
        f"Tee · {size} (TEE-{size}) at {place}" for size in "SML" for place in get_places(act)
    }


def get_places(rows: Any) -> set[str]:
    from apps.inventory.models import InventoryLevel

    ids = rows.filter(subject_type="inventory.inventorylevel").values_list("subject_id", flat=True)
    return set(InventoryLevel.objects.filter(pk__in=list(ids)).values_list("location__name", flat=True))


def test_the_system_is_hidden_until_a_filter_shows_it(owner_client: Panel) -> None:
    Shop.objects.get()
    make_act(owner_client.shop, "orders/create", actor="staff:7")
    make_act(owner_client.shop, "fulfillment_orders/moved", actor="system")
    mixed = make_act(owner_client.shop, "orders/paid", actor="system")
    app = make_act(owner_client.shop, "orders/cancelled", group=mixed[0].group)

    everything = {"orders/create", "fulfillment_orders/moved", "orders/cancelled"}
    assert set(get_rows(owner_client)) & (everything | {"orders/paid"}) == everything - {"fulfillment_orders/moved"}
    assert everything <= set(get_rows(owner_client, view="all"))
    assert "orders/create" not in get_rows(owner_client, who="system")
    assert "fulfillment_orders/moved" in get_rows(owner_client, who="system")
    # The act's leading event is an event of the app, although Backoffice recorded an event first.
    assert owner_client.get(LOG).context["cl"].result_list[0].pk == app[0].pk
    assert "All, including Backoffice" in owner_client.get(LOG).content.decode()


def test_an_order_leads_the_events_of_its_fulfillment_orders(owner_client: Panel) -> None:
    make_act(owner_client.shop, "fulfillment_orders/cancelled", "orders/updated", "orders/cancelled")
    make_act(owner_client.shop, "orders/updated", "fulfillment_orders/moved")

    assert get_rows(owner_client)[:2] == ["fulfillment_orders/moved", "orders/cancelled"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"who": "app:8"}, ["products/create"]),
        ({"who": "app:"}, ["products/create", "orders/create"]),
        ({"who": "staff:5"}, ["orders/cancelled"]),
        ({"type": "catalog.product"}, ["products/create"]),
        ({"object": "orders.order:1", "view": "all"}, ["orders/cancelled", "orders/create"]),
        ({"object": "orders.order:2"}, ["orders/create"]),
        ({"topic": "orders/create"}, ["orders/create"]),
        ({"q": "no such label"}, []),
        ({"object": "no object"}, []),
    ],
)
def test_acts_are_filtered(owner_client: Panel, query: dict[str, str], expected: list[str]) -> None:
    make_act(owner_client.shop, "orders/create", "orders/updated")
    make_act(owner_client.shop, "products/create", actor="app:8", subject_type="catalog.product")
    make_act(owner_client.shop, "orders/cancelled", actor="staff:5")

    found = get_rows(owner_client, **query)

    assert [topic for topic in found if topic in {"orders/create", "products/create", "orders/cancelled"}] == expected


def test_changes_show_old_and_new_values(owner_client: Panel) -> None:
    customer = make_customer(first_name="Ada", last_name="Byron")
    changes = {"note": ["old", "new"], "state": ["disabled", "enabled"]}
    record_event("customers/update", customer, actor="staff:5", at=timezone.now(), changes=changes)

    (row, *_others) = get_cells(owner_client)

    assert row.endswith("Customer changed Ada Byron Note: old → new State: No account → Active account")


def test_long_values_and_further_changes_are_folded(owner_client: Panel) -> None:
    customer = make_customer(first_name="Ada", last_name="Byron")
    changes = {name: ["old", "new"] for name in ("first_name", "last_name", "phone", "note")}
    changes |= {"email": ["", "word " * 60]}
    record_event("customers/update", customer, actor="staff:5", at=timezone.now(), changes=changes)

    (row, *_others) = get_cells(owner_client)
    entry = " ".join(owner_client.get(ENTRY, Event.rows().latest("id").pk).content.decode().split())

    assert "Email: word word" in row
    assert row.endswith("First name: old → new Last name: old → new Note, Phone")
    assert f"Show less</span></summary> {'word ' * 60}" in entry


def test_values_of_codes_are_shown_as_labels(owner_client: Panel) -> None:
    order = make_fulfillment_order()
    permissions = {"view_only": [[], ["edit_orders", "products"]]}
    record_event("staff/update", Membership.objects.get(), actor="staff:5", at=timezone.now(), changes=permissions)
    changes = {"hold_reason": ["", "incorrect_address"]}
    record_event("fulfillment_orders/placed_on_hold", order, actor="staff:5", at=timezone.now(), changes=changes)
    changes = {"shipment_status": ["in_transit", "out_for_delivery"]}
    record_event("fulfillments/update", make_fulfillment(order), actor="staff:5", at=timezone.now(), changes=changes)

    (shipment, hold, staff, *_others) = get_cells(owner_client)

    assert shipment.endswith("Shipment status: In transit → Out for delivery")
    assert hold.endswith("Hold reason: Incorrect address")
    assert staff.endswith("View only: Fulfill, edit and cancel orders, Manage products, collections and inventory")


def test_users_only_see_names_and_links_that_they_may_see(
    owner_client: Panel, admin_client_with: PanelWith, other_shop: Shop
) -> None:
    customer = make_customer(first_name="Ada", last_name="Byron")
    record_event("customers/update", customer, actor="staff:5", at=timezone.now())
    row = make_fulfillment_order()
    record_event("fulfillment_orders/moved", row, actor="staff:5", at=timezone.now())
    with shop_scope(other_shop):
        foreign = make_customer(first_name="Bo", last_name="Other")
    make_act(owner_client.shop, "customers/update", subject_type="customers.customer", subject_id=foreign.pk)

    both = f"{row.order.name} – {row.assigned_location.name}"
    owner, viewer = (" ".join(get_cells(panel)) for panel in (owner_client, admin_client_with("staff_audit_log_view")))

    assert "Ada Byron" in owner
    assert both in owner
    assert "Bo Other" not in owner
    assert "Ada Byron" not in viewer
    assert f"Customer {customer.pk}" in viewer
    assert both not in viewer
    assert f"Fulfillment order #{row.pk}" in viewer


def test_pages_contain_each_act_once(owner_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acts, "WINDOW", 4)
    monkeypatch.setattr(acts, "MAX_EVENTS", 3)
    for number in range(60):
        make_act(owner_client.shop, *["orders/create", "orders/updated"] * (1 + number % 4))
    groups = set(acts.exclude_system(Event.objects.all()).values_list("group", flat=True))

    pages: list[list[uuid.UUID]] = []
    link: str = "?size=25"
    while link:
        listed = owner_client.http.get(owner_client.url(LOG) + link).context["cl"]
        pages.append([event.group for event in listed.result_list])
        link = listed.older_url
        make_act(owner_client.shop, "orders/create")

    shown = [group for page in pages for group in page]
    assert sorted(shown, reverse=True) == shown
    assert set(shown) == groups
    assert len(shown) == len(groups)
    assert "more than 2 other changes" in owner_client.get(LOG, size="100").content.decode()
    assert owner_client.get(LOG, p="no page").status_code == 200


def count_queries(panel: Panel, name: str, *args: object) -> int:
    panel.get(name, *args)
    with CaptureQueriesContext(connection) as queries:
        panel.get(name, *args)
    return len(queries)


@pytest.mark.parametrize("name", [LOG, "index"])
def test_lists_cost_the_same_however_many_acts_and_events_there_are(owner_client: Panel, name: str) -> None:
    make_act(owner_client.shop, "orders/create")
    few = count_queries(owner_client, name)
    events: Sequence[Event] = make_act(owner_client.shop, *["orders/create"] * 3)
    big = [
        Event(**{**values, "id": None, "key": uuid6.uuid7()})
        for values in Event.objects.filter(pk=events[0].pk).values()
        for _ in range(300)
    ]
    Event.objects.bulk_create(big)
    for _ in range(5):
        make_act(owner_client.shop, "orders/create")

    assert count_queries(owner_client, name) == few


def test_the_home_page_shows_what_staff_and_apps_did(api: ApiClient, owner_client: Panel) -> None:
    app = api.installation.app
    make_act(owner_client.shop, "orders/create", "order_transactions/create", actor=f"app:{app.pk}")
    make_act(owner_client.shop, "fulfillment_orders/order_routing_complete", actor="system")

    page = owner_client.get()
    first = page.context["recent"][0]

    assert (first.lead.text, first.lead.actor_name, first.more) == (
        "Order placed",
        f"{app.name} (app)",
        "1 other change",
    )
    assert "Fulfillment order created" not in page.content.decode()
    assert f'href="{owner_client.url(LOG)}?view=all"' in page.content.decode()


def test_an_entry_shows_the_other_events_of_its_act(owner_client: Panel, other_shop: Shop) -> None:
    first, second = make_act(owner_client.shop, "orders/create", "orders/paid")
    factories.make_installation(other_shop)
    Event.objects.create(
        **{**Event.objects.filter(pk=first.pk).values()[0], "id": None, "key": uuid.uuid4(), "shop_id": other_shop.pk}
    )

    page = owner_client.get(ENTRY, second.pk)

    assert [entry.event.pk for entry in page.context["others"]] == [first.pk]
    assert f"object=orders.order%3A{second.subject_id}" in page.content.decode()


@pytest.mark.parametrize("query", [{"topic": "orders/create"}, {"object": "orders.order:1"}, {"q": "#1"}])
def test_the_newest_matches_are_those_of_staff_and_apps(
    owner_client: Panel, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr(act_list, "MAX_COUNTED_ROWS", 2)
    (event,) = make_act(owner_client.shop, "orders/create", subject_label="#1")
    for _ in range(3):
        make_act(owner_client.shop, "orders/create", subject_label="#1", actor="system")

    with CaptureQueriesContext(connection) as queries:
        found = owner_client.get(LOG, **query).context["cl"].result_list

    assert [row.pk for row in found] == [event.pk]
    conditions = {condition for text in queries for condition in re.findall(r"NOT \((\S+) = 'system'\)", text["sql"])}
    assert conditions == {'"events_event"."actor"', 'U0."actor"'}


def test_acts_of_staff_and_apps_are_found_with_their_index(owner_client: Panel) -> None:
    make_act(owner_client.shop, "orders/create")
    rows = acts.exclude_system(Event.rows()).order_by("-group").values_list("group", "id")[: acts.WINDOW]
    if is_postgres():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")

    assert "events_event_acts_by_people" in rows.explain()


def test_the_log_is_filtered_by_days(owner_client: Panel, shop: Shop) -> None:
    for day in (3, 5, 7):
        at = datetime(2031, 5, day, 12, tzinfo=shop.tzinfo)
        group = uuid.UUID(int=int(at.timestamp() * 1000) << 80)
        make_act(shop, f"day-{day}", created_at=at, group=group)

    assert get_rows(owner_client, date_from="2031-05-05", date_to="2031-05-05") == ["day-5"]
    assert get_rows(owner_client, date_from="2031-05-04") == ["day-7", "day-5"]
    assert get_rows(owner_client, date_to="2031-05-03", view="all")[:1] == ["day-3"]
    assert get_rows(owner_client, date_from="x") == []
