"""Helpers to use the refund pages of the panel as a browser would."""

from typing import Any

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from tests.conftest import Response
from tests.panel.conftest import Panel
from tests.panel.shown import form_of

NEW, CALCULATION = "refunds_refund_new", "refunds_refund_calculation"


def opened(panel: Panel, order: Order, **query: str) -> dict[str, list[str]]:
    """Return the values of the opened form."""
    return form_of(panel.get(NEW, order.pk, **query).content, "note").data


def looked(panel: Panel, order: Order, typed: dict[str, Any]) -> Response:
    """Fill in the form and open the review."""
    return panel.http.post(panel.url(NEW, order.pk), {**opened(panel, order), **typed, "step": "look"})


def confirmed(panel: Panel, order: Order, look: Response, changed: dict[str, Any] | None = None) -> Response:
    """Confirm the review."""
    data = form_of(look.content, "seen").data
    return panel.http.post(panel.url(NEW, order.pk), {**data, **(changed or {}), "step": "refund"}, follow=True)


def refunded(panel: Panel, order: Order, typed: dict[str, Any]) -> Response:
    """Fill in the form and confirm it; return the page that follows."""
    return confirmed(panel, order, looked(panel, order, typed))


def rows_of(order: Order) -> tuple[list[int], list[int]]:
    """Return the ids of the order's line items and payments."""
    with shop_scope(order.shop):
        lines = order.line_items.order_by("pk").values_list("pk", flat=True)
        payments = order.transactions.filter(kind="sale").order_by("pk").values_list("pk", flat=True)
        return list(lines), list(payments)
