"""Import orders in all states, and bring them up to date: payments, refunds, fulfillments, stock and customers."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import consistency_checks
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.documents.models import IssuedDocument
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.models import InventoryLevel
from apps.notifications.models import Notification
from apps.orders.models import LineItem, Order, Transaction
from apps.store_imports.models import ImportProblem, MappedId
from apps.store_imports.resources.orders import stream
from tests.imports_exports.test_order_histories import OTHER_IN_OTHER_SHOP, find_differences, replace_ids
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import FaultyProxy
from tests.store_imports.old_store import post
from tests.store_imports.test_import_store import OWN_TABLES, get_counts
from tests.support import order_histories
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.order_histories import Histories, OrderHistory
from tests.support.types import Json, JsonObject

# The checks of what an import of orders writes.
CHECKS = set(consistency_checks.consistency_checks) - {"lowest prices", "variant quantities"}
DIFFERENT = OTHER_IN_OTHER_SHOP | {"customer", "created_at", "updated_at", "supported_actions", "inventory_item_id"}
OTHER_STEPS = (OrderHistory.pay, OrderHistory.fulfill, OrderHistory.refund, OrderHistory.edit, OrderHistory.cancel)
UNFINISHED = {"open", "in_progress", "scheduled", "on_hold"}


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAGE_SIZE", 3)


def create_product(api: ApiClient, stock: int = 20, **values: object) -> Json:
    variant = {"price": "10.00", "sku": "MUG", "inventory_management": "platform"}
    product = post(api, "products", "product", {"title": "Mug", "variants": [variant], **values})
    location = api.get("locations.json").json()["locations"][0]["id"]
    item = product["variants"][0]["inventory_item_id"]
    body = {"inventory_item_id": item, "location_id": location, "available": stock}
    assert api.post("inventory_levels/set.json", body).status_code == 200
    return product


def create_order(api: ApiClient, *lines: JsonObject, **values: object) -> Json:
    order = post(api, "orders", "order", {"line_items": list(lines), **values})
    with shop_scope(api.installation.shop):
        routing.route_order(order["id"], at=timezone.now())
    return order


def send(api: ApiClient, path: str, body: object = None) -> Json:
    response = api.post(path, body)
    assert response.status_code in {200, 201}, response.content
    return response.json()


def fulfill(api: ApiClient, order_id: int, quantity: int) -> Json:
    row = api.get(f"orders/{order_id}/fulfillment_orders.json").json()["fulfillment_orders"][-1]
    lines = [{"id": row["line_items"][0]["id"], "quantity": quantity}]
    part = {"fulfillment_order_id": row["id"], "fulfillment_order_line_items": lines}
    tracking = {"number": "TRACK-1", "company": "Post", "url": "https://post.example/1"}
    body = {"line_items_by_fulfillment_order": [part], "tracking_info": tracking}
    return send(api, "fulfillments.json", {"fulfillment": body})["fulfillment"]


def describe_orders(api: ApiClient) -> dict[str, Any]:
    """Return all orders with their parts, by name, with ids replaced by the position of their first occurrence."""
    return {order["name"]: describe_order(api, order) for order in read_orders(api)}


def read_orders(api: ApiClient) -> list[JsonObject]:
    return sorted(api.get("orders.json", status="any", limit=250).json()["orders"], key=lambda order: order["name"])


def describe_order(api: ApiClient, order: JsonObject) -> Json:
    pk = order["id"]
    transactions = api.get(f"orders/{pk}/transactions.json").json()["transactions"]
    for row in transactions:
        # Another gift card of the other shop may have this id.
        row["receipt"].pop("gift_card_id", None)
    rows = api.get(f"orders/{pk}/fulfillment_orders.json").json()["fulfillment_orders"]
    waiting = [
        {
            "status": row["status"],
            "request_status": row["request_status"],
            "fulfill_at": row["fulfill_at"],
            "fulfillment_holds": row["fulfillment_holds"],
            "assigned_location": {**row["assigned_location"], "location_id": None},
            "lines": sorted((line["fulfillable_quantity"], line["line_item_id"]) for line in row["line_items"]),
        }
        for row in rows
        if row["status"] in UNFINISHED
    ]
    waiting = sorted(waiting, key=lambda row: str((row["status"], [count for count, _ in row["lines"]])))
    for row in waiting:
        row["lines"] = [{"count": count, "line_item_id": line} for count, line in row["lines"] if count]
    email = order["customer"] and order["customer"]["email"]
    kept = {name: value for name, value in order.items() if name not in DIFFERENT}
    moments = {name: order[name] for name in ("created_at", "source_identifier")}
    return replace_ids({"order": kept, "transactions": transactions, "waiting": waiting, "email": email, **moments}, {})


def check_equal(importer: StoreImporter) -> None:
    theirs, ours = (remove_times(describe_orders(api)) for api in (importer.source, importer.target))
    differences = find_differences(theirs, ours)
    assert differences == [], "\n".join(differences)
    with shop_scope(importer.shop):
        assert list(consistency_checks.find_differences(CHECKS)) == []


def remove_times(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: remove_times(item) for name, item in value.items() if name != "updated_at"}
    return [remove_times(item) for item in value] if isinstance(value, list) else value


def run_import(importer: StoreImporter) -> str:
    """Import the store, and show the reasons if an object is not imported."""
    try:
        return importer.run()
    except CommandError:
        pytest.fail(importer.output.getvalue())


def get_available(importer: StoreImporter) -> int:
    with shop_scope(importer.shop):
        return InventoryLevel.objects.get().available


def test_orders_in_all_states_are_equal_and_a_second_run_writes_nothing(importer: StoreImporter) -> None:
    source = importer.source
    product = create_product(source)
    variant = {"variant_id": product["variants"][0]["id"], "quantity": 3}
    custom = {"title": "Engraving", "price": "4.99", "quantity": 2}
    tax = [{"title": "VAT", "rate": "0.19"}]
    ada = {"email": "ada@example.com", "first_name": "Ada"}
    stocked = {"inventory_behaviour": "decrement_obeying_policy"}
    create_order(source, custom, tags="b, a", note="Ring", name="ignored", source_name="web", po_number="PO-1")
    partial = create_order(source, {**variant, "tax_lines": tax}, customer=ada, **stocked)
    card = post(source, "gift_cards", "gift_card", {"initial_value": "50.00"})
    payment = {"kind": "sale", "amount": "5.00", "gateway": "gift_card", "receipt": {"gift_card_id": card["id"]}}
    send(source, f"orders/{partial['id']}/transactions.json", {"transaction": payment})
    failed = {"kind": "sale", "amount": "5.00", "status": "failure", "message": "Declined", "error_code": "E1"}
    send(source, f"orders/{partial['id']}/transactions.json", {"transaction": failed})
    create_order(source, custom, financial_status="authorized", customer=ada)
    voided = create_order(source, custom, financial_status="authorized")
    send(source, f"orders/{voided['id']}/transactions.json", {"transaction": {"kind": "void"}})
    sent = create_order(
        source, variant, financial_status="paid", customer=ada, **stocked,
        shipping_lines=[{"title": "Post", "price": "4.90", "tax_lines": tax}],
        discount_codes=[{"code": "TEN", "amount": "10", "type": "percentage"}],
    )  # fmt: skip
    fulfill(source, sent["id"], 2)
    refund = {
        "refund_line_items": [
            {"line_item_id": sent["line_items"][0]["id"], "quantity": 1, "restock_type": "return",
             "location_id": source.get("locations.json").json()["locations"][0]["id"]}
        ],
        "shipping": {"full_refund": True}, "note": "Broken", "currency": "USD",
        "transactions": [
            {"parent_id": source.get(f"orders/{sent['id']}/transactions.json").json()["transactions"][0]["id"],
             "amount": "9.00", "kind": "refund", "gateway": "manual"}
        ],
    }  # fmt: skip
    send(source, f"orders/{sent['id']}/refunds.json", {"refund": refund})
    canceled = create_order(source, variant, financial_status="paid", **stocked)
    send(source, f"orders/{canceled['id']}/cancel.json", {"reason": "fraud", "restock": True})
    archived = create_order(source, custom, financial_status="paid", created_at="2024-01-02T03:04:05Z")
    fulfill(source, archived["id"], 2)
    send(source, f"orders/{archived['id']}/close.json")
    held = create_order(source, variant, **stocked)
    row = source.get(f"orders/{held['id']}/fulfillment_orders.json").json()["fulfillment_orders"][0]
    hold = {"fulfillment_hold": {"reason": "incorrect_address", "reason_notes": "Ask"}}
    send(source, f"fulfillment_orders/{row['id']}/hold.json", hold)
    create_order(
        source, {"title": "Tea", "price": "3.33", "quantity": 3, "tax_lines": tax}, currency="USD",
        presentment_currency="EUR", exchange_rate="0.912345678901",
        transactions=[{"kind": "sale", "currency": "EUR", "amount": "4.00"}],
    )  # fmt: skip
    gone = create_product(source, title="Gone", variants=[{"price": "7.00"}])
    create_order(source, {"variant_id": gone["variants"][0]["id"], "quantity": 1}, test=True)
    assert source.delete(f"products/{gone['id']}.json").status_code == 200
    with shop_scope(source.installation.shop):
        available = InventoryLevel.objects.get().available
        expected = Customer.objects.values_list("orders_count", "total_spent", "last_order_name").get()

    output = run_import(importer)

    assert get_counts(output)["orders"] == [10, 0, 0, 0], output
    (imported,) = importer.target.get("gift_cards.json").json()["gift_cards"]
    # The payment of the store is not charged again.
    assert (imported["balance"], imported["last_characters"]) == ("45.00", card["last_characters"])
    check_equal(importer)
    assert get_available(importer) == available == 20 - 3 - 3 + 1 - 3
    with shop_scope(importer.shop):
        assert Customer.objects.values_list("orders_count", "total_spent", "last_order_name").get() == expected
        assert (Notification.objects.count(), IssuedDocument.objects.count()) == (0, 0)
        assert Event.objects.filter(topic="orders/create").count() == 10
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        assert get_counts(importer.run())["orders"] == [0, 0, 10, 0]
    check_work_continues(importer, held["name"])


def check_work_continues(importer: StoreImporter, name: str) -> None:
    """Check that an imported order can be fulfilled and returned, and that new orders have higher numbers."""
    target, available = importer.target, get_available(importer)
    order = next(row for row in read_orders(target) if row["name"] == name)
    row = target.get(f"orders/{order['id']}/fulfillment_orders.json").json()["fulfillment_orders"][0]
    send(target, f"fulfillment_orders/{row['id']}/release_hold.json")
    fulfill(target, order["id"], 1)
    assert get_available(importer) == available
    line = {"line_item_id": order["line_items"][0]["id"], "quantity": 1, "location_id": row["assigned_location_id"]}
    for kind in ("return", "cancel"):
        body = {"refund_line_items": [{**line, "restock_type": kind}], "currency": "USD"}
        send(target, f"orders/{order['id']}/refunds.json", {"refund": body})
    assert get_available(importer) == available + 2
    new = create_order(target, {"title": "New", "price": "1.00"})
    assert new["order_number"] == max(row["order_number"] for row in read_orders(importer.source)) + 1
    with shop_scope(importer.shop):
        assert list(consistency_checks.find_differences(CHECKS)) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_orders_with_random_histories_are_brought_up_to_date(
    importer: StoreImporter, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = importer.source
    # The API does not show exchange rates, so tax lines in a second currency can differ by the smallest unit.
    monkeypatch.setattr(order_histories, "CURRENCIES", (("USD", "USD", None), ("JPY", "JPY", None)))
    with shop_scope(source.installation.shop):
        variants = [create_product(source, title=f"Mug {number}")["variants"][0]["id"] for number in range(2)]
        location = source.get("locations.json").json()["locations"][0]["id"]
        histories = Histories(source, Random(seed), variants, [location], "manual")
        orders = [order for order in (OrderHistory(histories) for _ in range(5)) if order.pk is not None]
        for _ in range(2):
            for order in orders:
                for step in histories.random.choices(OTHER_STEPS, k=3):
                    step(order)
            finish_refunds(source)
            run_import(importer)
            check_equal(importer)
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        assert get_counts(importer.run())["orders"] == [0, 0, len(orders), 0]


def finish_refunds(api: ApiClient) -> None:
    """Let the payment provider accept the pending refunds, which are not imported before."""
    with shop_scope(api.installation.shop):
        assert not Transaction.objects.filter(kind="refund", status="pending").exists()


def test_later_changes_of_an_order_add_only_what_is_new(importer: StoreImporter, proxy: FaultyProxy) -> None:
    source = importer.source
    product = create_product(source)
    line = {"variant_id": product["variants"][0]["id"], "quantity": 4}
    order = create_order(
        source, line, financial_status="paid", inventory_behaviour="decrement_obeying_policy",
        customer={"email": "ada@example.com"},
    )  # fmt: skip
    plain = create_order(source, {"title": "Unpaid", "price": "1.00"})
    fulfill(source, order["id"], 1)
    importer.run()
    ids = get_ids(importer)
    requests = Counter(path.split("/")[-1].partition("?")[0] for path in proxy.paths)
    fulfill(source, order["id"], 1)
    place = source.get("locations.json").json()["locations"][0]["id"]
    line_id = order["line_items"][0]["id"]
    row = {"line_item_id": line_id, "quantity": 1, "restock_type": "cancel", "location_id": place}
    refund: JsonObject = {"refund_line_items": [row], "currency": "USD"}
    parent = source.get(f"orders/{order['id']}/transactions.json").json()["transactions"][0]["id"]
    refund["transactions"] = [{"parent_id": parent, "amount": "10.00", "kind": "refund", "gateway": "manual"}]
    send(source, f"orders/{order['id']}/refunds.json", {"refund": refund})
    assert source.put(f"orders/{order['id']}.json", {"order": {"tags": "later"}}).status_code == 200
    send(source, f"orders/{plain['id']}/cancel.json", {})

    counts = get_counts(run_import(importer))

    assert counts["orders"] == [0, 2, 0, 0]
    check_equal(importer)
    after = get_ids(importer)
    assert {key: after[key] for key in ids} == ids
    new = Counter(resource for resource, _ in after.keys() - ids.keys())
    assert new == {"transaction": 1, "refund": 1, "fulfillment": 1}
    with shop_scope(importer.shop):
        assert sum(LineItem.objects.get(variant__isnull=False).taken_from.values()) == 3
        assert Customer.objects.get().total_spent == 30
    assert get_available(importer) == 17
    # The transactions of the paid order, and the fulfillment orders of both.
    assert (requests["transactions.json"], requests["fulfillment_orders.json"]) == (1, 2)


def test_orders_that_the_store_routes_after_their_import_are_completed(importer: StoreImporter) -> None:
    line = {"variant_id": create_product(importer.source)["variants"][0]["id"], "quantity": 3}
    order = post(importer.source, "orders", "order", {"line_items": [line]})
    run_import(importer)
    with shop_scope(importer.shop):
        assert FulfillmentOrder.objects.get().lines.get().fulfillable_quantity == 3
    unchanged = run_import(importer)
    with shop_scope(importer.source.installation.shop):
        routing.route_order(order["id"], at=timezone.now())
        (routed,) = FulfillmentOrder.objects.all()

    for counts in ("0 new, 1 changed, 0 unchanged", "0 new, 0 changed, 1 unchanged"):
        assert f"orders: {counts}" in run_import(importer)

    assert "orders: 0 new, 0 changed, 1 unchanged" in unchanged
    check_equal(importer)
    with shop_scope(importer.shop):
        target = MappedId.objects.get(resource="fulfillment_order")
        assert (target.source_id, target.target_id) == (routed.pk, FulfillmentOrder.objects.get().pk)


def get_ids(importer: StoreImporter) -> dict[tuple[str, int], int]:
    resources = ("order", "line_item", "transaction", "refund", "fulfillment", "fulfillment_order")
    with shop_scope(importer.shop):
        rows = MappedId.objects.filter(resource__in=resources)
        return {(row.resource, row.source_id): row.target_id for row in rows}


def test_an_order_that_was_changed_in_this_shop_is_not_overwritten(importer: StoreImporter) -> None:
    order = create_order(importer.source, {"title": "Mug", "price": "10.00", "quantity": 2})
    importer.run()
    ours = read_orders(importer.target)[0]
    send(importer.target, f"orders/{ours['id']}/transactions.json", {"transaction": {"kind": "sale", "amount": "3.00"}})
    importer.run()
    assert importer.source.put(f"orders/{order['id']}.json", {"order": {"note": "New"}}).status_code == 200

    with pytest.raises(CommandError, match="1 object was not imported"):
        importer.run()

    with shop_scope(importer.shop):
        problem = ImportProblem.objects.get(is_failure=True)
        assert Order.objects.get().note == ""
    assert "The order has payments that were added in this shop" in problem.reason


def test_a_total_that_differs_is_named_and_the_order_is_not_imported(
    importer: StoreImporter, proxy: FaultyProxy
) -> None:
    order = create_order(importer.source, {"title": "Mug", "price": "10.00"}, financial_status="paid")
    create_order(importer.source, {"title": "Tea", "price": "5.00"})

    def change_total(path: str, data: JsonObject) -> None:
        for row in data.get("orders", ()):
            if row["id"] == order["id"]:
                row["current_total_price"] = "9.99"

    proxy.edit = change_total
    with pytest.raises(CommandError, match="1 object was not imported"):
        importer.run()

    with shop_scope(importer.shop):
        problem = ImportProblem.objects.get(is_failure=True)
    assert problem.source_id == order["id"]
    assert "current_total_price is 9.99 in the file, but would be 10.00" in problem.reason.replace(": ", " ")
    assert [row["line_items"][0]["title"] for row in read_orders(importer.target)] == ["Tea"]
