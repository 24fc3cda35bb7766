"""Tests for the demo shop's fulfillment orders: one in each status, a waiting warehouse, and consistent stock."""

from datetime import timedelta

from django.utils import timezone

from apps.fulfillment import demo
from apps.fulfillment.demo_warehouse import SERVICE_NAME
from apps.fulfillment.domain import consistency_checks
from apps.fulfillment.models import Fulfillment, FulfillmentOrder, FulfillmentService
from apps.inventory.domain import ledger_check
from apps.orders.models import Order
from apps.refunds import demo as refunds
from apps.refunds.models import Refund
from apps.shops.models import Shop
from apps.webhooks.models import Delivery
from tests.orders.factories import make_order, make_variant

STATES = {
    *(("open", "unsubmitted"), ("open", "submitted"), ("open", "rejected"), ("on_hold", "unsubmitted")),
    *(("scheduled", "unsubmitted"), ("in_progress", "unsubmitted"), ("in_progress", "accepted")),
    *(("in_progress", "cancellation_requested"), ("closed", "unsubmitted"), ("closed", "accepted")),
}


def test_the_demo_has_work_in_each_state_and_refunds(in_shop: Shop) -> None:
    for number in range(3):
        variant = make_variant(in_shop, sku=f"M{number}", stock=50)
    now = timezone.now()
    lines = [{"variant_id": variant.pk, "quantity": 3}]
    old = make_order(lines=lines, financial_status="paid", created_at=now - timedelta(days=6))

    demo.load_demo_fulfillment(in_shop, now)
    refunds.create_demo_refunds(in_shop, now)

    assert set(FulfillmentOrder.objects.values_list("status", "request_status")) == STATES
    shipment_statuses = set(Fulfillment.objects.values_list("shipment_status", flat=True))
    assert shipment_statuses == {"", "in_transit", "attempted_delivery", "delivered"}
    assert {"partial", "fulfilled"} <= set(Order.objects.values_list("fulfillment_status", flat=True))
    assert Refund.objects.count() == 4
    assert Refund.objects.get(order=old).refund_line_items.get().restock_type == "cancel"
    assert {"refunded", "partially_refunded"} <= set(Order.objects.values_list("financial_status", flat=True))
    assert FulfillmentOrder.objects.filter(fulfill_by__lt=now).exists()
    service = FulfillmentService.objects.get(name=SERVICE_NAME)
    assert FulfillmentOrder.objects.filter(assigned_location=service.location_id).count() == 6
    assert set(Delivery.objects.values_list("state", flat=True)) == {Delivery.State.CANCELLED}
    assert [
        *consistency_checks.find_wrong_fulfillable_quantities(),
        *consistency_checks.find_wrong_fulfilled_quantities(),
        *map(str, ledger_check.find_differences()),
    ] == []


def test_a_shop_without_goods_gets_the_warehouse_alone(in_shop: Shop) -> None:
    demo.load_demo_fulfillment(in_shop, timezone.now())
    refunds.create_demo_refunds(in_shop, timezone.now())

    assert set(FulfillmentOrder.objects.values_list("assigned_location__name", flat=True)) == {SERVICE_NAME}
    assert not Refund.objects.exists()
