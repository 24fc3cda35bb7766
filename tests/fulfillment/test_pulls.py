import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.http.sync_client import CallbackResponse, send_request
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation, Shop
from apps.core.types import Attrs
from apps.demo.webhook_receiver import verify_signatures
from apps.fulfillment.domain import fulfillments, tracking
from apps.fulfillment.domain.services import changes, polling
from apps.fulfillment.models import Fulfillment, FulfillmentService, Pull, PullAttempt
from apps.inventory.domain import stock
from apps.inventory.models import InventoryItem, InventoryLevel, Location
from apps.shops.domain import app_installation
from apps.webhooks.domain.engine.retry_policy import RETRY_SECONDS
from tests.support.factories import make_installation
from tests.support.factories.fulfillment import make_fulfillment, make_fulfillment_order, make_service
from tests.support.factories.inventory import get_available, get_first_location, get_ledger, make_item, set_stock
from tests.support.factories.orders import make_variant
from tests.support.servers.http import Server, send_repeatedly, send_response

BY: Attrs = {"actor": "system", "at": timezone.now()}


@pytest.fixture
def warehouse(allow_loopback: None) -> Iterator[Server]:
    server = Server(send_response(b"{}"))
    yield server
    server.close()


@pytest.fixture
def installation(in_shop: Shop) -> Installation:
    return make_installation(in_shop)


@pytest.fixture
def service(warehouse: Server, installation: Installation) -> FulfillmentService:
    return make_service(installation.app, name="Depot", callback_url=warehouse.url, inventory_management=True)


@pytest.fixture
def mug(in_shop: Shop, service: FulfillmentService) -> InventoryItem:
    item = make_item(in_shop, sku="MUG")
    set_stock(item, service.location, 7)
    return item


def set_response(warehouse: Server, body: object) -> None:
    warehouse.behave = send_response(body if isinstance(body, bytes) else json.dumps(body).encode())


def poll_service(service: FulfillmentService, **options: Any) -> PullAttempt:
    assert queue.run_job(polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now(), **options).key)
    assert Job.objects.filter(task=polling.PULL_TASK, state=Job.State.FAILED).count() == 0
    return PullAttempt.objects.order_by("-id")[0]


def test_requested_stock_is_set(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, in_shop: Shop
) -> None:
    set_response(warehouse, {"MUG": 12})

    record = poll_service(service)

    head, _, body = warehouse.requests[0].partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = dict(pair.split(": ", 1) for pair in lines)
    method, target, _ = line.split(" ")
    query = parse_qs(urlsplit(target).query)
    assert (method, urlsplit(target).path, body) == ("GET", "/fetch_stock", b"")
    assert abs(int(query.pop("timestamp")[0]) - time.time()) < 60
    assert query == {"shop": [in_shop.domain]}
    signed = verify_signatures(headers, b"", [service.app.api_secret])
    assert signed == {"X-Hmac-Sha256": True, "webhook-signature": True}
    assert headers["X-Platform-Topic"] == "fetch_stock"
    assert (get_available(mug, service.location), get_ledger(mug, service.location)[-1]) == (12, (5, 12, "service"))
    assert (record.outcome, record.status, record.changed, record.message) == ("ok", 200, 1, "")
    assert record.excerpt == '{"MUG": 12}'
    assert record.url.startswith(f"{warehouse.url}fetch_stock?shop=")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The response is not a JSON object."),
        (b"<!doctype html><h1>Welcome</h1>", "The response is not valid JSON: "),
        (b'{"MUG": 12', "The response is not valid JSON: "),
        (b'{"MUG": 12, "MUG": 13}', "a key occurs twice"),
        (b'{"MUG": 1e400}', "The quantity of 'MUG' is not a whole number."),
        (b'{"MUG": NaN}', "NaN is not a number"),
        (b'{"MUG": 12.5}', "not a whole number"),
        (b"[" * 100 + b"]" * 100, "nested deeper than 32"),
        (b'{"MUG": 1, "\\u0000": 2}', "The response is not valid JSON"),
        (b"\xff\xfe", "The response is not valid JSON"),
        ([{"MUG": 12}], "The response is not a JSON object."),
        ({"MUG": 12, "JUG": -1}, "The quantity of 'JUG' is not between 0 and 1000000000."),
        ({"MUG": 12, "JUG": 10**9 + 1}, "The quantity of 'JUG' is not between 0 and 1000000000."),
        ({"MUG": 10**40}, "is not between"),
        ({"MUG": "9" * 5000}, "not a whole number"),
        ({"MUG": "12 pieces"}, "not a whole number"),
        ({"MUG": True}, "not a whole number"),
        ({"MUG": None}, "not a whole number"),
        ({"MUG": {"available": 12}}, "not a whole number"),
    ],
)
def test_a_bad_answer_changes_nothing_and_the_next_one_is_taken(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, body: object, message: str
) -> None:
    set_response(warehouse, body)
    event_count = Event.objects.count()

    record = poll_service(service)

    assert (record.outcome, record.changed) == ("bad_answer", 0)
    assert message in record.message
    assert (get_available(mug, service.location), Event.objects.count()) == (7, event_count)
    assert not Job.objects.filter(state=Job.State.WAITING).exists()
    set_response(warehouse, {"MUG": 12})
    assert (poll_service(service).outcome, get_available(mug, service.location)) == ("ok", 12)


def test_an_answer_without_end_is_cut(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b'HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n{"MUG": 12'
    warehouse.behave = send_repeatedly(head, b" " * 65536)

    record = poll_service(service)

    assert (record.outcome, record.message) == ("bad_answer", f"The response is longer than {4 * 1024 * 1024} bytes.")
    assert len(record.excerpt) <= 4096
    assert get_available(mug, service.location) == 7


def test_other_skus_are_ignored(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, in_shop: Shop, other_shop: Shop
) -> None:
    mine = make_item(in_shop, sku="BOWL")
    foreign = make_item(other_shop, sku="JUG")
    with_blank = make_item(in_shop, sku="")
    set_stock(with_blank, service.location, 3)
    set_response(warehouse, {"MUG": 12, "JUG": 50, "BOWL": 60, "": 70, "x" * 300: 80})

    record = poll_service(service)

    assert (record.outcome, record.changed, get_available(mug, service.location)) == ("ok", 1, 12)
    assert record.message.startswith("4 of the SKUs are not stocked with this service: '', 'BOWL', 'JUG', 'xxx")
    assert get_available(with_blank, service.location) == 3
    assert not InventoryLevel.objects.filter(item=mine, location=service.location).exists()
    assert InventoryItem.objects.filter(sku="JUG").count() == 0
    assert foreign.sku == "JUG"


def test_items_of_the_services_variants_are_connected(
    service: FulfillmentService, warehouse: Server, in_shop: Shop
) -> None:
    variant = make_variant(in_shop, sku="PAN", stock=0, fulfillment_service=service.handle)
    set_response(warehouse, {"PAN": "4"})

    assert poll_service(service).changed == 1

    assert get_available(variant.inventory_item, service.location) == 4
    assert get_available(variant.inventory_item, get_first_location(in_shop)) == 0
    variant.refresh_from_db()
    assert variant.inventory_quantity == 4


def test_an_excluded_item_is_named(installation: Installation, warehouse: Server, in_shop: Shop) -> None:
    alone = make_service(
        installation.app, callback_url=warehouse.url, inventory_management=True, permits_sku_sharing=False
    )
    make_variant(in_shop, sku="PAN", stock=0, fulfillment_service=alone.handle)
    set_response(warehouse, {"PAN": 4})

    record = poll_service(alone)

    assert (record.outcome, record.changed) == ("ok", 0)
    assert record.message == "1 of the SKUs are stocked at a location that does not share its items: 'PAN'."


def test_a_single_sku_can_be_requested(service: FulfillmentService, warehouse: Server, mug: InventoryItem) -> None:
    jug = make_item(Shop.objects.get(), sku="JUG")
    set_stock(jug, service.location, 1)
    set_response(warehouse, {"MUG": 12, "JUG": 13})

    record = poll_service(service, sku="MUG")

    assert record.url.endswith("&sku=MUG")
    assert (get_available(mug, service.location), get_available(jug, service.location)) == (12, 1)


def test_many_skus_are_set(
    service: FulfillmentService, warehouse: Server, in_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.fulfillment.domain.services.responses._BATCH", 2)
    items = [make_item(in_shop, sku=f"MUG-{number}") for number in range(5)]
    for item in items:
        set_stock(item, service.location, 1)
    set_response(warehouse, {item.sku: number for number, item in enumerate(items)})

    assert poll_service(service).changed == 4

    assert [get_available(item, service.location) for item in items] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("behavior", "ended"),
    [
        (send_response(b"no", status="500 Oops"), ("status", 500)),
        (send_response(b"", "Location: http://169.254.169.254/latest/", status="302 Found"), ("status", 302)),
        (send_response(b"", status="404 Not Found"), ("status", 404)),
        (lambda connection: None, ("bad_answer", None)),
    ],
)
def test_a_failure_is_tried_again_by_the_schedule_of_webhooks(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, behavior: Any, ended: object
) -> None:
    warehouse.behave = behavior
    before = timezone.now()
    Pull.objects.update(next_at=before + timedelta(hours=1))

    record = poll_service(service)

    assert ((record.outcome, record.status), record.number) == (ended, 1)
    second_job = Job.objects.get(task=polling.PULL_TASK, state=Job.State.WAITING)
    waits = (second_job.due_at - before).total_seconds()
    assert RETRY_SECONDS[0] * 0.8 <= waits <= RETRY_SECONDS[0] * 1.2 + 5
    set_response(warehouse, {"MUG": 12})
    Job.objects.filter(pk=second_job.pk).update(due_at=before)
    assert queue.run_job(second_job.key)
    assert get_available(mug, service.location) == 12
    assert PullAttempt.objects.order_by("-id")[0].number == 2
    assert len(warehouse.requests) == 2


def test_attempts_end_at_the_next_round(service: FulfillmentService, warehouse: Server, mug: InventoryItem) -> None:
    warehouse.behave = send_response(b"", status="500 Oops")
    Pull.objects.update(next_at=timezone.now() + timedelta(seconds=5))

    poll_service(service)

    assert not Job.objects.filter(state=Job.State.WAITING).exists()


def test_private_urls_are_not_called(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, settings: Settings
) -> None:
    settings.OUTGOING_ALLOW = []

    record = poll_service(service)

    assert (record.outcome, record.message, warehouse.requests) == ("blocked_address", "address not allowed", [])
    assert get_available(mug, service.location) == 7


def test_services_are_polled_hourly(service: FulfillmentService, installation: Installation, warehouse: Server) -> None:
    make_service(installation.app, callback_url=warehouse.url)
    now = timezone.now() + timedelta(seconds=1)

    begun = [polling.begin_due_rounds(now + timedelta(minutes=minutes)) for minutes in (0, 0, 59, 61)]
    assert begun == [1, 0, 0, 1]

    first, second = Job.objects.filter(task=polling.PULL_TASK).order_by("id")
    assert queue.run_job(first.key)
    assert not warehouse.requests, "a round that another one follows asks nobody"
    app_installation.uninstall_app(installation, actor="system", at=now)
    assert queue.run_job(second.key)
    assert polling.begin_due_rounds(now + timedelta(hours=5)) == 0
    assert (warehouse.requests, PullAttempt.objects.count()) == ([], 0)


def test_a_round_planned_by_a_fast_clock_is_not_late(service: FulfillmentService) -> None:
    make_service(service.app)
    now = timezone.now()

    begun = [polling.begin_due_rounds(now + timedelta(minutes=minutes)) for minutes in (60, 0, 1, 61)]

    assert begun == [1, 1, 0, 1]


def test_late_responses_are_ignored(
    service: FulfillmentService, warehouse: Server, mug: InventoryItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_response(warehouse, {"MUG": 12})

    def request_late(*values: Any, **options: Any) -> CallbackResponse:
        Pull.objects.update(round=F("round") + 1)
        return send_request(*values, **options)

    monkeypatch.setattr("apps.fulfillment.domain.services.polling.send_request", request_late)
    assert queue.run_job(polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key)

    assert (get_available(mug, service.location), PullAttempt.objects.count()) == (7, 0)


def test_a_service_is_asked_for_what_it_says_it_reports(service: FulfillmentService, in_shop: Shop) -> None:
    def get_kinds() -> list[str]:
        return sorted(Pull.objects.filter(service=service).values_list("kind", flat=True))

    assert get_kinds() == ["stock"]
    changes.change_service(service, {"inventory_management": False, "tracking_support": True}, **BY)
    assert get_kinds() == ["tracking"]
    with pytest.raises(polling.PullNotSupported, match="does not report inventory"):
        polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now())
    changes.delete_service(service, **BY)
    assert not Pull.objects.exists()


def test_inactive_locations_ignore_reports(service: FulfillmentService, warehouse: Server, in_shop: Shop) -> None:
    item = make_item(in_shop, sku="MUG")
    stock.connect_item(item, service.location, **BY)
    Location.objects.filter(pk=service.location_id).update(active=False)
    set_response(warehouse, {"MUG": 12})

    record = poll_service(service)

    assert (record.outcome, record.message) == ("bad_answer", "location_id is not active")
    assert get_available(item, service.location) == 0


def test_attempts_are_deleted_after_30_days(service: FulfillmentService, warehouse: Server, mug: InventoryItem) -> None:
    old, young = poll_service(service), poll_service(service)
    PullAttempt.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))

    assert polling.delete_old_attempts(timezone.now()) == 1

    assert [*PullAttempt.objects.all()] == [young]


# --- tracking numbers ---

USPS = "9361289878700317633795"
NO_NUMBER = "is not a text of 1 to 255 characters"


@pytest.fixture
def tracking_service(warehouse: Server, in_shop: Shop) -> FulfillmentService:
    app = make_installation(in_shop).app
    return make_service(app, name="Depot", callback_url=warehouse.url, tracking_support=True)


@pytest.fixture
def parcel(tracking_service: FulfillmentService) -> Fulfillment:
    return make_fulfillment(make_fulfillment_order(tracking_service, status="in_progress", request_status="accepted"))


def poll_tracking(service: FulfillmentService, warehouse: Server, body: object) -> PullAttempt | None:
    """Poll the service, let it respond with ``body``, and return the recorded attempt, if any."""
    set_response(warehouse, body)
    assert queue.run_job(polling.pull_now(service, Pull.Kind.TRACKING, at=timezone.now()).key)
    return PullAttempt.objects.order_by("-id").first()


def build_tracking_body(**numbers: object) -> dict[str, object]:
    return {"tracking_numbers": numbers, "success": True, "message": ""}


def test_carriers_are_recognized(tracking_service: FulfillmentService, warehouse: Server, parcel: Fulfillment) -> None:
    record = poll_tracking(tracking_service, warehouse, build_tracking_body(**{parcel.name: USPS}))

    assert record is not None
    query = parse_qs(urlsplit(warehouse.requests[0].split(b" ")[1].decode()).query)
    assert query["order_names[]"] == [parcel.name]
    assert (record.outcome, record.changed, record.message) == ("ok", 1, "")
    parcel.refresh_from_db()
    assert (parcel.tracking_numbers, parcel.tracking_company) == ([USPS], "USPS")
    assert Event.objects.filter(topic="fulfillments/update", actor=f"app:{tracking_service.app_id}").count() == 1
    assert poll_tracking(tracking_service, warehouse, build_tracking_body()) == record, "nothing is left to ask for"
    assert len(warehouse.requests) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<h1>Welcome</h1>", "The response is not valid JSON"),
        ([], "The response is not a JSON object."),
        ({}, "tracking_numbers is not a JSON object."),
        ({"tracking_numbers": ["{name}"]}, "tracking_numbers is not a JSON object."),
        ({"tracking_numbers": {"{name}": "1"}, "success": False, "message": "Closed"}, "no tracking numbers: 'Closed'"),
        ({"tracking_numbers": {"{name}": "1"}, "success": "yes"}, "reported no tracking numbers"),
        *(({"tracking_numbers": {"{name}": bad}}, NO_NUMBER) for bad in (17, " ", "1" * 256, "1\n2")),
        ({"tracking_numbers": {"{name}": "1", "#1.1": None}}, "of '#1.1' is not a text of 1 to 255 characters"),
    ],
)
def test_a_bad_answer_changes_nothing(
    tracking_service: FulfillmentService, warehouse: Server, parcel: Fulfillment, body: object, message: str
) -> None:
    answer = body if isinstance(body, bytes) else json.dumps(body).replace("{name}", parcel.name).encode()

    record = poll_tracking(tracking_service, warehouse, answer)

    assert record is not None
    assert (record.outcome, record.changed) == ("bad_answer", 0)
    assert message in record.message
    parcel.refresh_from_db()
    assert parcel.tracking_numbers == []


def test_other_names_are_ignored(tracking_service: FulfillmentService, warehouse: Server, parcel: Fulfillment) -> None:
    elsewhere = make_fulfillment(make_fulfillment_order())

    numbers = build_tracking_body(**{elsewhere.name: "1", parcel.name: "2", "#9.9": "3"})
    record = poll_tracking(tracking_service, warehouse, numbers)

    assert record is not None
    assert (record.outcome, record.changed) == ("ok", 1)
    assert record.message == f"2 of the names were not requested: '{elsewhere.name}', '#9.9'."
    elsewhere.refresh_from_db()
    assert elsewhere.tracking_numbers == []


def test_canceled_fulfillments_are_skipped(
    tracking_service: FulfillmentService, warehouse: Server, parcel: Fulfillment
) -> None:
    fulfillments.cancel_fulfillment(parcel, **BY)

    assert poll_tracking(tracking_service, warehouse, build_tracking_body(**{parcel.name: "1"})) is None
    assert warehouse.requests == []


def test_a_concurrently_stored_number_stays(
    tracking_service: FulfillmentService, warehouse: Server, parcel: Fulfillment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def request_late(*values: Any, **options: Any) -> CallbackResponse:
        tracking.update_tracking(parcel, tracking.complete_tracking({"number": "pushed"}), **BY)
        return send_request(*values, **options)

    monkeypatch.setattr("apps.fulfillment.domain.services.polling.send_request", request_late)

    record = poll_tracking(tracking_service, warehouse, build_tracking_body(**{parcel.name: "pulled"}))

    assert record is not None
    assert (record.outcome, record.changed) == ("ok", 0)
    parcel.refresh_from_db()
    assert parcel.tracking_numbers == ["pushed"]
