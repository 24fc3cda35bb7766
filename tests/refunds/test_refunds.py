"""Tests of refunds over REST: calculation, money, restock, refusals and statements."""

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
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.inventory.models import Location, StockMovement
from apps.orders.domain import updates
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund, RefundLineItem
from tests.support.api_client import ApiClient, ClientWith
from tests.support.factories.orders import MUG, get_available, make_order, make_variant
from tests.support.types import JsonObject
from tests.support.wire_tables import find_misfits

POST = [{"title": "Post", "price": Decimal("5.00"), "tax_lines": []}]


# The wire table has the fields of calculated and of stored refunds, but no response has all of these fields.
CALCULATED = ("currency is", "shipping is", "price is", "discount_amount is", "maximum_refundable is")
STORED = (
    *("refund.id is", "refund.order_id", "refund.created_at", "refund.note", "refund.user_id", "refund.processed_at"),
    *("refund.restock is", "refund.return", "additional_fees", "adjustments", "refund_shipping_lines", "_api_id is"),
    *("items[].id is", "subtotal_set", "total_tax_set", "transactions[]."),
)


def assert_fits(route: str, body: Any, *, lacks: tuple[str, ...] = CALCULATED) -> None:
    mismatches = find_misfits("refund", route, body)
    assert [message for message in mismatches if not any(name in message for name in lacks)] == []


def create_paid_order(shop: Shop, **values: object) -> Order:
    return make_order(shop, **{"financial_status": "paid", **values})


def build_catalog_line(shop: Shop, quantity: int) -> Attrs:
    """Return the request body of a line item with a tracked variant."""
    return {"variant_id": make_variant(shop, stock=5).pk, "quantity": quantity}


def get_row_ids(order: Order) -> tuple[list[int], list[int]]:
    """Return the ids of the order's line items and payments."""
    with shop_scope(order.shop):
        return (
            list(order.line_items.order_by("pk").values_list("pk", flat=True)),
            list(order.transactions.order_by("pk").values_list("pk", flat=True)),
        )


def get_order(api: ApiClient, order: Order) -> JsonObject:
    response = api.get(f"orders/{order.pk}.json")
    assert response.status_code == 200
    matching_order: JsonObject = response.json()["order"]
    return matching_order


def post_refund(api: ApiClient, order: Order, body: JsonObject, status: int = 201) -> JsonObject:
    response = api.post(f"orders/{order.pk}/refunds.json", {"refund": body})
    assert response.status_code == status, response.json()
    matching_body: JsonObject = response.json()
    return matching_body["refund"] if status == 201 else matching_body["errors"]


def test_a_refund_goes_from_calculation_to_the_order(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, lines=[build_catalog_line(shop, 2)], shipping=POST, email="ada@example.com")
    (line,), (payment,) = get_row_ids(order)
    units = [{"line_item_id": line, "quantity": 1, "restock_type": "no_restock"}]
    body = {"currency": "USD", "shipping": {"full_refund": True}, "refund_line_items": units}

    calculated = api.post(f"orders/{order.pk}/refunds/calculate.json", {"refund": body}).json()
    suggested = calculated["refund"]["transactions"]
    refund_data = post_refund(api, order, {**body, "note": "Broken", "transactions": suggested})

    assert_fits("POST /orders/{id}/refunds/calculate.json", calculated, lacks=STORED)
    assert_fits("POST /orders/{id}/refunds.json", {"refund": refund_data})
    assert {"order_id", "parent_id", "gateway", "kind", "amount", "currency", "maximum_refundable"} == set(suggested[0])
    assert [(row["amount"], row["maximum_refundable"], row["parent_id"]) for row in suggested] == [
        ("15.00", "25.00", payment)
    ]
    assert calculated["refund"]["shipping"] == {"amount": "5.00", "tax": "0.00", "maximum_refundable": "5.00"}
    (part,) = calculated["refund"]["refund_line_items"]
    assert (part["price"], part["subtotal"], part["total_tax"], part["discounted_price"]) == (
        "10.00",
        "10.00",
        "0.00",
        "10.00",
    )
    assert [(row["amount"], row["kind"], row["status"]) for row in refund_data["transactions"]] == [
        ("15.00", "refund", "success")
    ]
    assert [(row["kind"], row["amount"]) for row in refund_data["order_adjustments"]] == [("shipping_refund", "-5.00")]
    after = get_order(api, order)
    assert [row["id"] for row in after["refunds"]] == [refund_data["id"]]
    assert after["refunds"][0] == refund_data
    assert (after["financial_status"], after["total_price"], after["current_total_price"]) == (
        "partially_refunded",
        "25.00",
        "10.00",
    )
    assert (after["total_outstanding"], after["line_items"][0]["current_quantity"]) == ("0.00", 1)
    with shop_scope(shop):
        assert Customer.objects.get().total_spent == 10
        topics = list(Event.objects.order_by("pk").values_list("topic", flat=True))
    assert topics[-3:] == ["refunds/create", "order_transactions/create", "orders/updated"]


def test_list_single_fields_and_paging(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, lines=[build_catalog_line(shop, 3)])
    (line,), _ = get_row_ids(order)
    refund_data = [
        post_refund(api, order, {"refund_line_items": [{"line_item_id": line, "quantity": 1}]}) for _ in range(3)
    ]

    path = f"orders/{order.pk}/refunds.json"
    first = api.get(path, limit=2, fields="id,order_id")
    body = api.get(path).json()
    single = api.get(f"orders/{order.pk}/refunds/{refund_data[1]['id']}.json").json()

    assert_fits("GET /orders/{id}/refunds.json", body)
    assert_fits("GET /orders/{id}/refunds/{id}.json", single)
    assert first.json() == {"refunds": [{"id": row["id"], "order_id": order.pk} for row in refund_data[:2]]}
    second = api.http.get(first["Link"].split("<")[1].split(">")[0])
    assert [row["id"] for row in second.json()["refunds"]] == [refund_data[2]["id"]]
    assert [row["id"] for row in body["refunds"]] == [row["id"] for row in refund_data]
    assert single["refund"] == body["refunds"][1]
    other = make_order(shop)
    assert api.get(f"orders/{other.pk}/refunds/{refund_data[1]['id']}.json").status_code == 404
    assert api.get(path, in_shop_currency="maybe").status_code == 400


def test_two_currencies(api: ApiClient, shop: Shop) -> None:
    order = make_order(
        shop,
        presentment_currency="EUR",
        exchange_rate=Decimal("0.9"),
        transactions=[{"kind": "sale", "amount": Decimal("18.00"), "currency": "EUR"}],
    )
    (line,), (payment,) = get_row_ids(order)
    units = [{"line_item_id": line, "quantity": 1}]
    payback = {"parent_id": payment, "amount": "9.00"}

    refused = post_refund(api, order, {"refund_line_items": units, "transactions": [payback]}, 422)
    foreign = post_refund(api, order, {"currency": "SEK", "transactions": [payback]}, 422)
    mixed = post_refund(api, order, {"currency": "USD", "transactions": [payback]}, 422)
    calculated = api.post(
        f"orders/{order.pk}/refunds/calculate.json", {"refund": {"currency": "EUR", "refund_line_items": units}}
    ).json()["refund"]
    refund_data = post_refund(api, order, {"currency": "EUR", "refund_line_items": units, "transactions": [payback]})
    path = f"orders/{order.pk}/refunds/{refund_data['id']}.json"
    in_shop = api.get(path, in_shop_currency="true").json()["refund"]
    refunds = api.get(f"orders/{order.pk}/refunds.json", in_shop_currency="true").json()["refunds"]

    assert refused == {"currency": ["can't be blank"]}
    assert foreign == {"currency": ["is not one of the order's currencies"]}
    assert mixed == {"transactions.0.currency": ["must be EUR, the currency of the payment"]}
    assert (calculated["currency"], calculated["refund_line_items"][0]["subtotal"]) == ("EUR", "9.00")
    assert (refund_data["transactions"][0]["amount"], refund_data["transactions"][0]["currency"]) == ("9.00", "EUR")
    assert (in_shop["transactions"][0]["amount"], in_shop["transactions"][0]["currency"]) == ("10.00", "USD")
    assert refunds == [in_shop]
    money = refund_data["refund_line_items"][0]["subtotal_set"]
    assert (money["shop_money"]["amount"], money["presentment_money"]["amount"]) == ("10.00", "9.00")
    assert get_order(api, order)["total_outstanding"] == "0.00"


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"base": ["must include an item, a duty, shipping or a payment to refund"]}),
        ({"units": [{"quantity": 3}]}, {"refund_line_items.0.quantity": ["must be less than or equal to 2"]}),
        (
            {"units": [{"quantity": 2}, {"quantity": 1}]},
            {"refund_line_items.1.quantity": ["must be less than or equal to 0"]},
        ),
        ({"units": [{"line_item_id": 1}]}, {"refund_line_items.0.line_item_id": ["is invalid"]}),
        (
            {"units": [{"restock_type": "legacy_restock"}]},
            {"refund_line_items.0.restock_type": ["is not included in the list"]},
        ),
        ({"units": [{"restock_type": "cancel"}]}, {"refund_line_items.0.location_id": ["can't be blank"]}),
        (
            {"units": [{"restock_type": "cancel", "location_id": 1}]},
            {"refund_line_items.0.location_id": ["is invalid"]},
        ),
        (
            {"units": [{"restock_type": "return", "location_id": 1}]},
            {"refund_line_items.0.restock_type": ["can only return fulfilled items (at most 0)"]},
        ),
        ({"shipping": {"amount": "5.01"}}, {"shipping.amount": ["must be less than or equal to 5.00"]}),
        ({"shipping": {"amount": "1.001"}}, {"shipping.amount": ["is invalid"]}),
        (
            {"transactions": [{"amount": "25.01"}]},
            {"transactions.0.amount": ["must be less than or equal to 25.00"]},
        ),
        (
            {"transactions": [{"amount": "20.00"}, {"amount": "5.01"}]},
            {"transactions.1.amount": ["must be less than or equal to 5.00"]},
        ),
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
    (line,), _ = get_row_ids(order)
    units = [{"line_item_id": line, **row} for row in body.pop("units", [])]
    before = get_order(api, order)

    assert post_refund(api, order, {**body, "refund_line_items": units}, 422) == errors

    assert get_order(api, order) == before
    with shop_scope(shop):
        assert not Refund.objects.exists()
        assert Transaction.objects.count() == 1


def test_a_gateway_that_is_not_installed_is_named(api: ApiClient, shop: Shop) -> None:
    order = make_order(shop, transactions=[{"kind": "sale", "amount": Decimal("20.00"), "gateway": "cards"}])

    refused = post_refund(api, order, {"transactions": [{"amount": "5.00"}]}, 422)
    refund_data = post_refund(api, order, {"transactions": [{"amount": "5.00", "gateway": "manual"}]})

    why = "cards is not installed here; use manual for money refunded elsewhere"
    assert refused == {"transactions.0.gateway": [why]}
    assert [(row["gateway"], row["status"]) for row in refund_data["transactions"]] == [("manual", "success")]


def test_less_and_more_than_was_worked_out_is_an_adjustment(api: ApiClient, shop: Shop) -> None:
    less, more = create_paid_order(shop), create_paid_order(shop)
    (line,), _ = get_row_ids(less)

    refund_data = post_refund(
        api,
        less,
        {
            "refund_line_items": [{"line_item_id": line, "quantity": 1}],
            "transactions": [{"amount": "8.00"}],
            "discrepancy_reason": "restock",
        },
    )
    input_refund_data = post_refund(api, more, {"transactions": [{"amount": "3.00"}]})

    assert [(row["kind"], row["amount"], row["reason"]) for row in refund_data["order_adjustments"]] == [
        ("refund_discrepancy", "2.00", "restock")
    ]
    assert [(row["kind"], row["amount"], row["reason"]) for row in input_refund_data["order_adjustments"]] == [
        ("refund_discrepancy", "-3.00", "Refund discrepancy")
    ]
    assert [
        (get_order(api, order)["current_total_price"], get_order(api, order)["total_outstanding"])
        for order in (less, more)
    ] == [
        ("12.00", "0.00"),
        ("17.00", "0.00"),
    ]


def create_stocked_order(shop: Shop, **values: object) -> tuple[Any, Order]:
    variant = make_variant(shop, stock=5)
    lines = [{"variant_id": variant.pk, "quantity": 3}]
    options = {"lines": lines, "inventory_behaviour": "decrement_obeying_policy", **values}
    return variant, create_paid_order(shop, **options)


def get_primary_location(shop: Shop) -> int:
    with shop_scope(shop):
        location_id: int = Location.objects.get().pk
        return location_id


def test_cancelled_units_go_back_to_stock_and_are_not_sent(api: ApiClient, shop: Shop) -> None:
    variant, order = create_stocked_order(shop)
    (line,), _ = get_row_ids(order)
    units = {"line_item_id": line, "quantity": 2, "restock_type": "cancel", "location_id": get_primary_location(shop)}

    refund_data = post_refund(api, order, {"refund_line_items": [units], "transactions": [{"amount": "20.00"}]})
    too_many = post_refund(api, order, {"refund_line_items": [units]}, 422)
    cancelled = api.post(f"orders/{order.pk}/cancel.json", {"restock": True})

    (row,) = refund_data["refund_line_items"]
    assert (row["restock_type"], row["location_id"], refund_data["restock"]) == (
        "cancel",
        get_primary_location(shop),
        True,
    )
    assert (row["line_item"]["fulfillable_quantity"], row["line_item"]["current_quantity"]) == (1, 1)
    assert too_many == {"refund_line_items.0.quantity": ["must be less than or equal to 1"]}
    assert cancelled.status_code == 200
    assert get_available(variant) == 5
    with shop_scope(shop):
        moved = StockMovement.objects.filter(reason="restock").order_by("pk").values_list("delta", flat=True)
        assert list(moved) == [2, 1]


def test_returned_units_go_back_to_stock_and_stay_sent(api: ApiClient, shop: Shop) -> None:
    variant, order = create_stocked_order(shop, fulfillment_status="fulfilled")
    (line,), _ = get_row_ids(order)
    units = {"line_item_id": line, "quantity": 2, "restock_type": "return", "location_id": get_primary_location(shop)}
    first = {**units, "quantity": 1}

    post_refund(api, order, {"refund_line_items": [units]})
    refused = post_refund(api, order, {"refund_line_items": [{**first, "restock_type": "cancel"}]}, 422)
    post_refund(api, order, {"refund_line_items": [first]})

    assert refused == {"refund_line_items.0.restock_type": ["can only cancel unfulfilled items (at most 0)"]}
    assert get_available(variant) == 5
    after = get_order(api, order)["line_items"][0]
    assert (after["current_quantity"], after["fulfillable_quantity"], after["fulfillment_status"]) == (
        0,
        0,
        "fulfilled",
    )


def test_cancelled_units_leave_the_fulfillment_orders(api: ApiClient, shop: Shop) -> None:
    _, order = create_stocked_order(shop)
    (line,), _ = get_row_ids(order)
    with shop_scope(shop):
        queue.run_job(Job.objects.get(task="fulfillment.route").key)
    units = {"line_item_id": line, "quantity": 2, "restock_type": "cancel", "location_id": get_primary_location(shop)}

    post_refund(api, order, {"refund_line_items": [units]})
    (part,) = api.get(f"orders/{order.pk}/fulfillment_orders.json").json()["fulfillment_orders"]
    post_refund(api, order, {"refund_line_items": [{**units, "quantity": 1}]})
    (last,) = api.get(f"orders/{order.pk}/fulfillment_orders.json").json()["fulfillment_orders"]

    assert (part["status"], part["line_items"][0]["fulfillable_quantity"]) == ("open", 1)
    assert last["status"] == "closed"


def test_the_old_restock_puts_units_where_they_were_taken(api: ApiClient, shop: Shop) -> None:
    variant, order = create_stocked_order(shop)
    (line,), _ = get_row_ids(order)

    refund_data = post_refund(
        api, order, {"restock": True, "refund_line_items": [{"line_item_id": line, "quantity": 1}]}
    )

    (row,) = refund_data["refund_line_items"]
    assert (row["restock_type"], row["location_id"]) == ("cancel", get_primary_location(shop))
    assert get_available(variant) == 3


def test_units_of_a_fulfillment_service_go_back_to_it_alone(api: ApiClient, shop: Shop) -> None:
    variant, order = create_stocked_order(shop)
    (line,), _ = get_row_ids(order)
    with shop_scope(shop):
        other = Location.objects.create(shop=shop, name="Depot", country_code="SE")
        home = Location.objects.exclude(pk=other.pk).get()
        Location.objects.filter(pk=home.pk).update(legacy=True)
    units = {"line_item_id": line, "quantity": 1, "restock_type": "cancel"}

    refused = post_refund(api, order, {"refund_line_items": [{**units, "location_id": other.pk}]}, 422)
    post_refund(api, order, {"refund_line_items": [{**units, "location_id": home.pk}]})

    assert refused == {
        "refund_line_items.0.location_id": [f"must be {home.name}, the fulfillment service that stocks the item"]
    }
    assert get_available(variant) == 3


def test_an_item_is_connected_with_the_location_that_it_goes_back_to(api: ApiClient, shop: Shop) -> None:
    variant, order = create_stocked_order(shop)
    (line,), _ = get_row_ids(order)
    with shop_scope(shop):
        other = Location.objects.create(shop=shop, name="Depot", country_code="SE")
    units = {"line_item_id": line, "quantity": 1, "restock_type": "cancel", "location_id": other.pk}

    post_refund(api, order, {"refund_line_items": [units]})

    with shop_scope(shop):
        assert variant.inventory_item.levels.get(location=other).available == 1


def test_a_full_refund_refunds_everything(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, shipping=POST)
    (line,), _ = get_row_ids(order)
    full_refund = {"refund_line_items": [{"line_item_id": line, "quantity": 2}], "shipping": {"full_refund": True}}

    post_refund(api, order, {**full_refund, "transactions": [{"amount": "25.00"}]})

    after = get_order(api, order)
    assert (after["financial_status"], after["current_total_price"], after["total_outstanding"]) == (
        "refunded",
        "0.00",
        "0.00",
    )


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
    order = create_paid_order(
        shop,
        lines=[{"variant_id": variant.pk, "quantity": 2}],
        inventory_behaviour="decrement_obeying_policy",
        email="ada@example.com",
    )

    response = api.post(f"orders/{order.pk}/cancel.json", body)

    assert response.status_code == 200, response.json()
    after = response.json()["order"]
    assert (after["financial_status"], after["current_total_price"], after["total_outstanding"]) == (
        status,
        remaining,
        "0.00",
    )
    assert get_available(variant) == (3 if body.get("restock") is False else 5)
    assert len(after["refunds"]) == 1


BAD_CANCELLATIONS: list[Attrs] = [
    {"amount": "20.01"},
    {"refund": {"refund_line_items": 5}},
    {"refund": {}},
]


def test_a_failed_refund_cancels_no_order(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop)

    answers = [api.post(f"orders/{order.pk}/cancel.json", body) for body in BAD_CANCELLATIONS]

    assert [response.status_code for response in answers] == [422, 422, 422]
    assert answers[0].json() == {"errors": {"transactions.0.amount": ["must be less than or equal to 20.00"]}}
    assert "refund.refund_line_items" in answers[1].json()["errors"]
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
    with shop_scope(shop):
        Refund.objects.update(created_at=timezone.now() - timedelta(seconds=61))
    assert api.post(path, body).status_code == 201


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
    (line,), _ = get_row_ids(order)
    units = [{"line_item_id": line, "quantity": 1}]
    goods = {"refund_line_items": units, "shipping": {"amount": "1.00"}}

    post_refund(api, order, {"notify": True, **goods, "transactions": [{"amount": "11.00"}]})
    with shop_scope(shop):
        job = Job.objects.get(task="refunds.notification")
    queue.run_job(job.key)

    (message,) = mail.outbox
    assert message.to == ["ada@example.com"]
    assert "1 × Mug\nShipping\n" in message.body
    assert "Duties" not in message.body
    assert "Refunded: 11.00 USD" in message.body


def test_the_erasure_of_a_person_takes_the_notes(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, email="ada@example.com")
    post_refund(api, order, {"note": "for ada", "transactions": [{"amount": "1.00"}]})

    with shop_scope(shop):
        customer = Customer.objects.get()
        assert personal_data.collect_data(customer)["refunds"] == [{"order": order.name, "note": "for ada"}]
        personal_data.redact_customer(customer, actor="system", at=timezone.now())
        assert Refund.objects.get().note == ""


def test_a_deleted_order_takes_its_refunds(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop)
    (line,), _ = get_row_ids(order)
    post_refund(api, order, {"refund_line_items": [{"line_item_id": line}], "transactions": [{"amount": "10.00"}]})

    with shop_scope(shop):
        updates.delete_order(Order.objects.get(), actor="system", at=timezone.now())

        assert not Refund.objects.exists()
        assert not RefundLineItem.objects.exists()


def test_subscribers_get_the_refund_as_rest_shows_it(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, shipping=POST)
    (line,), _ = get_row_ids(order)
    body = {"refund_line_items": [{"line_item_id": line}], "shipping": {"full_refund": True}}

    def listens(shop: Shop, topic: str) -> frozenset[str]:
        return frozenset({"2026-07"})

    with patch.dict(audiences, {listens: None}):
        refund_data = post_refund(api, order, {**body, "transactions": [{"amount": "15.00"}]})

    with shop_scope(shop):
        payloads = {
            row.topic: (row.payload or {})["2026-07"] for row in Event.objects.order_by("pk").exclude(payload=None)
        }
    assert payloads["refunds/create"] == refund_data
    assert payloads["order_transactions/create"]["id"] == refund_data["transactions"][0]["id"]
    assert payloads["orders/updated"]["refunds"] == [refund_data]


pytestmark = pytest.mark.django_db


def test_units_that_were_taken_from_nowhere_ask_once_where_they_belong(api: ApiClient) -> None:
    counts = []
    for lines in (2, 20):
        order = make_order(api.installation.shop, lines=[MUG] * lines)
        units = [{"line_item_id": line["id"], "quantity": 1} for line in reload_order(api, order.pk)]
        body = {"refund": {"restock": True, "refund_line_items": units}}
        with CaptureQueriesContext(connection) as statements:
            assert api.post(f"orders/{order.pk}/refunds.json", body).status_code == 201
        counts.append(len(statements))

    assert counts[1] <= counts[0] + 3


def reload_order(api: ApiClient, pk: int) -> list[dict[str, int]]:
    lines: list[dict[str, int]] = api.get(f"orders/{pk}.json").json()["order"]["line_items"]
    return lines
