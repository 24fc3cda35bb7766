from decimal import Decimal

from django.utils import timezone

from apps.core.events.models import Event
from apps.core.types import Attrs
from apps.orders.domain.risks import create_risk
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories.orders import make_order, make_variant

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


def make_order_id(world: SampleContext) -> Attrs:
    return {"id": make_order(email="some@example.com").pk}


def make_order_parent(world: SampleContext) -> Attrs:
    return {"order_id": make_order_id(world)["id"]}


def make_transaction_ids(world: SampleContext) -> Attrs:
    order = make_order(transactions=[{"kind": "sale", "amount": Decimal("20.00")}])
    return {"order_id": order.pk, "id": order.transactions.get().pk}


def make_event_id(world: SampleContext) -> Attrs:
    make_order()
    return {"id": Event.objects.get(topic="orders/create").pk}


register_resource("orders", ORDER, CHANGE, make_order_id)
register_sample("POST orders/<id>/cancel.json", CANCELLATION, arrange=make_order_id, bodiless=True)
register_sample("POST orders/<id>/close.json", arrange=make_order_id, bodiless=True)
register_sample("POST orders/<id>/open.json", arrange=make_order_id, bodiless=True)
register_sample("GET orders/<order_id>/transactions.json", arrange=make_order_parent)
register_sample("POST orders/<order_id>/transactions.json", PAYMENT, arrange=make_order_parent, status=201)
register_sample("GET orders/<order_id>/transactions/count.json", arrange=make_order_parent)
register_sample("GET orders/<order_id>/transactions/<id>.json", arrange=make_transaction_ids)
register_sample("GET orders/<order_id>/events.json", arrange=make_order_parent)
register_sample(
    "GET customers/<customer_id>/orders.json",
    arrange=lambda world: {"customer_id": make_order(email="some@example.com").customer_id},
)
register_sample(
    "GET products/<product_id>/events.json", arrange=lambda world: {"product_id": make_variant(world.shop).product_id}
)
register_sample("GET events.json", arrange=make_event_id)
register_sample("GET events/count.json", arrange=make_event_id)
register_sample("GET events/<id>.json", arrange=make_event_id)


RISK = {"risk": {"message": "Paid from abroad", "score": "0.8", "recommendation": "investigate", "source": "Radar"}}


def make_risk_ids(world: SampleContext) -> Attrs:
    order = make_order(email="some@example.com")
    attrs = {"message": "Paid from abroad", "score": Decimal("0.8"), "recommendation": "cancel"}
    risk = create_risk(order, attrs, app=world.installation.app, actor="system", at=timezone.now())
    return {"order_id": order.pk, "id": risk.pk}


def make_tender(world: SampleContext) -> Attrs:
    make_transaction_ids(world)
    return {}


register_resource(
    "orders/<order_id>/risks", RISK, RISK, make_risk_ids, many=make_risk_ids, parent=make_order_parent, count=False
)
register_sample("GET tender_transactions.json", arrange=make_tender)
