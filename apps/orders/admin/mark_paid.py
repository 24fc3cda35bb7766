"""The page for marking several orders as paid, which the action of the order list opens.

Each order is paid in its own transaction, so that orders and customers are locked one after the other. The form needs
no key, because a second submission finds the orders paid.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.contrib import admin, messages
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.lists.row_ids import parse_ids
from apps.core.admin.lists.selection import get_selected_ids
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin, extra_view
from apps.core.admin.staff_request import EventKwargs
from apps.core.db.transient_errors import recover_from_transient_error
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.orders.admin.page_context import format_items, get_items_by_order
from apps.orders.domain import payments
from apps.orders.domain.selectors import get_transactions_by_order
from apps.orders.models import Order, Transaction

MAX_ORDERS = 100
# The largest number of skipped orders that the message names for each reason.
_MAX_NAMES = 5
_FILTERS = "_changelist_filters"
MANUAL_PAYMENT = {"kind": Transaction.Kind.SALE, "gateway": "manual"}


class OrderSelection:
    """The selected orders: the orders to mark as paid, and the orders to skip with the reasons."""

    def __init__(self, orders: Sequence[Order]) -> None:
        transactions = get_transactions_by_order(orders)
        reasons = ((order, _explain_refusal(order, transactions[order.pk])) for order in orders)
        self.skipped: list[tuple[Order, str]] = []
        self.payable: list[Order] = []
        for order, reason in reasons:
            if reason:
                self.skipped.append((order, reason))
            else:
                self.payable.append(order)

    @property
    def rows(self) -> list[tuple[Order, str]]:
        return [(order, formats.format_money(order.outstanding, order.currency)) for order in self.payable]

    def pay(self, by: EventKwargs) -> tuple[int, list[tuple[Order, str]]]:
        """Pay the orders. Return the number of paid orders, and the skipped orders with the reasons."""
        skipped = list(self.skipped)
        for order in self.payable:
            try:
                payments.create_transaction(order, MANUAL_PAYMENT, **by)
            except DomainError as error:
                skipped.append((order, format_errors(error)))
            except DatabaseError as error:
                # The orders before this one are paid, so the message must say what happened to each order.
                recover_from_transient_error(error)
                skipped.append((order, _("The database did not respond in time. Try again.")))
        return len(self.payable) + len(self.skipped) - len(skipped), skipped


def _explain_refusal(order: Order, transactions: Sequence[Transaction]) -> str:
    if order.cancelled_at is not None:
        return _("The order is canceled.")
    if order.outstanding <= 0:
        return _("Nothing is owed.")
    if any(row.unsettled for row in transactions):
        return _("The payment is authorized. Capture the payment on the order page.")
    if payments.get_pending_payments(transactions):
        return _("A payment is pending.")
    return ""


def _describe_result(count: int, skipped: Iterable[tuple[Order, str]]) -> str:
    """Return the number of paid orders, and for each reason the names of the skipped orders."""
    names_by_reason: dict[str, list[str]] = defaultdict(list)
    for order, reason in skipped:
        names_by_reason[reason].append(order.name)
    text = ngettext("{count} order was marked as paid.", "{count} orders were marked as paid.", count)
    sentences = [text.format(count=count)]
    for reason, names in names_by_reason.items():
        listed = ", ".join(names[:_MAX_NAMES])
        if len(names) > _MAX_NAMES:
            listed += _(" and {count} more").format(count=len(names) - _MAX_NAMES)
        text = ngettext("{count} order was skipped ({names}).", "{count} orders were skipped ({names}).", len(names))
        sentences.append(f"{text.format(count=len(names), names=listed)} {reason}")
    return " ".join(sentences)


class MarkPaidPages(ExtraViewsAdmin[Order]):
    @admin.action(description=gettext_lazy("Mark as paid…"), permissions=["change"])
    def mark_paid(self, request: HttpRequest, queryset: QuerySet[Order]) -> HttpResponse:
        ids = get_selected_ids(request, queryset, limit=MAX_ORDERS)
        query = urlencode({"ids": ",".join(map(str, ids)), _FILTERS: request.GET.urlencode()})
        return HttpResponseRedirect(f"{self.url('paid_many')}?{query}")

    @extra_view("paid-selected/", "orders.change_order", name="paid_many")
    def paid_many_view(self, request: HttpRequest) -> HttpResponse:
        """Show which of the selected orders are marked as paid and which are skipped, or mark the orders as paid."""
        ids = parse_ids(request.GET.get("ids", ""), limit=MAX_ORDERS)
        orders = Order.objects.filter(pk__in=ids).select_related("customer").order_by("pk")
        back = f"{self.url('changelist')}?{request.GET.get(_FILTERS, '')}"
        selection = OrderSelection(list(orders))
        if not selection.rows and not selection.skipped:
            self.message_user(request, _("Select the orders to mark as paid."), messages.WARNING)
            return HttpResponseRedirect(back)
        if request.method == "POST":
            count, skipped = selection.pay(self.event_kwargs(request))
            level = messages.SUCCESS if count else messages.WARNING
            self.message_user(request, _describe_result(count, skipped), level)
            return HttpResponseRedirect(back)
        items = get_items_by_order(selection.payable)
        rows = [
            (order, amount, sum(quantity for quantity, _name in items[order.pk]), format_items(items[order.pk]))
            for order, amount in selection.rows
        ]
        return self.page(
            request,
            "panel/orders/mark_paid.html",
            _("Mark orders as paid"),
            selection=selection,
            rows=rows,
            back=back,
        )
