"""The order changelist: columns, filters, search and bulk actions."""

from collections.abc import Sequence

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.orders.admin import search
from apps.orders.admin.filters import ChannelFilter, FulfillmentStatusFilter, ProcessedFilter, TagFilter, TotalFilter
from apps.orders.admin.list_views import ViewFilter, render_total
from apps.orders.domain import totals_display, transitions
from apps.orders.models import Order
from apps.panel.admin_base.model_admin import ShopOwnedAdmin
from apps.panel.admin_base.search import get_result_limit, is_palette_search, set_truncation_note, union_first_rows
from apps.panel.theme import display


class OrderList(ShopOwnedAdmin[Order]):
    """A base class for ``OrderAdmin`` that defines the changelist."""

    list_display = ("name", "processed_at", "buyer", "total", "payment", "sending", "state", "tags")
    optional_columns = ("mail", "telephone", "town", "channel")
    mobile_hide_labels = ("buyer", "tags")
    list_display_links = ("name",)
    list_filter = (
        ViewFilter,
        "financial_status",
        FulfillmentStatusFilter,
        ProcessedFilter,
        TotalFilter,
        ChannelFilter,
        TagFilter,
        "test",
    )
    list_select_related = ("customer",)
    search_fields = ("name",)
    palette_order = 30
    search_help_text = search.SEARCH_HELP
    ordering = ("-id",)
    sortable_by = ("processed_at", "total")
    actions = ("close_orders",)

    @display(description=gettext_lazy("Customer"))
    def buyer(self, order: Order) -> str:
        return str(order.customer or order.email or _("No customer"))

    @display(description=gettext_lazy("Total"), ordering="total_price")
    def total(self, order: Order) -> SafeString:
        """Return the original total and, if different, the current total."""
        return render_total(order)

    @display(
        description=gettext_lazy("Payment"),
        label={
            "paid": "success",
            "authorized": "info",
            "pending": "warning",
            "partially_paid": "warning",
            "voided": "default",
            "refunded": "default",
            "partially_refunded": "default",
        },
    )
    def payment(self, order: Order) -> tuple[str, str]:
        return order.financial_status, order.get_financial_status_display()

    @display(
        description=gettext_lazy("Fulfillment"),
        label={"fulfilled": "success", "partial": "warning", "unfulfilled": "warning", "restocked": "default"},
    )
    def sending(self, order: Order) -> tuple[str, str]:
        return order.fulfillment_status or "unfulfilled", order.get_fulfillment_status_display()

    @display(
        description=pgettext_lazy("order", "Status"), label={"open": "info", "closed": "default", "cancelled": "danger"}
    )
    def state(self, order: Order) -> tuple[str, str]:
        return order.status, order.get_status_display()

    @display(description=gettext_lazy("Email"))
    def mail(self, order: Order) -> str:
        return order.email

    @display(description=gettext_lazy("Phone"))
    def telephone(self, order: Order) -> str:
        return order.phone

    @display(description=gettext_lazy("City"))
    def town(self, order: Order) -> str:
        """Return the city of the shipping address."""
        return str((order.shipping_address or {}).get("city") or "")

    @display(description=gettext_lazy("Channel"))
    def channel(self, order: Order) -> str:
        return order.source_name

    def palette_details(self, instance: Order) -> Sequence[str]:
        """Return customer, total and statuses for the search palette."""
        status = instance.get_status_display()
        state = instance.get_financial_status_display(), instance.get_fulfillment_status_display()
        return self.buyer(instance), ", ".join(totals_display.format_total(instance)), ", ".join((status, *state))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """Search orders by order fields and by customer."""
        term = search_term.strip()
        if not term:
            return queryset, False
        limit = get_result_limit(request)
        matching_customers = search.find_customers(term, self.shop(request), limit)
        if not is_palette_search(request):
            set_truncation_note(request, search.get_cut_note(term, matching_customers))
        parts = list(search.find_orders(queryset, term, matching_customers, limit))
        return union_first_rows(queryset, parts, limit=limit, newest=not is_palette_search(request)), False

    def get_search_note(self, term: str) -> str:
        """Return a note if the term is too short for a full search, otherwise an empty string."""
        return search.get_short_term_note(term.strip())

    @admin.action(description=gettext_lazy("Close selected orders"), permissions=["change"])
    def close_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        """Close the selected orders."""
        orders = list(queryset.filter(closed_at=None, cancelled_at=None).order_by("pk"))
        for order in orders:
            transitions.close_order(order, **self.event_kwargs(request))
        skipped = queryset.count() - len(orders)
        count = len(orders)
        sentences = [ngettext("{count} order closed.", "{count} orders closed.", count).format(count=count)]
        if skipped:
            skipped_note = ngettext(
                "{count} order was already closed or canceled.",
                "{count} orders were already closed or canceled.",
                skipped,
            )
            sentences.append(skipped_note.format(count=skipped))
        self.message_user(request, " ".join(sentences), messages.SUCCESS)
