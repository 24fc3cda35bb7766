"""Tests for items that are refunded without restocking."""

from decimal import Decimal
from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.orders.models import LineItem, Order
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order

pytestmark = pytest.mark.usefixtures("in_shop")


def fill_unrestocked_quantities() -> None:
    import_module("apps.refunds.migrations.0003_fill_unrestocked_quantity").fill_unrestocked_quantities(apps, None)


def void_canceled_orders() -> None:
    import_module("apps.orders.migrations.0004_void_canceled_orders").void_canceled_orders(apps, None)


def test_the_migration_fills_the_quantity_of_earlier_refunds(api: ApiClient, shop: Shop) -> None:
    orders = [make_order(shop), make_order(shop)]
    unit = {"line_item_id": orders[0].line_items.get().pk, "quantity": 1}
    for _ in range(2):
        response = api.post(f"orders/{orders[0].pk}/refunds.json", {"refund": {"refund_line_items": [unit]}})
        assert response.status_code == 201
    LineItem.objects.update(unrestocked_quantity=0)
    Order.objects.update(fulfillment_status="restocked")
    versions = list(Order.objects.order_by("pk").values_list("version", flat=True))

    fill_unrestocked_quantities()

    assert list(LineItem.objects.order_by("pk").values_list("unrestocked_quantity", flat=True)) == [2, 0]
    assert list(Order.objects.order_by("pk").values_list("fulfillment_status", flat=True)) == ["", "restocked"]
    after = list(Order.objects.order_by("pk").values_list("version", flat=True))
    assert [old != new for old, new in zip(versions, after, strict=True)] == [True, False]


def test_the_migration_counts_only_items_that_are_still_there(api: ApiClient, shop: Shop) -> None:
    order = make_order(shop, lines=[{"title": "Mug", "price": Decimal(10), "quantity": 3}])
    unit = {"line_item_id": order.line_items.get().pk, "quantity": 1}
    assert api.post(f"orders/{order.pk}/refunds.json", {"refund": {"refund_line_items": [unit]}}).status_code == 201
    # The refund took an item that an edit had removed, so two of three items are current and fulfilled.
    LineItem.objects.update(
        unrestocked_quantity=0, refunded_quantity=1, current_quantity=2, fulfilled_quantity=2, fulfillable_quantity=0
    )

    fill_unrestocked_quantities()

    assert LineItem.objects.get().unrestocked_quantity == 0


def test_the_migrations_change_no_read_only_shop(api: ApiClient, shop: Shop) -> None:
    order = make_order(shop)
    unit = {"line_item_id": order.line_items.get().pk, "quantity": 1}
    assert api.post(f"orders/{order.pk}/refunds.json", {"refund": {"refund_line_items": [unit]}}).status_code == 201
    assert api.post(f"orders/{order.pk}/cancel.json", {}).status_code == 200
    LineItem.objects.update(unrestocked_quantity=0)
    Order.objects.update(financial_status="pending")

    for read_only_at, quantity, status in ((timezone.now(), 0, "pending"), (None, 1, "voided")):
        Shop.objects.update(read_only_at=read_only_at)
        fill_unrestocked_quantities()
        void_canceled_orders()

        assert LineItem.objects.get().unrestocked_quantity == quantity
        assert Order.objects.get().financial_status == status
