from decimal import Decimal

from django.utils import timezone

from apps.core.types import Attrs
from apps.orders.models import Order
from apps.refunds.api.payment_gateways import get_gateway_id
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest
from tests.samples import SampleContext, register_sample
from tests.support.factories.orders import make_order


def make_paid_order(world: SampleContext) -> Attrs:
    order = make_order(shipping=[{"title": "Post", "price": Decimal("5.00"), "tax_lines": []}], financial_status="paid")
    return {"order_id": order.pk, "line": order.line_items.get().pk, "payment": order.transactions.get().pk}


def make_refund_ids(world: SampleContext) -> Attrs:
    rows = make_paid_order(world)
    request = RefundRequest(line_inputs=[RefundLineInput(rows["line"])])
    refund = create.create_refund(Order.objects.get(pk=rows["order_id"]), request, actor="system", at=timezone.now())
    return {**rows, "id": refund.pk}


def build_calculation_body(rows: Attrs) -> Attrs:
    units = {"line_item_id": rows["line"], "quantity": 1, "restock_type": "no_restock"}
    return {"refund": {"currency": "USD", "shipping": {"full_refund": True}, "refund_line_items": [units]}}


def build_refund_body(rows: Attrs) -> Attrs:
    body = build_calculation_body(rows)["refund"]
    payment = {"parent_id": rows["payment"], "amount": "15.00", "kind": "refund", "gateway": "manual"}
    return {"refund": {**body, "note": "Broken", "notify": False, "transactions": [payment]}}


register_sample("GET orders/<order_id>/refunds.json", arrange=make_refund_ids)
register_sample("POST orders/<order_id>/refunds.json", build_refund_body, arrange=make_paid_order, status=201)
register_sample("POST orders/<order_id>/refunds/calculate.json", build_calculation_body, arrange=make_paid_order)
register_sample("GET orders/<order_id>/refunds/<id>.json", arrange=make_refund_ids)
register_sample("GET payment_gateways.json")
register_sample("GET payment_gateways/<id>.json", arrange=lambda world: {"id": get_gateway_id(world.shop.pk, "manual")})
