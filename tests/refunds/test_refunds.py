from datetime import timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import App, Shop
from apps.core.types import Attrs
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.inventory.models import Location, StockMovement
from apps.orders.domain import updates
from apps.orders.domain.consistency_checks import check_order_payments
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund, RefundLineItem
from tests.support.api_client import ApiClient, ClientWith, get_errors, parse_links
from tests.support.factories.orders import MUG, get_available, make_order, make_variant
from tests.support.types import Json, JsonObject
from tests.support.wire_tables import find_misfits

pytestmark = pytest.mark.usefixtures("in_shop")

POST = [{"title": "Post", "price": Decimal("5.00"), "tax_lines": []}]


# The wire table has the fields of calculated and of stored refunds, but no response has all of these fields.
CALCULATED = ("currency is", "shipping is", "price is", "discount_amount is", "maximum_refundable is")
STORED = (
    "refund.id is", "refund.order_id", "refund.created_at", "refund.note", "refund.user_id", "refund.processed_at",
    "refund.restock is", "refund.return", "additional_fees", "adjustments", "refund_shipping_lines", "_api_id is",
    "items[].id is", "subtotal_set", "total_tax_set", "transactions[].",
)  # fmt: skip


def assert_fits(route: str, body: Any, *, lacks: tuple[str, ...] = CALCULATED) -> None:
    mismatches = find_misfits("refund", route, body)
    assert [message for message in mismatches if not any(name in message for name in lacks)] == []


def create_paid_order(shop: Shop, **values: object) -> Order:
    return make_order(shop, **{"financial_status": "paid", **values})


def get_line(order: Order) -> int:
    """Return the id of the order's only line item."""
    return order.line_items.get().pk


def get_order(api: ApiClient, order: Order) -> JsonObject:
    response = api.get(f"orders/{order.pk}.json")
    assert response.status_code == 200
    return response.json()["order"]


def pick(row: JsonObject, names: str) -> tuple[Json, ...]:
    return tuple(row[name] for name in names.split())


TOTALS = "financial_status current_total_price total_outstanding"


def post_refund(api: ApiClient, order: Order, body: JsonObject, status: int = 201) -> JsonObject:
    response = api.post(f"orders/{order.pk}/refunds.json", {"refund": body})
    assert response.status_code == status, response.json()
    return response.json()["refund" if status == 201 else "errors"]


def calculate_refund(api: ApiClient, order: Order, body: JsonObject) -> JsonObject:
    return api.post(f"orders/{order.pk}/refunds/calculate.json", {"refund": body}).json()


def test_a_refund_goes_from_calculation_to_the_order(api: ApiClient, shop: Shop) -> None:
    line_item = {"variant_id": make_variant(shop, stock=5).pk, "quantity": 2}
    order = create_paid_order(shop, lines=[line_item], shipping=POST, email="ada@example.com")
    payment = order.transactions.get().pk
    units = [{"line_item_id": get_line(order), "quantity": 1, "restock_type": "no_restock"}]
    body = {"currency": "USD", "shipping": {"full_refund": True}, "refund_line_items": units}

    calculated = calculate_refund(api, order, body)
    suggested = calculated["refund"]["transactions"]
    refund = post_refund(api, order, {**body, "note": "Broken", "transactions": suggested})

    assert_fits("POST /orders/{id}/refunds/calculate.json", calculated, lacks=STORED)
    assert_fits("POST /orders/{id}/refunds.json", {"refund": refund})
    assert [set(row) for row in suggested] == [
        {"order_id", "parent_id", "gateway", "kind", "amount", "currency", "maximum_refundable"}
    ]
    assert pick(suggested[0], "amount maximum_refundable parent_id") == ("15.00", "25.00", payment)
    assert calculated["refund"]["shipping"] == {"amount": "5.00", "tax": "0.00", "maximum_refundable": "5.00"}
    (part,) = calculated["refund"]["refund_line_items"]
    assert pick(part, "price subtotal total_tax discounted_price") == ("10.00", "10.00", "0.00", "10.00")
    assert [pick(row, "amount kind status") for row in refund["transactions"]] == [("15.00", "refund", "success")]
    assert [pick(row, "kind amount") for row in refund["order_adjustments"]] == [("shipping_refund", "-5.00")]
    after = get_order(api, order)
    assert after["refunds"] == [refund]
    assert pick(after, f"{TOTALS} total_price") == ("partially_refunded", "10.00", "0.00", "25.00")
    assert (after["line_items"][0]["current_quantity"], Customer.objects.get().total_spent) == (1, Decimal(10))
    topics = list(Event.objects.order_by("pk").values_list("topic", flat=True))
    assert topics[-3:] == ["refunds/create", "order_transactions/create", "orders/updated"]


def test_list_single_fields_and_paging(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, lines=[{"variant_id": make_variant(shop, stock=5).pk, "quantity": 3}])
    units = [{"line_item_id": get_line(order), "quantity": 1}]
    ids = [post_refund(api, order, {"refund_line_items": units})["id"] for _ in range(3)]

    path = f"orders/{order.pk}/refunds.json"
    first = api.get(path, limit=2, fields="id,order_id")
    body = api.get(path).json()
    single = api.get(f"orders/{order.pk}/refunds/{ids[1]}.json").json()

    assert_fits("GET /orders/{id}/refunds.json", body)
    assert_fits("GET /orders/{id}/refunds/{id}.json", single)
    assert first.json() == {"refunds": [{"id": pk, "order_id": order.pk} for pk in ids[:2]]}
    assert [row["id"] for row in api.get(parse_links(first)["next"]).json()["refunds"]] == ids[2:]
    assert [row["id"] for row in body["refunds"]] == ids
    assert single["refund"] == body["refunds"][1]
    assert api.get(f"orders/{make_order(shop).pk}/refunds/{ids[1]}.json").status_code == 404
    assert api.get(path, in_shop_currency="maybe").status_code == 400


def test_two_currencies(api: ApiClient, shop: Shop) -> None:
    sale = {"kind": "sale", "amount": Decimal("18.00"), "currency": "EUR"}
    order = make_order(shop, presentment_currency="EUR", exchange_rate=Decimal("0.9"), transactions=[sale])
    units = [{"line_item_id": get_line(order), "quantity": 1}]
    payback = {"transactions": [{"parent_id": order.transactions.get().pk, "amount": "9.00"}]}

    refused = post_refund(api, order, {"refund_line_items": units, **payback}, 422)
    foreign = post_refund(api, order, {"currency": "SEK", **payback}, 422)
    row = {**payback["transactions"][0], "currency": "USD"}
    mixed = post_refund(api, order, {"currency": "USD", "transactions": [row]}, 422)
    calculated = calculate_refund(api, order, {"currency": "EUR", "refund_line_items": units})["refund"]
    refund = post_refund(api, order, {"currency": "EUR", "refund_line_items": units, **payback})
    in_shop = api.get(f"orders/{order.pk}/refunds/{refund['id']}.json", in_shop_currency="true").json()["refund"]
    refunds = api.get(f"orders/{order.pk}/refunds.json", in_shop_currency="true").json()["refunds"]

    assert refused == {"currency": ["can't be blank"]}
    assert foreign == {"currency": ["is not one of the order's currencies"]}
    assert mixed == {"transactions.0.currency": ["must be EUR, the currency of the payment"]}
    assert (calculated["currency"], calculated["refund_line_items"][0]["subtotal"]) == ("EUR", "9.00")
    assert pick(refund["transactions"][0], "amount currency") == ("9.00", "EUR")
    assert pick(in_shop["transactions"][0], "amount currency") == ("10.00", "USD")
    assert refunds == [in_shop]
    money = refund["refund_line_items"][0]["subtotal_set"]
    assert (money["shop_money"]["amount"], money["presentment_money"]["amount"]) == ("10.00", "9.00")
    assert get_order(api, order)["total_outstanding"] == "0.00"


def at_most(field: str, most: str) -> JsonObject:
    return {field: [f"must be less than or equal to {most}"]}


UNIT = "refund_line_items.0"


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"base": ["must include an item, a duty, shipping or a payment to refund"]}),
        ({"units": [{"quantity": 3}]}, at_most(f"{UNIT}.quantity", "2")),
        ({"units": [{"quantity": 2}, {"quantity": 1}]}, at_most("refund_line_items.1.quantity", "0")),
        ({"units": [{"line_item_id": 1}]}, {f"{UNIT}.line_item_id": ["is invalid"]}),
        ({"units": [{"restock_type": "legacy_restock"}]}, {f"{UNIT}.restock_type": ["is not included in the list"]}),
        ({"units": [{"restock_type": "cancel"}]}, {f"{UNIT}.location_id": ["can't be blank"]}),
        ({"units": [{"restock_type": "cancel", "location_id": 1}]}, {f"{UNIT}.location_id": ["is invalid"]}),
        (
            {"units": [{"restock_type": "return", "location_id": 1}]},
            {f"{UNIT}.restock_type": ["can only return fulfilled items (at most 0)"]},
        ),
        ({"shipping": {"amount": "5.01"}}, at_most("shipping.amount", "5.00")),
        ({"shipping": {"amount": "1.001"}}, {"shipping.amount": ["is invalid"]}),
        ({"transactions": [{"amount": "25.01"}]}, at_most("transactions.0.amount", "25.00")),
        ({"transactions": [{"amount": "20.00"}, {"amount": "5.01"}]}, at_most("transactions.1.amount", "5.00")),
        ({"transactions": [{"amount": "1.00", "parent_id": 1}]}, {"transactions.0.parent_id": ["is invalid"]}),
        ({"transactions": [{}]}, {"transactions.0.amount": ["can't be blank"]}),
        (
            {"transactions": [{"amount": "1.00", "gateway": "cards"}]},
            {"transactions.0.parent_id": ["must be a payment for this order"]},
        ),
        (
            {"processed_at": "2020-01-01T00:00:00Z", "transactions": [{"amount": "1.00"}]},
            {"processed_at": ["cannot be in the past without permission to import refunds"]},
        ),
        (
            {"refund_duties": [{"duty_id": 5, "refund_type": "FULL"}]},
            {"refund_duties.0.duty_id": ["is not a duty on this order"]},
        ),
        (
            {"refund_duties": [{"duty_id": 5, "refund_type": "HALF"}, {"refund_type": "FULL"}]},
            {
                "refund_duties.0.refund_type": ["is not included in the list"],
                "refund_duties.1.duty_id": ["can't be blank"],
            },
        ),
        ({"discrepancy_reason": "because"}, {"discrepancy_reason": ["is not included in the list"]}),
    ],
)
def test_refusals_change_nothing(api: ApiClient, shop: Shop, body: JsonObject, errors: JsonObject) -> None:
    order = create_paid_order(shop, shipping=POST)
    units = [{"line_item_id": get_line(order), **row} for row in body.pop("units", [])]
    before = get_order(api, order)

    assert post_refund(api, order, {**body, "refund_line_items": units}, 422) == errors

    assert get_order(api, order) == before
    assert (Refund.objects.count(), Transaction.objects.count()) == (0, 1)


@pytest.mark.parametrize(
    ("units", "money", "reason", "adjustment", "remaining"),
    [
        ([{"quantity": 1}], "8.00", {"discrepancy_reason": "restock"}, ("2.00", "restock"), "12.00"),
        ([], "3.00", {}, ("-3.00", "Refund discrepancy"), "17.00"),
    ],
    ids=["less", "more"],
)
def test_less_and_more_than_was_worked_out_is_an_adjustment(
    *, api: ApiClient, shop: Shop, units: list[Attrs], money: str, reason: Attrs, adjustment: object, remaining: str
) -> None:
    order = create_paid_order(shop)
    body = {"refund_line_items": [{"line_item_id": get_line(order), **row} for row in units], **reason}

    refund = post_refund(api, order, {**body, "transactions": [{"amount": money}]})

    (row,) = refund["order_adjustments"]
    assert (row["kind"], pick(row, "amount reason")) == ("refund_discrepancy", adjustment)
    assert pick(get_order(api, order), "current_total_price total_outstanding") == (remaining, "0.00")


def create_stocked_order(shop: Shop, how: str = "cancel", count: int = 2, **values: object) -> tuple[Any, Order, Attrs]:
    """Return a variant with five units, an order of three of them, and the body that refunds some of them."""
    variant = make_variant(shop, stock=5)
    lines = [{"variant_id": variant.pk, "quantity": 3}]
    order = create_paid_order(shop, lines=lines, inventory_behaviour="decrement_obeying_policy", **values)
    where = {"restock_type": how, "location_id": Location.objects.get().pk}
    return variant, order, {"line_item_id": get_line(order), "quantity": count, **where}


def test_cancelled_units_go_back_to_stock_and_are_not_sent(api: ApiClient, shop: Shop) -> None:
    variant, order, units = create_stocked_order(shop)

    refund = post_refund(api, order, {"refund_line_items": [units], "transactions": [{"amount": "20.00"}]})
    too_many = post_refund(api, order, {"refund_line_items": [units]}, 422)
    cancelled = api.post(f"orders/{order.pk}/cancel.json", {"restock": True})

    (row,) = refund["refund_line_items"]
    assert (*pick(row, "restock_type location_id"), refund["restock"]) == ("cancel", units["location_id"], True)
    assert pick(row["line_item"], "fulfillable_quantity current_quantity") == (1, 1)
    assert too_many == at_most(f"{UNIT}.quantity", "1")
    assert (cancelled.status_code, get_available(variant)) == (200, 5)
    moved = StockMovement.objects.filter(reason="restock").order_by("pk").values_list("delta", flat=True)
    assert list(moved) == [2, 1]


def test_returned_units_go_back_to_stock_and_stay_sent(api: ApiClient, shop: Shop) -> None:
    variant, order, units = create_stocked_order(shop, "return", fulfillment_status="fulfilled")
    first = {**units, "quantity": 1}

    post_refund(api, order, {"refund_line_items": [units]})
    refused = post_refund(api, order, {"refund_line_items": [{**first, "restock_type": "cancel"}]}, 422)
    post_refund(api, order, {"refund_line_items": [first]})

    assert refused == {f"{UNIT}.restock_type": ["can only cancel unfulfilled items (at most 0)"]}
    assert get_available(variant) == 5
    after = get_order(api, order)["line_items"][0]
    assert pick(after, "current_quantity fulfillable_quantity fulfillment_status") == (0, 0, "fulfilled")


def test_cancelled_units_leave_the_fulfillment_orders(api: ApiClient, shop: Shop) -> None:
    _, order, units = create_stocked_order(shop)
    queue.run_job(Job.objects.get(task="fulfillment.route_order").key)

    post_refund(api, order, {"refund_line_items": [units]})
    (part,) = api.get(f"orders/{order.pk}/fulfillment_orders.json").json()["fulfillment_orders"]
    post_refund(api, order, {"refund_line_items": [{**units, "quantity": 1}]})
    (last,) = api.get(f"orders/{order.pk}/fulfillment_orders.json").json()["fulfillment_orders"]

    assert (part["status"], part["line_items"][0]["fulfillable_quantity"], last["status"]) == ("open", 1, "closed")


def test_the_old_restock_puts_units_where_they_were_taken(api: ApiClient, shop: Shop) -> None:
    variant, order, units = create_stocked_order(shop, count=1)
    line = {name: units[name] for name in ("line_item_id", "quantity")}

    refund = post_refund(api, order, {"restock": True, "refund_line_items": [line]})

    (row,) = refund["refund_line_items"]
    assert pick(row, "restock_type location_id") == ("cancel", units["location_id"])
    assert get_available(variant) == 3


def test_units_of_a_fulfillment_service_go_back_to_it_alone(api: ApiClient, shop: Shop) -> None:
    variant, order, units = create_stocked_order(shop, count=1)
    Location.objects.update(legacy=True)
    other, home = Location.objects.create(shop=shop, name="Depot", country_code="SE"), units["location_id"]

    refused = post_refund(api, order, {"refund_line_items": [{**units, "location_id": other.pk}]}, 422)
    post_refund(api, order, {"refund_line_items": [units]})

    name = Location.objects.get(pk=home).name
    assert refused == {f"{UNIT}.location_id": [f"must be {name}, the fulfillment service that stocks the item"]}
    assert get_available(variant) == 3


def test_an_item_is_connected_with_the_location_that_it_goes_back_to(api: ApiClient, shop: Shop) -> None:
    variant, order, units = create_stocked_order(shop, count=1)
    other = Location.objects.create(shop=shop, name="Depot", country_code="SE")

    post_refund(api, order, {"refund_line_items": [{**units, "location_id": other.pk}]})

    assert variant.inventory_item.levels.get(location=other).available == 1


def test_a_full_refund_refunds_everything(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, shipping=POST)
    units = {"refund_line_items": [{"line_item_id": get_line(order), "quantity": 2}], "shipping": {"full_refund": True}}

    post_refund(api, order, {**units, "transactions": [{"amount": "25.00"}]})

    assert pick(get_order(api, order), TOTALS) == ("refunded", "0.00", "0.00")


def test_discounted_shipping_is_refunded_in_full(api: ApiClient, shop: Shop) -> None:
    """SQLite has no exact decimals: 5.00 minus 1.11 is less than 3.89."""
    codes = [{"code": "POST", "amount": Decimal("1.11"), "type": "shipping"}]
    order = create_paid_order(shop, shipping=POST, codes=codes)

    refund = post_refund(api, order, {"shipping": {"full_refund": True}, "transactions": [{"amount": "3.89"}]})

    assert refund["refund_shipping_lines"][0]["subtotal_amount_set"]["shop_money"]["amount"] == "3.89"


@pytest.mark.parametrize(
    ("body", "status", "remaining"),
    [
        ({"amount": "20.00", "currency": "USD"}, "refunded", "0.00"),
        ({"amount": "15.00"}, "partially_refunded", "5.00"),
        ({"amount": "15.00", "restock": False}, "partially_refunded", "5.00"),
        ({"refund": {"note": "Sorry", "transactions": [{"amount": "20.00"}]}}, "refunded", "0.00"),
    ],
)
def test_cancelling_refunds(api: ApiClient, shop: Shop, body: JsonObject, status: str, remaining: str) -> None:
    variant = make_variant(shop, stock=5)
    lines = [{"variant_id": variant.pk, "quantity": 2}]
    order = create_paid_order(shop, lines=lines, inventory_behaviour="decrement_obeying_policy", email="ada@x.com")

    response = api.post(f"orders/{order.pk}/cancel.json", body)

    assert response.status_code == 200, response.json()
    after = response.json()["order"]
    assert (*pick(after, TOTALS), len(after["refunds"])) == (status, remaining, "0.00", 1)
    is_restocked = body.get("restock") is not False
    statuses = [after["fulfillment_status"], after["line_items"][0]["fulfillment_status"]]
    assert statuses == (["restocked"] * 2 if is_restocked else [None, None])
    assert get_available(variant) == (5 if is_restocked else 3)
    assert list(check_order_payments()) == []


def test_a_failed_refund_cancels_no_order(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop)
    bodies: list[Attrs] = [{"amount": "20.01"}, {"refund": {"refund_line_items": 5}}, {"refund": {}}]

    errors = [get_errors(api.post(f"orders/{order.pk}/cancel.json", body)) for body in bodies]

    assert errors[0] == at_most("transactions.0.amount", "20.00")
    assert "refund.refund_line_items" in errors[1]
    assert get_order(api, order)["cancelled_at"] is None


def test_five_a_minute_where_a_shop_is_tried_out(api: ApiClient, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(plan=Shop.Plan.TRIAL)
    shop.refresh_from_db()
    order = create_paid_order(shop, lines=[{"title": "Mug", "price": Decimal("10.00"), "quantity": 9}])
    body = {"refund": {"transactions": [{"amount": "1.00"}]}}
    path = f"orders/{order.pk}/refunds.json"

    answers = [api.post(path, body) for _ in range(6)]

    assert [response.status_code for response in answers] == [201] * 5 + [429]
    assert answers[-1].json() == {"errors": "Call limit exceeded"}
    assert 0 < float(answers[-1]["Retry-After"]) <= 60
    Refund.objects.update(created_at=timezone.now() - timedelta(seconds=61))
    assert api.post(path, body).status_code == 201
    Refund.objects.update(created_at=timezone.now() + timedelta(minutes=59))
    assert api.post(path, body).status_code == 201, "a clock that was fast and is set back stops no refund"


def test_an_app_of_the_marketplace_imports_past_refunds(client_with: ClientWith, shop: Shop) -> None:
    order = create_paid_order(shop)
    body = {"processed_at": "2020-01-01T00:00:00Z", "transactions": [{"amount": "1.00"}]}
    clients = [client_with("write_orders", "write_past_refunds"), client_with("write_orders", "write_past_refunds")]
    App.objects.filter(pk=clients[1].installation.app_id).update(distribution=App.Distribution.PUBLIC)

    private, public = (api.post(f"orders/{order.pk}/refunds.json", {"refund": body}) for api in clients)

    assert private.status_code == 422
    assert public.status_code == 201, public.json()
    assert public.json()["refund"]["processed_at"].startswith("2019-12-31T19:00:00-05:00")


def test_marketplace_orders_are_a_scope_of_their_own(client_with: ClientWith, shop: Shop) -> None:
    order = create_paid_order(shop)

    allowed = client_with("read_marketplace_orders").get(f"orders/{order.pk}/refunds.json")
    refused = client_with("read_products").get(f"orders/{order.pk}/refunds.json")

    assert (allowed.status_code, refused.status_code) == (200, 403)


def test_the_customer_is_notified_on_request(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, email="ada@example.com", shipping=POST)
    goods = {"refund_line_items": [{"line_item_id": get_line(order), "quantity": 1}], "shipping": {"amount": "1.00"}}

    post_refund(api, order, {"notify": True, **goods, "transactions": [{"amount": "11.00"}]})
    queue.run_job(Job.objects.get(task="refunds.send_notification").key)

    (message,) = mail.outbox
    assert message.to == ["ada@example.com"]
    assert "1 × Mug\nShipping\n" in message.body
    assert "Duties" not in message.body
    assert "Refunded: 11.00 USD" in message.body


def test_the_erasure_of_a_person_takes_the_notes(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, email="ada@example.com")
    post_refund(api, order, {"note": "for ada", "transactions": [{"amount": "1.00"}]})

    customer = Customer.objects.get()
    assert personal_data.collect_data(customer)["refunds"] == [{"order": order.name, "note": "for ada"}]
    personal_data.redact_customer(customer, actor="system", at=timezone.now())
    assert Refund.objects.get().note == ""


def test_a_deleted_order_takes_its_refunds(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop)
    units = [{"line_item_id": get_line(order)}]
    post_refund(api, order, {"refund_line_items": units, "transactions": [{"amount": "10.00"}]})

    updates.delete_order(Order.objects.get(), actor="system", at=timezone.now())

    assert (Refund.objects.count(), RefundLineItem.objects.count()) == (0, 0)


def test_subscribers_get_the_refund_as_rest_shows_it(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, shipping=POST)
    body = {"refund_line_items": [{"line_item_id": get_line(order)}], "shipping": {"full_refund": True}}

    def listens(shop: Shop, topic: str) -> frozenset[str]:
        return frozenset({"2026-10"})

    with patch.dict(audiences, {listens: None}):
        refund = post_refund(api, order, {**body, "transactions": [{"amount": "15.00"}]})

    events = Event.objects.order_by("pk").exclude(payload=None)
    payloads = {row.topic: (row.payload or {})["2026-10"] for row in events}
    assert payloads["refunds/create"] == refund
    assert payloads["order_transactions/create"]["id"] == refund["transactions"][0]["id"]
    assert payloads["orders/updated"]["refunds"] == [refund]


def test_units_that_were_taken_from_nowhere_ask_once_where_they_belong(api: ApiClient, shop: Shop) -> None:
    counts = []
    for lines in (2, 20):
        order = make_order(shop, lines=[MUG] * lines)
        units = [{"line_item_id": pk, "quantity": 1} for pk in order.line_items.values_list("pk", flat=True)]
        with CaptureQueriesContext(connection) as statements:
            post_refund(api, order, {"restock": True, "refund_line_items": units})
        counts.append(len(statements))

    assert counts[1] <= counts[0] + 3
