"""The views of the order list, and the inline that lists a customer's orders."""

from collections.abc import Iterator
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from apps.customers.models import Customer
from apps.orders.domain import totals_display
from apps.orders.models import Order
from apps.panel.admin_base.filters import Choices, Screen
from apps.panel.admin_base.inlines import ShopOwnedTabularInline
from apps.panel.admin_base.model_admin import ReadOnlyAdminMixin
from apps.panel.theme import display


def render_total(order: Order) -> SafeString:
    """Return the original total as HTML, followed by the current total if it is different."""
    first, *now = totals_display.format_total(order)
    return format_html('{}<br> <small class="bo-subtle">{}</small>', first, *now) if now else format_html("{}", first)


def filter_orders_by_view(orders: QuerySet[Order], view: str) -> QuerySet[Order]:
    """Return the orders in a view of the list."""
    if view == "all":
        return orders
    if view == "unfulfilled":
        return orders.filter(status=Order.Status.OPEN, fulfillment_status__in=("", "partial"))
    if view == "unpaid":
        return orders.filter(status=Order.Status.OPEN, financial_status__in=("pending", "authorized", "partially_paid"))
    return orders.filter(status=view)


class ViewFilter(SimpleListFilter):
    """The filter for the views of the order list. The default view shows open orders."""

    title = gettext_lazy("view")
    parameter_name = "view"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [
            ("open", pgettext("order", "Open")),
            ("unfulfilled", _("Unfulfilled")),
            ("unpaid", _("Unpaid")),
            ("closed", pgettext("order", "Closed")),
            ("cancelled", pgettext("order", "Canceled")),
            ("all", _("All")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        """Return the orders of the selected view. If no view is selected, a search covers all orders."""
        view = self.value() or ("all" if request.GET.get("q") else "open")
        return filter_orders_by_view(queryset, view)

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the choices without Django's default "All", because the list has its own "All" view."""
        view = self.value() or ("all" if changelist.query else "open")
        for value, title in self.lookup_choices:
            yield {
                "selected": value == view,
                "query_string": changelist.get_query_string({self.parameter_name: value}),
                "display": title,
            }


class CustomerOrdersInline(ReadOnlyAdminMixin, ShopOwnedTabularInline[Order, Customer]):
    """The inline that lists a customer's orders, newest first."""

    model = Order
    fk_name = "customer"
    fields = readonly_fields = ("name", "processed_at", "total", "financial_status", "fulfillment_status", "status")
    ordering = ("-id",)
    can_delete = False
    show_change_link = True
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        return Order.rows().order_by(*self.ordering)

    @display(description=gettext_lazy("Total"))
    def total(self, order: Order) -> SafeString:
        """Return the original total and, if different, the current total."""
        return render_total(order)
