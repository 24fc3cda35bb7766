"""The actions at the top of the order page that belong to the order itself. Other apps add theirs."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.orders.admin.extension_points import OrderAction
from apps.orders.models import Order


def get_own_actions(request: HttpRequest, order: Order, page: Context) -> Iterator[OrderAction]:
    """Return the actions that the user may take now. ``page`` is the result of ``get_order_context``."""
    if has_permission(request, "orders.change_order"):
        yield from _get_payment_actions(order, page)
        yield from _get_status_actions(order, page)
    yield OrderAction(_("View status page"), page["status_url"], order=70, in_new_window=True)
    if has_permission(request, "orders.delete_order"):
        yield OrderAction(_("Delete…"), _url("delete", order), order=100, kind="danger")


def _get_payment_actions(order: Order, page: Context) -> Iterator[OrderAction]:
    is_open = order.status == Order.Status.OPEN
    if page["capturable"] and order.status != Order.Status.CANCELLED:
        yield OrderAction(
            _("Capture payment"), _url("capture", order), order=10, is_step=is_open, is_button=True, is_form=True
        )
    elif page["owes"]:
        label = _("Mark {outstanding} as paid").format(outstanding=page["outstanding"])
        yield OrderAction(label, _url("paid", order), order=10, is_step=is_open, is_form=True)


def _get_status_actions(order: Order, page: Context) -> Iterator[OrderAction]:
    yield OrderAction(_("Edit…"), _url("edit", order), order=60)
    if order.status == Order.Status.OPEN:
        label = _("Close order")
        yield OrderAction(label, _url("close", order), order=80, is_step=page["is_settled"], is_form=True)
    elif order.status == Order.Status.CLOSED:
        yield OrderAction(_("Reopen order"), _url("open", order), order=80, is_form=True)
    if page["cancellable"]:
        yield OrderAction(_("Cancel order…"), _url("cancel", order), order=90, kind="danger")


def _url(name: str, order: Order) -> str:
    return reverse(f"admin:orders_order_{name}", args=[order.pk])
