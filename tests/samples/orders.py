"""Requests for orders, transactions and events."""

from decimal import Decimal
from typing import Any

from apps.catalog.models import Product
from apps.events.models import Event
from tests.orders.factories import make_order, make_variant
from tests.samples import World, sample

ORDER = {
    "order": {
        "line_items": [{"title": "Mug", "price": "10.00", "quantity": 2}],
        "email": "ada@example.com",
        "note": "Ring twice",
        "tags": "vip",
        "currency": "USD",
        "shipping_lines": [{"title": "Post", "price": "5.00"}],
        "discount_codes": [{"code": "TEN", "amount": "1.00", "type": "fixed_amount"}],
        "customer": {"first_name": "Ada", "email": "ada@example.com"},
        "shipping_address": {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden"},
        "transactions": [{"kind": "sale", "amount": "24.00"}],
        "total_price": "24.00",
    }
}
CHANGE = {"order": {"note": "Ring twice", "tags": "vip", "email": "ada@example.com", "phone": "+46 8 123 456 78"}}
PAYMENT = {"transaction": {"kind": "sale", "amount": "20.00", "currency": "USD", "gateway": "manual"}}
CANCELLATION = {"reason": "customer", "restock": True, "email": False}


def one_order(world: World) -> dict[str, Any]:
    return {"id": make_order(email="some@example.com").pk}


def of_order(world: World) -> dict[str, Any]:
    return {"order_id": one_order(world)["id"]}


def of_customer(world: World) -> dict[str, Any]:
    return {"customer_id": make_order(email="some@example.com").customer_id}


def one_transaction(world: World) -> dict[str, Any]:
    order = make_order(transactions=[{"kind": "sale", "amount": Decimal("20.00")}])
    return {"order_id": order.pk, "id": order.transactions.get().pk}


def of_product(world: World) -> dict[str, Any]:
    variant = make_variant(world.shop)
    return {"product_id": Product.objects.get(pk=variant.product_id).pk}


def one_event(world: World) -> dict[str, Any]:
    make_order()
    return {"id": Event.objects.get(topic="orders/create").pk}


sample("GET orders.json", arrange=one_order)
sample("POST orders.json", ORDER, status=201)
sample("GET orders/count.json", arrange=one_order)
sample("GET orders/<id>.json", arrange=one_order)
sample("PUT orders/<id>.json", CHANGE, arrange=one_order)
sample("DELETE orders/<id>.json", arrange=one_order)
sample("POST orders/<id>/cancel.json", CANCELLATION, arrange=one_order, bodiless=True)
sample("POST orders/<id>/close.json", arrange=one_order, bodiless=True)
sample("POST orders/<id>/open.json", arrange=one_order, bodiless=True)
sample("GET orders/<order_id>/transactions.json", arrange=of_order)
sample("POST orders/<order_id>/transactions.json", PAYMENT, arrange=of_order, status=201)
sample("GET orders/<order_id>/transactions/count.json", arrange=of_order)
sample("GET orders/<order_id>/transactions/<id>.json", arrange=one_transaction)
sample("GET orders/<order_id>/events.json", arrange=of_order)
sample("GET customers/<customer_id>/orders.json", arrange=of_customer)
sample("GET products/<product_id>/events.json", arrange=of_product)
sample("GET events.json", arrange=one_event)
sample("GET events/count.json", arrange=one_event)
sample("GET events/<id>.json", arrange=one_event)
