from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.orders.domain import risks
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel

pytestmark = pytest.mark.usefixtures("in_shop")


def test_staff_see_displayed_risks_on_the_order_page(api: ApiClient, shop: Shop, order_client: Panel) -> None:
    order = make_order(shop)
    attrs = {"score": Decimal("0.9"), "recommendation": "cancel", "cause_cancel": True}
    for message, display in (("Shown to staff", True), ("Hidden from staff", False)):
        risks.create_risk(
            order,
            {**attrs, "message": message, "display": display},
            app=api.installation.app,
            actor="system",
            at=timezone.now(),
        )

    page = order_client.get("orders_order_change", order.pk).content.decode()

    assert "Shown to staff" in page
    assert "Hidden from staff" not in page
    assert "The app recommends not to fulfill this order." in page
