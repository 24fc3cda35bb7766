"""Tests of canceling an order in the panel with a refund."""

from decimal import Decimal

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.refunds.models import Refund
from apps.shops.models import Shop
from tests.conftest import Response
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith
from tests.panel.shown import form_of
from tests.refunds.factories import money_agrees, movement_of

CANCEL = "orders_order_cancel"


def send(panel: Panel, order: Order, page: Response, **typed: str) -> Response:
    data = {**form_of(page.content, "reason", "form_key").data, **typed}
    return panel.http.post(panel.url(CANCEL, order.pk), data, follow=True)


def test_a_cancellation_gives_money_back_after_a_second_look(panel_with: PanelWith, shop: Shop) -> None:
    panel = panel_with("orders", "edit_orders", "refund_orders")
    order = make_order(shop, financial_status="paid")

    look = send(panel, order, panel.get(CANCEL, order.pk), amount="15.00", reason="fraud", step="look")
    with shop_scope(shop):
        nothing_yet = Refund.objects.count()
    result = send(panel, order, look, step="cancel")

    assert "Cancel order and refund 15.00 USD" in " ".join(look.content.decode().split())
    assert nothing_yet == 0
    assert "was canceled and 15.00 USD refunded." in result.content.decode()
    with shop_scope(shop):
        refund, after = Refund.objects.get(), Order.objects.get(pk=order.pk)
    assert movement_of(refund).amount == 15
    assert (after.status, after.cancel_reason, after.total_refunded) == ("cancelled", "fraud", Decimal(15))
    assert money_agrees()


def test_without_an_amount_or_the_permission_money_stays(panel_with: PanelWith, shop: Shop) -> None:
    clerk, panel = panel_with("orders", "edit_orders"), panel_with("orders", "edit_orders", "refund_orders")
    orders = [make_order(shop, financial_status="paid") for _ in range(2)]

    pages = [person.get(CANCEL, order.pk) for person, order in zip((clerk, panel), orders, strict=True)]
    send(clerk, orders[0], pages[0], amount="15.00", step="cancel")
    send(panel, orders[1], pages[1], step="look")

    assert ["amount" in form_of(page.content, "reason", "form_key").names for page in pages] == [False, True]
    with shop_scope(shop):
        assert [row.status for row in Order.objects.all()] == ["cancelled", "cancelled"]
        assert not Refund.objects.exists()


def test_an_amount_that_cannot_go_back_is_refused(panel_with: PanelWith, shop: Shop) -> None:
    panel = panel_with("orders", "edit_orders", "refund_orders")
    order = make_order(shop, transactions=[{"kind": "sale", "amount": Decimal("20.00")}])

    more = send(panel, order, panel.get(CANCEL, order.pk), amount="20.01", step="cancel")
    small = send(panel, order, more, amount="1.001", step="cancel")

    assert "Enter at most 20.00 USD." in more.content.decode()
    assert "Too many decimals for USD." in small.content.decode()
    with shop_scope(shop):
        assert Order.objects.get().status == "open"
