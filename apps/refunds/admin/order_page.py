"""Refunds on the order page: the refund button and the list of refunds."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.orders.admin.extension_points import OrderAction, OrderSection, add_order_action, add_order_section
from apps.orders.models import Order
from apps.panel.permissions import has_permission
from apps.panel.staff_request import Context
from apps.refunds.admin.display import display_refunds, load_refunds
from apps.refunds.admin.permissions import ADD, VIEW


def _may_refund(request: HttpRequest, order: Order) -> bool:
    return has_permission(request, ADD)


def _refunds(request: HttpRequest, order: Order) -> Context | None:
    """Return the context of the refund list, or None if the order has no refunds or the user may not view refunds."""
    if not has_permission(request, VIEW):
        return None
    refunds = load_refunds(order)
    return {"refunds": display_refunds(order, refunds), "may_refund": has_permission(request, ADD)} if refunds else None


add_order_action(OrderAction(gettext_lazy("Refund…"), "refunds_refund_new", _may_refund, order=10))
add_order_section(OrderSection("panel/refunds/on_order.html", _refunds, order=60))
