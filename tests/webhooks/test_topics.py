from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from jsonschema import Draft202012Validator

from apps.catalog.models import Product
from apps.core.events.models import Event
from apps.core.events.topics import get_all_topics
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import customers
from apps.customers.models import Customer
from apps.fulfillment.domain.fulfillment_orders import transitions
from apps.inventory.domain import stock
from apps.orders.domain import payments
from apps.orders.models import Transaction
from apps.webhooks.domain import topic_examples
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.domain.topics import CATALOG
from apps.webhooks.models import Delivery
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.fulfillment import make_fulfillment_order
from tests.support.factories.orders import make_order, make_variant
from tests.support.factories.refunds import create_bogus_order, refund_amount, run_refund_jobs
from tests.support.types import JsonObject
from tests.support.webhooks import make_subscription

VERSION = "2026-10"
BY: JsonObject = {"actor": "system", "at": timezone.now()}
ASPECTS = {
    "variants/in_stock": "read_products",
    "variants/out_of_stock": "read_products",
    "customer.tags_added": "read_customers",
    "customer.tags_removed": "read_customers",
    "tender_transactions/create": "read_orders",
    "fulfillment_holds/added": "read_merchant_managed_fulfillment_orders",
    "fulfillment_holds/released": "read_merchant_managed_fulfillment_orders",
}
# Topic families for objects that the product does not have, and topics for changes that cannot happen.
NO_FAMILY = {
    *{"bulk_operations", "carts", "checkouts", "collection_publications"},
    *{"customer_account_settings", "customer_groups", "customer_payment_methods", "domains", "locales"},
    *{"customers_whats_app_marketing_consent", "metafield_definitions", "metaobjects", "profiles"},
    *{"product_publications", "returns"},
}
CANNOT_HAPPEN = {
    *{"customer.joined_segment", "customer.left_segment", "orders/link_requested"},
    *{"fulfillment_orders/line_items_prepared_for_local_delivery", "fulfillment_orders/merged"},
    *{"fulfillment_orders/line_items_prepared_for_pickup", "fulfillment_orders/progress_reported"},
    *{"fulfillment_orders/manually_reported_progress_stopped"},
}
EXTENSIONS = {
    *{"articles", "blogs", "fulfillment_services", "mobile_platform_applications", "payment_handlers", "script_tags"},
}


def test_known_topics_exist_unless_their_part_of_a_shop_does_not() -> None:
    offered = {topic.name for topic in get_all_topics()}

    missing = CATALOG - offered

    assert {name for name in missing if name.partition("/")[0] not in NO_FAMILY} == CANNOT_HAPPEN
    assert not {name for name in offered if name.partition("/")[0] in NO_FAMILY}


def test_additional_topics_are_named_extensions() -> None:
    beyond = {topic.name for topic in get_all_topics() if topic.is_subscribable} - CATALOG

    other_beyond = {name for name in beyond if name.partition("/")[0] not in EXTENSIONS and "_metafields/" not in name}
    assert other_beyond == {"fulfillment_orders/deadline_set"}


@pytest.fixture
def subscribed_app(shop: Shop) -> Iterator[Shop]:
    installation = factories.make_installation(shop, sorted(set(ASPECTS.values())))
    for topic in ASPECTS:
        make_subscription(installation, f"https://apps.example.com/{topic}", topic=topic)
    # Reload the shop, because the original object has cached that no app is subscribed.
    received_shop = Shop.objects.get(pk=shop.pk)
    with shop_scope(received_shop):
        yield received_shop


def get_derived_events() -> list[tuple[str, Any]]:
    rows = Event.objects.filter(topic__in=ASPECTS).order_by("pk")
    return [(row.topic, (row.payload or {}).get(VERSION)) for row in rows]


def trigger_all(shop: Shop) -> None:
    variant = make_variant(shop, stock=0)
    item, primary_location = variant.inventory_item, stock.get_primary_location()
    for delta in (2, 1, -3):
        stock.adjust_available(item.pk, primary_location.pk, delta, **BY)
    customer = make_customer(tags="red, blue")
    customers.update_customer(customer, {"tags": "RED, green"}, **BY)
    customers.update_customer(customer, {"note": "Rings twice"}, **BY)
    row = make_fulfillment_order()
    transitions.hold_fulfillment_order(row, reason="other", notes="Later", **BY)
    transitions.hold_fulfillment_order(row, reason="incorrect_address", **BY)
    transitions.release_hold(row, **BY)


def test_each_change_creates_one_event(subscribed_app: Shop) -> None:
    trigger_all(subscribed_app)

    deliveries = get_derived_events()
    variant, customer = Product.objects.get().variants.get(), Customer.objects.get()
    stocks = [(topic, payload["id"], payload["inventory_quantity"]) for topic, payload in deliveries[:2]]
    assert stocks == [("variants/in_stock", variant.pk, 2), ("variants/out_of_stock", variant.pk, 0)]
    tags = [(topic, payload["customerId"], payload["tags"]) for topic, payload in deliveries[2:5]]
    gid = f"gid://platform/Customer/{customer.pk}"
    assert tags == [
        ("customer.tags_added", gid, ["blue", "red"]),
        ("customer.tags_added", gid, ["green"]),
        ("customer.tags_removed", gid, ["blue"]),
    ]
    assert deliveries[2][1]["occurredAt"] == "2026-03-02T12:00:00.000Z"
    holds = [(topic, payload["fulfillment_hold"]["reason"]) for topic, payload in deliveries[5:]]
    added, released = "fulfillment_holds/added", "fulfillment_holds/released"
    reasons = ["other", "incorrect_address"]
    assert holds == [*((added, reason) for reason in reasons), *((released, reason) for reason in reasons)]
    assert [len(payload["fulfillment_order"]["fulfillment_holds"]) for _, payload in deliveries[5:]] == [1, 2, 0, 0]
    # Two holds of one fulfillment order that are released together create two deliveries.
    while fan_out.create_deliveries().events:
        continue
    assert Delivery.objects.filter(topic=released).count() == 2


def test_events_without_subscribers_write_nothing(in_shop: Shop) -> None:
    trigger_all(in_shop)
    refund_amount(create_bogus_order(in_shop), "5.00")

    assert get_derived_events() == []


def test_untracked_items_are_never_out_of_stock(subscribed_app: Shop) -> None:
    variant = make_variant(subscribed_app)

    stock.adjust_available(variant.inventory_item_id, stock.get_primary_location().pk, 1, **BY)

    assert get_derived_events() == []


def test_transactions_create_events_when_money_moves(subscribed_app: Shop) -> None:
    order = create_bogus_order(subscribed_app)
    waits = make_order(subscribed_app, transactions=[{"kind": "authorization", "amount": Decimal(20)}])
    transaction = Transaction.objects.get(order=waits)
    payments.create_transaction(waits, {"kind": "capture", "parent_id": transaction.pk, "status": "pending"}, **BY)
    refund = refund_amount(order, "5.00")
    before = len(get_derived_events())
    run_refund_jobs(subscribed_app)

    deliveries = [payload for _, payload in get_derived_events()]
    assert before == 1
    sale, back = deliveries
    assert (sale["order_id"], sale["amount"], sale["currency"]) == (order.pk, "20.00", "USD")
    assert (sale["payment_method"], sale["payment_details"]) == ("credit_card", None)
    assert (back["order_id"], back["amount"]) == (order.pk, "-5.00")
    assert back["remote_reference"] == Transaction.objects.get(refund_payment__refund=refund).authorization


def test_the_page_of_topics_is_that_of_the_registry() -> None:
    call_command("list_webhook_topics", check=True)


def test_every_example_is_what_its_topic_sends_by_now() -> None:
    examples = dict(topic_examples.load_examples())
    topics = {topic.name: topic for topic in topic_examples.list_subscribable_topics()}

    assert examples.keys() == topics.keys()
    for name, payload in examples.items():
        shape = topics[name].get_schema
        assert shape is not None, name
        schema: Any = shape(VERSION)
        assert set(payload) == set(schema["properties"]) or schema.get("additionalProperties"), name
        Draft202012Validator(schema).validate(payload)


def test_examples_are_made_by_the_topics_own_renderers(subscribed_app: Shop) -> None:
    trigger_all(subscribed_app)

    examples = topic_examples.render_examples()

    assert examples["customer.tags_added"]["tags"] == ["RED"]
    assert examples["variants/in_stock"]["id"] == Product.objects.get().variants.get().pk
    assert examples["orders/create"]["line_items"][0]["title"] == "Mug"
    assert examples["products/delete"] == {"id": Product.objects.get().pk}
    assert "refunds/create" not in examples
