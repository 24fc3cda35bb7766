"""Tests for items that are refunded without restocking."""

from importlib import import_module

import pytest
from django.apps import apps

from apps.core.tenancy.models import Shop
from apps.orders.models import LineItem, Order
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order

pytestmark = pytest.mark.usefixtures("in_shop")


def test_the_migration_fills_the_quantity_of_earlier_refunds(api: ApiClient, shop: Shop) -> None:
    orders = [make_order(shop), make_order(shop)]
    unit = {"line_item_id": orders[0].line_items.get().pk, "quantity": 1}
    for _ in range(2):
        response = api.post(f"orders/{orders[0].pk}/refunds.json", {"refund": {"refund_line_items": [unit]}})
        assert response.status_code == 201
    LineItem.objects.update(unrestocked_quantity=0)
    Order.objects.update(fulfillment_status="restocked")
    versions = list(Order.objects.order_by("pk").values_list("version", flat=True))

    import_module("apps.refunds.migrations.0003_fill_unrestocked_quantity").fill_unrestocked_quantities(apps, None)

    assert list(LineItem.objects.order_by("pk").values_list("unrestocked_quantity", flat=True)) == [2, 0]
    assert list(Order.objects.order_by("pk").values_list("fulfillment_status", flat=True)) == ["", "restocked"]
    after = list(Order.objects.order_by("pk").values_list("version", flat=True))
    assert [old != new for old, new in zip(versions, after, strict=True)] == [True, False]
