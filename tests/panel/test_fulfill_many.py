import html as html_module
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.admin import fulfillment_queue
from apps.fulfillment.domain import fulfillments
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.orders.models import Order
from tests.support import factories
from tests.support.factories.fulfillment import make_fulfillment_order, make_service, set_status
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

PAGE, LIST = "fulfillment_fulfillmentorder_fulfill_many", "fulfillment_fulfillmentorder_changelist"
UPS = "1Z5R89390357567127"


def submit(panel: Panel, rows: list[FulfillmentOrder], **data: object) -> dict[str, str]:
    """Submit the form and return the texts of the outcomes, keyed by order name or line."""
    url = f"{panel.url(PAGE)}?ids={','.join(str(row.pk) for row in rows)}"
    response = panel.http.post(url, data)
    assert response.status_code == 200
    html = html_module.unescape(response.content.decode())
    outcomes = response.context["outcomes"]
    assert [outcome.text for outcome in outcomes if outcome.text not in html] == []
    return {outcome.name: outcome.text for outcome in outcomes}


def list_numbers() -> dict[str, list[str]]:
    return {str(row.order): row.tracking_numbers for row in Fulfillment.rows().select_related("order")}


def test_the_action_opens_the_page_with_the_selected_orders(order_client: Panel) -> None:
    rows = [make_fulfillment_order() for _ in range(2)]

    response = order_client.forge(LIST, action="fulfill_many", _selected_action=[row.pk for row in rows])
    page = order_client.http.get(response.headers["Location"]).content.decode()

    assert all(f'name="number-{row.pk}"' in page and str(row.order) in page for row in rows)
    assert order_client.http.get(order_client.url(PAGE)).headers["Location"] == order_client.url(LIST)


def test_the_order_list_opens_the_page_with_the_reasons_of_skipped_orders(order_client: Panel) -> None:
    row, held, done = (make_fulfillment_order() for _ in range(3))
    set_status(held, "on_hold", "unsubmitted")
    fulfillments.create_fulfillment([FulfillmentPart(done)], actor="system", at=timezone.now())
    empty = make_order(lines=[{"title": "Advice", "price": Decimal("5.00"), "quantity": 1, "requires_shipping": False}])
    canceled, imported = make_order(), make_order(fulfillment_status="fulfilled")
    Order.objects.filter(pk=canceled.pk).update(status="cancelled", cancelled_at=timezone.now())
    FulfillmentOrder.objects.filter(order__in=[empty, canceled, imported]).delete()
    orders = [row.order, held.order, done.order, empty, imported]

    response = order_client.forge(
        "orders_order_changelist", action="fulfill_orders", _selected_action=[order.pk for order in orders]
    )
    # The list of open orders does not offer canceled orders.
    address = response.headers["Location"].replace("orders=", f"orders={canceled.pk}%2C")
    page = order_client.http.get(address)
    result = order_client.http.post(address, {"without_number": "on"})

    assert page.context["heading_link"] == order_client.url("orders_order_changelist")
    html = " ".join(page.content.decode().split())
    assert f'href="{order_client.url("orders_order_changelist")}" data-icon="orders" class="active"' in html
    assert "2 × Mug</span>" in html
    reasons = [
        (held.order.name, "Not fulfilled, because there is nothing to fulfill now. Status: on hold."),
        (done.order.name, f"Already fulfilled as {done.order}.1."),
        (empty.name, "Not fulfilled, because the order has no items to fulfill."),
        (canceled.name, "The order is canceled."),
        (imported.name, "All items are already fulfilled."),
    ]
    assert [(order.name, reason) for order, reason in page.context["skipped"]] == reasons
    assert page.context["form"]["without_number"].value() is True
    assert f'name="number-{row.pk}"' in page.content.decode()
    outcomes = [(outcome.name, outcome.text) for outcome in result.context["outcomes"]]
    assert sorted(outcomes) == sorted([(row.order.name, f"Fulfilled as {row.order}.1."), *reasons])


def test_staff_without_the_permission_cannot_fulfill_from_the_order_list(admin_client_with: PanelWith) -> None:
    row, clerk = make_fulfillment_order(), admin_client_with("orders")

    clerk.forge("orders_order_changelist", action="fulfill_orders", _selected_action=[row.order_id])

    assert clerk.http.get(f"{clerk.url(PAGE)}?orders={row.order_id}").status_code == 403
    assert "fulfill_orders" not in clerk.get("orders_order_changelist").content.decode()


def test_typed_and_pasted_numbers_fulfill_the_orders(order_client: Panel) -> None:
    rows = [make_fulfillment_order() for _ in range(5)]
    names = [str(row.order) for row in rows]
    held = rows[4]
    set_status(held, "on_hold", "unsubmitted")
    lines = [
        "Order;Tracking number",
        f"{names[1]};N-1",
        f'{names[2].removeprefix("#")},"N-2"',
        f"{names[4]}\tN-4",
        "#999999\tN-9",
        names[3],
    ]
    data = {f"number-{rows[0].pk}": UPS, "pasted": "\r\n".join(lines)}

    outcomes = submit(order_client, rows, **data)

    assert outcomes == {
        "#999999\tN-9": "Not used, because no selected order has this number.",
        names[0]: f"Fulfilled as {names[0]}.1, tracking number {UPS}.",
        names[1]: f"Fulfilled as {names[1]}.1, tracking number N-1.",
        names[2]: f"Fulfilled as {names[2]}.1, tracking number N-2.",
        names[3]: "Not fulfilled, because it has no tracking number.",
        names[4]: "Not fulfilled, because there is nothing to fulfill now. Status: on hold.",
    }
    assert list_numbers() == {names[0]: [UPS], names[1]: ["N-1"], names[2]: ["N-2"]}
    assert Fulfillment.objects.get(order=rows[0].order).tracking_company == "UPS"


def test_a_second_submission_changes_nothing(order_client: Panel) -> None:
    row = make_fulfillment_order()
    data = {f"number-{row.pk}": "N-1", "company": "Courier"}

    first, second = submit(order_client, [row], **data), submit(order_client, [row], **data)

    assert first == {str(row.order): f"Fulfilled as {row.order}.1, tracking number N-1."}
    assert second == {str(row.order): f"Already fulfilled as {row.order}.1."}
    (fulfillment,) = Fulfillment.objects.all()
    assert (fulfillment.tracking_numbers, fulfillment.tracking_company) == (["N-1"], "Courier")


def test_a_refused_order_does_not_stop_the_others(order_client: Panel) -> None:
    rows = [make_fulfillment_order() for _ in range(3)]
    middle = ", ".join(f"N-{number}" for number in range(101))

    outcomes = submit(
        order_client, rows, without_number="on", **{f"number-{rows[0].pk}": "N-1", f"number-{rows[1].pk}": middle}
    )

    assert outcomes[str(rows[1].order)].startswith("Not fulfilled: ")
    assert list_numbers() == {str(rows[0].order): ["N-1"], str(rows[2].order): []}


def test_a_busy_database_only_leaves_out_one_order(order_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [make_fulfillment_order() for _ in range(3)]
    create = fulfillments.create_fulfillment

    def create_or_time_out(parts: Sequence[FulfillmentPart], **values: Any) -> Fulfillment:
        if parts[0].fulfillment_order.pk == rows[1].pk:
            raise OperationalError("canceling statement due to lock timeout")
        return create(parts, **values)

    monkeypatch.setattr(fulfillments, "create_fulfillment", create_or_time_out)

    outcomes = submit(order_client, rows, without_number="on")

    text = "Not fulfilled, because the database did not respond in time. Try again."
    assert outcomes[str(rows[1].order)] == text
    assert list_numbers() == {str(rows[0].order): [], str(rows[2].order): []}


def test_a_pasted_number_that_is_too_long_is_refused(order_client: Panel) -> None:
    row = make_fulfillment_order()

    outcomes = submit(order_client, [row], pasted=f"{row.order},{'9' * 2049}", without_number="on")

    text = "Not fulfilled, because a tracking number is too long. At most 2048 characters are possible."
    assert outcomes == {str(row.order): text}
    assert not Fulfillment.objects.exists()


@pytest.mark.parametrize("action", ["fulfill_many", "print_slips"])
def test_a_large_selection_is_cut_with_a_message(
    order_client: Panel, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    rows = [make_fulfillment_order() for _ in range(3)]
    for name in ("MAX_ROWS", "MAX_SLIPS"):
        monkeypatch.setattr(fulfillment_queue, name, 2)

    response = order_client.forge(LIST, action=action, _selected_action=[row.pk for row in rows])

    assert response.headers["Location"].count(",") == 1
    text = "You selected more than 2 fulfillment orders. Only the first 2 are included."
    assert text in get_messages(order_client.get(LIST))


def test_a_service_has_to_accept_the_request_first(order_client: Panel, in_shop: Shop) -> None:
    row = make_fulfillment_order(make_service(factories.make_installation(in_shop, ()).app))

    outcomes = submit(order_client, [row, make_fulfillment_order()], **{f"number-{row.pk}": "N-1"})

    text = "Not fulfilled, because the fulfillment service has not accepted the request. Request status: not requested."
    assert outcomes[str(row.order)] == text
    assert not Fulfillment.objects.exists()


def test_other_shops_and_other_staff_fulfill_nothing(
    order_client: Panel, other_shop: Shop, admin_client_with: PanelWith
) -> None:
    row = make_fulfillment_order()
    with shop_scope(other_shop):
        foreign = make_fulfillment_order()
    url = f"{order_client.url(PAGE)}?ids={foreign.pk}"

    assert order_client.http.post(url, {f"number-{foreign.pk}": "N-1"}).status_code == 302
    denied = admin_client_with("orders")
    data = {f"number-{row.pk}": "N-1"}
    assert denied.http.post(f"{denied.url(PAGE)}?ids={row.pk}", data).status_code == 403
    assert "fulfill_many" not in denied.get(LIST).content.decode()
    assert not Fulfillment.objects.exists()
