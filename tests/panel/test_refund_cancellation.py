"""Tests for canceling an order in the panel with a refund."""

from decimal import Decimal

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.refunds.models import Refund
from apps.shops.models import Shop
from tests.conftest import Response
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith
from tests.panel.html_forms import get_form
from tests.refunds.factories import get_transaction, is_money_consistent

CANCEL = "orders_order_cancel"


def send_form(panel: Panel, order: Order, page: Response, **typed: str) -> Response:
    data = {**get_form(page.content, "reason", "form_key").data, **typed}
    return panel.http.post(panel.url(CANCEL, order.pk), data, follow=True)


def test_a_cancellation_gives_money_back_after_a_second_look(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("orders", "edit_orders", "refund_orders")
    order = make_order(shop, financial_status="paid")

    look = send_form(panel, order, panel.get(CANCEL, order.pk), amount="15.00", reason="fraud", step="look")
    with shop_scope(shop):
        nothing_yet = Refund.objects.count()
    result = send_form(panel, order, look, step="cancel")

    assert "Cancel order and refund 15.00 USD" in " ".join(look.content.decode().split())
    assert nothing_yet == 0
    assert "was canceled and 15.00 USD was refunded." in result.content.decode()
    with shop_scope(shop):
        refund, after = Refund.objects.get(), Order.objects.get(pk=order.pk)
    assert get_transaction(refund).amount == 15
    assert (after.status, after.cancel_reason, after.total_refunded) == ("cancelled", "fraud", Decimal(15))
    assert is_money_consistent()


def test_without_an_amount_or_the_permission_money_stays(admin_client_with: PanelWith, shop: Shop) -> None:
    clerk, panel = (
        admin_client_with("orders", "edit_orders"),
        admin_client_with("orders", "edit_orders", "refund_orders"),
    )
    orders = [make_order(shop, financial_status="paid") for _ in range(2)]

    pages = [person.get(CANCEL, order.pk) for person, order in zip((clerk, panel), orders, strict=True)]
    send_form(clerk, orders[0], pages[0], amount="15.00", step="cancel")
    send_form(panel, orders[1], pages[1], step="look")

    assert ["amount" in get_form(page.content, "reason", "form_key").names for page in pages] == [False, True]
    with shop_scope(shop):
        assert [row.status for row in Order.objects.all()] == ["cancelled", "cancelled"]
        assert not Refund.objects.exists()


def test_an_amount_that_cannot_go_back_is_refused(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("orders", "edit_orders", "refund_orders")
    order = make_order(shop, transactions=[{"kind": "sale", "amount": Decimal("20.00")}])

    more = send_form(panel, order, panel.get(CANCEL, order.pk), amount="20.01", step="cancel")
    small = send_form(panel, order, more, amount="1.001", step="cancel")

    assert "Enter at most 20.00 USD." in more.content.decode()
    assert "This amount has too many decimal places for USD." in small.content.decode()
    with shop_scope(shop):
        assert Order.objects.get().status == "open"
