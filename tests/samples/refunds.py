"""Requests for refunds."""

from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.orders.models import Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest
from tests.orders.factories import make_order
from tests.samples import World, sample


def paid_order(world: World) -> dict[str, Any]:
    order = make_order(shipping=[{"title": "Post", "price": Decimal("5.00"), "tax_lines": []}], financial_status="paid")
    return {
        "order_id": order.pk,
        "line": order.line_items.get().pk,
        "payment": order.transactions.get().pk,
    }


def refund_of(order: Order) -> int:
    request = RefundRequest(line_inputs=[RefundLineInput(order.line_items.get().pk)])
    return create.create_refund(order, request, actor="system", at=timezone.now()).pk


def refunded_order(world: World) -> dict[str, Any]:
    rows = paid_order(world)
    refund_of(Order.objects.get(pk=rows["order_id"]))
    return rows


def one_refund(world: World) -> dict[str, Any]:
    rows = paid_order(world)
    return {"order_id": rows["order_id"], "id": refund_of(Order.objects.get(pk=rows["order_id"]))}


def calculation(rows: dict[str, Any]) -> dict[str, Any]:
    units = {"line_item_id": rows["line"], "quantity": 1, "restock_type": "no_restock"}
    return {"refund": {"currency": "USD", "shipping": {"full_refund": True}, "refund_line_items": [units]}}


def refund(rows: dict[str, Any]) -> dict[str, Any]:
    body = calculation(rows)["refund"]
    payment = {"parent_id": rows["payment"], "amount": "15.00", "kind": "refund", "gateway": "manual"}
    return {"refund": {**body, "note": "Broken", "notify": False, "transactions": [payment]}}


sample("GET orders/<order_id>/refunds.json", arrange=refunded_order)
sample("POST orders/<order_id>/refunds.json", refund, arrange=paid_order, status=201)
sample("POST orders/<order_id>/refunds/calculate.json", calculation, arrange=paid_order)
sample("GET orders/<order_id>/refunds/<id>.json", arrange=one_refund)
