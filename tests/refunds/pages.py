"""Helpers that use the panel's refund pages like a browser."""

from typing import Any

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from tests.conftest import Response
from tests.panel.conftest import Panel
from tests.panel.html_forms import get_form

NEW, CALCULATION = "refunds_refund_new", "refunds_refund_calculation"


def open_form(panel: Panel, order: Order, **query: str) -> dict[str, list[str]]:
    """Open the refund form and return the form's values."""
    return get_form(panel.get(NEW, order.pk, **query).content, "note").data


def review_refund(panel: Panel, order: Order, typed: dict[str, Any]) -> Response:
    """Fill in the refund form and open the review page."""
    return panel.http.post(panel.url(NEW, order.pk), {**open_form(panel, order), **typed, "step": "look"})


def confirm_refund(panel: Panel, order: Order, look: Response, changed: dict[str, Any] | None = None) -> Response:
    """Confirm the refund on the review page."""
    data = get_form(look.content, "seen").data
    return panel.http.post(panel.url(NEW, order.pk), {**data, **(changed or {}), "step": "refund"}, follow=True)


def refund_by_form(panel: Panel, order: Order, typed: dict[str, Any]) -> Response:
    """Fill in the refund form and confirm the review; return the next page."""
    return confirm_refund(panel, order, review_refund(panel, order, typed))


def get_row_ids(order: Order) -> tuple[list[int], list[int]]:
    """Return the ids of the order's line items and payments."""
    with shop_scope(order.shop):
        lines = order.line_items.order_by("pk").values_list("pk", flat=True)
        payments = order.transactions.filter(kind="sale").order_by("pk").values_list("pk", flat=True)
        return list(lines), list(payments)
