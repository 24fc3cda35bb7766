"""Tests for polling fulfillment services for tracking numbers. Bad responses change nothing.

See check W13 in docs/reliability.md.
"""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.http.sync_client import CallbackResponse, send_request
from apps.core.jobs import queue
from apps.core.tenancy.models import Shop
from apps.fulfillment.domain import fulfillments, tracking
from apps.fulfillment.domain.services import polling
from apps.fulfillment.models import Fulfillment, FulfillmentService, Pull, PullAttempt
from tests.support.factories import make_installation
from tests.support.factories.fulfillment import make_fulfillment, make_fulfillment_order, make_service
from tests.support.servers.http import Server, send_response

USPS = "9361289878700317633795"


@pytest.fixture
def service(warehouse: Server, in_shop: Shop) -> FulfillmentService:
    app = make_installation(in_shop).app
    return make_service(app, name="Depot", callback_url=warehouse.url, tracking_support=True)


@pytest.fixture
def untracked_fulfillment(service: FulfillmentService) -> Fulfillment:
    """Create a fulfillment of two mugs by the service, without a tracking number."""
    return make_fulfillment(make_fulfillment_order(service, status="in_progress", request_status="accepted"))


def poll_service(service: FulfillmentService, warehouse: Server, body: object) -> PullAttempt | None:
    """Poll the service, let it respond with ``body``, and return the recorded attempt, if any."""
    warehouse.behave = send_response(body if isinstance(body, bytes) else json.dumps(body).encode())
    assert queue.run_job(polling.pull_now(service, Pull.Kind.TRACKING, at=timezone.now()).key)
    return PullAttempt.objects.order_by("-id").first()


def build_tracking_body(**numbers: object) -> dict[str, object]:
    return {"tracking_numbers": numbers, "success": True, "message": ""}


def test_carriers_are_recognized(
    service: FulfillmentService, warehouse: Server, untracked_fulfillment: Fulfillment
) -> None:
    record = poll_service(service, warehouse, build_tracking_body(**{untracked_fulfillment.name: USPS}))

    assert record is not None
    query = parse_qs(urlsplit(warehouse.requests[0].split(b" ")[1].decode()).query)
    assert query["order_names[]"] == [untracked_fulfillment.name]
    assert (record.outcome, record.changed, record.message) == ("ok", 1, "")
    untracked_fulfillment.refresh_from_db()
    assert (untracked_fulfillment.tracking_numbers, untracked_fulfillment.tracking_company) == ([USPS], "USPS")
    assert Event.objects.filter(topic="fulfillments/update", actor=f"app:{service.app_id}").count() == 1
    assert poll_service(service, warehouse, build_tracking_body()) == record, "nothing is left to ask for"
    assert len(warehouse.requests) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<h1>Welcome</h1>", "The response is not valid JSON"),
        ([], "The response is not a JSON object."),
        ({}, "tracking_numbers is not a JSON object."),
        ({"tracking_numbers": ["{name}"]}, "tracking_numbers is not a JSON object."),
        (
            {"tracking_numbers": {"{name}": "1"}, "success": False, "message": "Closed"},
            "reported no tracking numbers: 'Closed'",
        ),
        ({"tracking_numbers": {"{name}": "1"}, "success": "yes"}, "reported no tracking numbers"),
        ({"tracking_numbers": {"{name}": 17}}, "is not a text of 1 to 255 characters"),
        ({"tracking_numbers": {"{name}": " "}}, "is not a text of 1 to 255 characters"),
        ({"tracking_numbers": {"{name}": "1" * 256}}, "is not a text of 1 to 255 characters"),
        ({"tracking_numbers": {"{name}": "1\n2"}}, "is not a text of 1 to 255 characters"),
        ({"tracking_numbers": {"{name}": "1", "#1.1": None}}, "of '#1.1' is not a text of 1 to 255 characters"),
    ],
)
def test_a_bad_answer_changes_nothing(
    service: FulfillmentService, warehouse: Server, untracked_fulfillment: Fulfillment, body: object, message: str
) -> None:
    answered = (
        body if isinstance(body, bytes) else json.dumps(body).replace("{name}", untracked_fulfillment.name).encode()
    )

    record = poll_service(service, warehouse, answered)

    assert record is not None
    assert (record.outcome, record.changed) == ("bad_answer", 0)
    assert message in record.message
    untracked_fulfillment.refresh_from_db()
    assert untracked_fulfillment.tracking_numbers == []


def test_other_names_are_ignored(
    service: FulfillmentService, warehouse: Server, untracked_fulfillment: Fulfillment
) -> None:
    elsewhere = make_fulfillment(make_fulfillment_order())

    record = poll_service(
        service, warehouse, build_tracking_body(**{elsewhere.name: "1", untracked_fulfillment.name: "2", "#9.9": "3"})
    )

    assert record is not None
    assert (record.outcome, record.changed) == ("ok", 1)
    assert record.message == f"2 of the names were not requested: '{elsewhere.name}', '#9.9'."
    elsewhere.refresh_from_db()
    assert elsewhere.tracking_numbers == []


def test_canceled_fulfillments_are_skipped(
    service: FulfillmentService, warehouse: Server, untracked_fulfillment: Fulfillment
) -> None:
    fulfillments.cancel_fulfillment(untracked_fulfillment, actor="system", at=timezone.now())

    assert poll_service(service, warehouse, build_tracking_body(**{untracked_fulfillment.name: "1"})) is None
    assert warehouse.requests == []


def test_a_concurrently_stored_number_stays(
    service: FulfillmentService, warehouse: Server, untracked_fulfillment: Fulfillment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Store another tracking number before the response to the poll arrives."""

    def request_late(*values: Any, **options: Any) -> CallbackResponse:
        tracking.update_tracking(
            untracked_fulfillment, tracking.complete_tracking({"number": "pushed"}), actor="system", at=timezone.now()
        )
        return send_request(*values, **options)

    monkeypatch.setattr("apps.fulfillment.domain.services.polling.send_request", request_late)

    record = poll_service(service, warehouse, build_tracking_body(**{untracked_fulfillment.name: "pulled"}))

    assert record is not None
    assert (record.outcome, record.changed) == ("ok", 0)
    untracked_fulfillment.refresh_from_db()
    assert untracked_fulfillment.tracking_numbers == ["pushed"]
