"""What refunds add to the page of an order: the way to the form, and what was given back."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.orders.admin.additions import Button, Part, add_button, add_part
from apps.orders.models import Order
from apps.panel.access import may
from apps.panel.requests import Context
from apps.refunds.admin.permissions import ADD, VIEW
from apps.refunds.admin.shown import shown, with_parts


def _may_refund(request: HttpRequest, order: Order) -> bool:
    return may(request, ADD)


def _refunds(request: HttpRequest, order: Order) -> Context | None:
    """The refunds of an order; nothing where there are none."""
    if not may(request, VIEW):
        return None
    refunds = with_parts(order)
    return {"refunds": shown(order, refunds), "may_refund": may(request, ADD)} if refunds else None


add_button(Button(gettext_lazy("Refund…"), "refunds_refund_new", _may_refund, order=10))
add_part(Part("panel/refunds/on_order.html", _refunds, order=60))
