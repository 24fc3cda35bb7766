"""The list of orders: its columns, its filters, what finds an order, and what is done with many."""

from collections.abc import Sequence

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.orders.admin import searching
from apps.orders.admin.filters import ChannelFilter, ProcessedFilter, SendingFilter, TagFilter, TotalFilter
from apps.orders.admin.parts import ViewFilter, total_shown
from apps.orders.domain import bill, transitions
from apps.orders.models import Order
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.searching import bound_of, is_from_anywhere, note_cut, united
from apps.panel.theme import display


class OrderList(ShopOwnedAdmin[Order]):
    """The list of ``OrderAdmin``."""

    list_display = ("name", "processed_at", "buyer", "total", "payment", "sending", "state", "tags")
    list_extra = ("mail", "telephone", "town", "channel")
    list_self_evident = ("buyer", "tags")
    list_display_links = ("name",)
    list_filter = (
        ViewFilter,
        "financial_status",
        SendingFilter,
        ProcessedFilter,
        TotalFilter,
        ChannelFilter,
        TagFilter,
        "test",
    )
    list_select_related = ("customer",)
    search_fields = ("name",)
    place_in_search = 30
    search_help_text = searching.LOOKED_FOR
    ordering = ("-id",)
    sortable_by = ("processed_at", "total")
    actions = ("close_orders",)

    @display(description=gettext_lazy("Customer"))
    def buyer(self, order: Order) -> str:
        """Who bought."""
        return str(order.customer or order.email or _("No customer"))

    @display(description=gettext_lazy("Total"), ordering="total_price")
    def total(self, order: Order) -> SafeString:
        """What it came to, and comes to now."""
        return total_shown(order)

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
        """How far it is paid."""
        return order.financial_status, order.get_financial_status_display()

    @display(
        description=gettext_lazy("Fulfillment"),
        label={"fulfilled": "success", "partial": "warning", "unfulfilled": "warning", "restocked": "default"},
    )
    def sending(self, order: Order) -> tuple[str, str]:
        """How far it is sent."""
        return order.fulfillment_status or "unfulfilled", order.get_fulfillment_status_display()

    @display(
        description=pgettext_lazy("order", "State"), label={"open": "info", "closed": "default", "cancelled": "danger"}
    )
    def state(self, order: Order) -> tuple[str, str]:
        """Open, closed or cancelled."""
        return order.status, order.get_status_display()

    @display(description=gettext_lazy("E-mail"))
    def mail(self, order: Order) -> str:
        """As it was given with the order."""
        return order.email

    @display(description=gettext_lazy("Phone"))
    def telephone(self, order: Order) -> str:
        """As it was given with the order."""
        return order.phone

    @display(description=gettext_lazy("City"))
    def town(self, order: Order) -> str:
        """Where it goes."""
        return str((order.shipping_address or {}).get("city") or "")

    @display(description=gettext_lazy("Channel"))
    def channel(self, order: Order) -> str:
        """Where it came from, as the sender calls it."""
        return order.source_name

    def told_in_search(self, instance: Order) -> Sequence[str]:
        """Who bought, for how much, and how far it is."""
        status = instance.get_status_display()
        state = instance.get_financial_status_display(), instance.get_fulfillment_status_display()
        return self.buyer(instance), ", ".join(bill.total_of(instance)), ", ".join((status, *state))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """By what ``searching`` knows of orders, or by what finds their customer."""
        term = search_term.strip()
        if not term:
            return queryset, False
        most = bound_of(request)
        buyers = searching.buyers(term, self.shop(request), most)
        if not is_from_anywhere(request):
            note_cut(request, searching.cut_note(term, buyers))
        parts = list(searching.parts_of(queryset, term, buyers, most))
        return united(queryset, parts, most=most, newest=not is_from_anywhere(request)), False

    def search_note(self, term: str) -> str:
        """Which texts are not looked for everywhere."""
        return searching.short_note(term.strip())

    @admin.action(description=gettext_lazy("Close the chosen orders"), permissions=["change"])
    def close_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        """Put orders into the archive."""
        chosen = list(queryset.filter(closed_at=None, cancelled_at=None).order_by("pk"))
        for order in chosen:
            transitions.close(order, **self.by(request))
        skipped = queryset.count() - len(chosen)
        count = len(chosen)
        said = [ngettext("{count} order closed.", "{count} orders closed.", count).format(count=count)]
        if skipped:
            already = ngettext(
                "{count} was closed or cancelled already.", "{count} were closed or cancelled already.", skipped
            )
            said.append(already.format(count=skipped))
        self.message_user(request, " ".join(said), messages.SUCCESS)
