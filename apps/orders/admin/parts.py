"""What the screens of orders are made of: the views of the list, the table on a customer's page."""

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
from apps.orders.domain import bill
from apps.orders.models import Order
from apps.panel.screens.bases import ReadOnly
from apps.panel.screens.filters import Choices, Screen
from apps.panel.screens.inlines import ShopOwnedTabularInline
from apps.panel.theme import display


def total_shown(order: Order) -> SafeString:
    """What the order came to, and quietly what it comes to now where that is something else."""
    first, *now = bill.total_of(order)
    return format_html('{}<br> <small class="bo-subtle">{}</small>', first, *now) if now else format_html("{}", first)


def in_view(orders: QuerySet[Order], view: str) -> QuerySet[Order]:
    """The rows of a view of the list."""
    if view == "all":
        return orders
    if view == "unfulfilled":
        return orders.filter(status=Order.Status.OPEN, fulfillment_status__in=("", "partial"))
    if view == "unpaid":
        return orders.filter(status=Order.Status.OPEN, financial_status__in=("pending", "authorized", "partially_paid"))
    return orders.filter(status=view)


class ViewFilter(SimpleListFilter):
    """The views of the list; open orders unless another is chosen."""

    title = gettext_lazy("view")
    parameter_name = "view"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The views' names."""
        return [
            ("open", pgettext("order", "Open")),
            ("unfulfilled", _("Unfulfilled")),
            ("unpaid", _("Unpaid")),
            ("closed", pgettext("order", "Closed")),
            ("cancelled", pgettext("order", "Cancelled")),
            ("all", _("All")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        """The rows of the chosen view; a search looks at all orders."""
        chosen = self.value() or ("all" if request.GET.get("q") else "open")
        return in_view(queryset, chosen)

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Without "all" of Django's own: it is one of the views."""
        chosen = self.value() or ("all" if changelist.query else "open")
        for value, title in self.lookup_choices:
            yield {
                "selected": value == chosen,
                "query_string": changelist.get_query_string({self.parameter_name: value}),
                "display": title,
            }


class CustomersOrders(ReadOnly, ShopOwnedTabularInline[Order, Customer]):
    """A customer's orders, newest first."""

    model = Order
    fk_name = "customer"
    fields = readonly_fields = ("name", "processed_at", "total", "financial_status", "fulfillment_status", "status")
    ordering = ("-id",)
    can_delete = False
    show_change_link = True
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        """The shop's rows."""
        return Order.rows().order_by(*self.ordering)

    @display(description=gettext_lazy("Total"))
    def total(self, order: Order) -> SafeString:
        """What it came to, and comes to now."""
        return total_shown(order)
