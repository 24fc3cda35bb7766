"""The refund's pages in the panel, driven as a browser drives them."""

from typing import Any

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from tests.conftest import Response
from tests.panel.conftest import Panel
from tests.panel.shown import form_of

NEW, CALCULATION = "refunds_refund_new", "refunds_refund_calculation"


def opened(panel: Panel, order: Order, **query: str) -> dict[str, list[str]]:
    """What the form holds when it is opened."""
    return form_of(panel.get(NEW, order.pk, **query).content, "note").data


def looked(panel: Panel, order: Order, typed: dict[str, Any]) -> Response:
    """Fill the form in, and ask for the second look."""
    return panel.http.post(panel.url(NEW, order.pk), {**opened(panel, order), **typed, "step": "look"})


def confirmed(panel: Panel, order: Order, look: Response, changed: dict[str, Any] | None = None) -> Response:
    """Press the button of a second look."""
    sent = form_of(look.content, "seen").data
    return panel.http.post(panel.url(NEW, order.pk), {**sent, **(changed or {}), "step": "refund"}, follow=True)


def refunded(panel: Panel, order: Order, typed: dict[str, Any]) -> Response:
    """All of it: the page that the refund leads to."""
    return confirmed(panel, order, looked(panel, order, typed))


def rows_of(order: Order) -> tuple[list[int], list[int]]:
    """The ids of its lines and of its payments."""
    with shop_scope(order.shop):
        lines = order.line_items.order_by("pk").values_list("pk", flat=True)
        payments = order.transactions.filter(kind="sale").order_by("pk").values_list("pk", flat=True)
        return list(lines), list(payments)
