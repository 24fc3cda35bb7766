from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import BooleanField, Func, QuerySet, Sum, Value
from django.db.models.functions import Upper
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.core.admin.lists.filters import (
    Choices,
    Screen,
    SelectFilter,
    TitledBooleanFilter,
    TitledChoicesFilter,
    ViewsFilter,
)
from apps.core.admin.lists.search import get_result_limit, is_palette_search, set_truncation_note, union_first_rows
from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter, WordFilter
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.theme import attribute_column, display
from apps.customers.admin.similar_names import suggest_names
from apps.orders.admin import search
from apps.orders.domain import transitions
from apps.orders.domain.pricing import totals
from apps.orders.models import OWED_TO_CUSTOMERS, LineItem, Order, ShippingLine

FulfillmentStatus = Order.FulfillmentStatus


# The CSS classes of the badges.
_FULFILLMENT_BADGES: dict[str, str] = {
    FulfillmentStatus.UNFULFILLED: " bo-badge-warning",
    FulfillmentStatus.PARTIAL: " bo-badge-warning",
    FulfillmentStatus.FULFILLED: " bo-badge-success",
    FulfillmentStatus.RESTOCKED: "",
}


class _Annotations(TypedDict):
    item_count: int
    delivery_method: str | None


OrderRow: TypeAlias = "WithAnnotations[Order, _Annotations]"


class PaymentFilter(TitledChoicesFilter):
    shown_title = gettext_lazy("payment")


class TestOrdersFilter(TitledBooleanFilter):
    shown_title = gettext_lazy("test orders")


class FulfillmentStatusFilter(SelectFilter):
    """Filter by fulfillment status. "Unfulfilled" is stored as an empty string, so the URL uses a different value."""

    title = gettext_lazy("fulfillment")
    parameter_name = "sending"
    none = "unfulfilled"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(value or self.none, str(label)) for value, label in FulfillmentStatus.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        value = self.value()
        if value not in {self.none, *FulfillmentStatus.values}:
            return queryset
        return queryset.filter(fulfillment_status=FulfillmentStatus.UNFULFILLED if value == self.none else value)


class ProcessedFilter(DaysFilter):
    title = gettext_lazy("date")
    parameter_name = "processed"
    field = "processed_at"


class TotalFilter(AmountsFilter):
    title = pgettext_lazy("filter", "total")
    parameter_name = "total"
    field = "total_price"


class ChannelFilter(WordFilter):
    title = gettext_lazy("channel")
    parameter_name = "channel"

    def filter_rows(self, rows: QuerySet[Order], values: Sequence[str | None]) -> QuerySet[Order]:  # type: ignore[override]
        with_channel = rows.exclude(source_name="").alias(channel=Upper("source_name"))
        return with_channel.filter(channel=Upper(Value(values[0])))


class TagFilter(WordFilter):
    title = gettext_lazy("tag")
    parameter_name = "tag"

    def filter_rows(self, rows: QuerySet[Order], values: Sequence[str | None]) -> QuerySet[Order]:  # type: ignore[override]
        return rows.exclude(tags="").filter(_HasTag("tags", Value(values[0])))


class _HasTag(Func):
    arity = 2
    output_field = BooleanField()

    def as_sql(self, compiler: Any, connection: Any, *_args: Any, **_: Any) -> tuple[str, Any]:
        """Return the SQL for SQLite. PostgreSQL has a GIN index with statistics on how often each tag occurs."""
        return self._render(compiler, "INSTR(', ' || UPPER({}) || ', ', ', ' || UPPER({}) || ', ') > 0")

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        """Return the SQL of the expression that ``orders_order_by_tag`` indexes."""
        return self._render(compiler, "string_to_array(upper({}), ', ') @> ARRAY[upper({}::text)]")

    def _render(self, compiler: Any, template: str) -> tuple[str, Any]:
        parts = [compiler.compile(part) for part in self.get_source_expressions()]
        return template.format(*(sql for sql, _parameters in parts)), [
            parameter for _sql, parameters in parts for parameter in parameters
        ]


def render_total(order: Order) -> SafeString:
    first, *now = totals.format_total(order)
    return format_html('{}<br> <small class="bo-subtle">{}</small>', first, *now) if now else format_html("{}", first)


def _count_items(ids: Sequence[int]) -> dict[int, int]:
    rows = LineItem.objects.filter(order_id__in=ids).order_by()
    return dict(rows.values("order_id").annotate(items=Sum("current_quantity")).values_list("order_id", "items"))


def _get_delivery_methods(ids: Sequence[int]) -> dict[int, str]:
    titles: dict[int, list[str]] = defaultdict(list)
    rows = ShippingLine.objects.filter(order_id__in=ids, is_removed=False).order_by("pk")
    for order_id, title in rows.values_list("order_id", "title"):
        titles[order_id].append(title)
    return {order_id: ", ".join(dict.fromkeys(names)) for order_id, names in titles.items()}


def filter_orders_by_view(orders: QuerySet[Order], view: str) -> QuerySet[Order]:
    if view == "all":
        return orders
    if view == "unfulfilled":
        return orders.filter(status=Order.Status.OPEN, fulfillment_status__in=("", "partial"))
    if view == "unpaid":
        return orders.filter(status=Order.Status.OPEN, financial_status__in=("pending", "authorized", "partially_paid"))
    if view == "owed":
        return orders.filter(OWED_TO_CUSTOMERS)
    return orders.filter(status=view)


class ViewFilter(ViewsFilter):
    default_view = "open"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [
            ("open", pgettext("order", "Open")),
            ("unfulfilled", _("Unfulfilled")),
            ("unpaid", _("Unpaid")),
            ("owed", _("Refund due")),
            ("closed", pgettext("order", "Closed")),
            ("cancelled", pgettext("order", "Canceled")),
            ("all", _("All")),
        ]

    def filter_view(self, queryset: QuerySet[Order], view: str) -> QuerySet[Order]:
        return filter_orders_by_view(queryset, view)


class OrderList(ShopOwnedAdmin[Order]):
    list_display = (
        "name",
        "processed_at",
        "buyer",
        "total",
        "payment",
        "sending",
        "quantity",
        "state",
        "tags",
    )
    optional_columns = ("mail", "telephone", "town", "channel", "state")
    day_columns = ("processed_at",)
    numeric_columns = ("quantity",)
    mobile_hide_labels = ("buyer", "tags")
    list_display_links = ("name",)
    list_filter = (
        ViewFilter,
        ("financial_status", PaymentFilter),
        FulfillmentStatusFilter,
        ProcessedFilter,
        TotalFilter,
        ChannelFilter,
        TagFilter,
        ("test", TestOrdersFilter),
    )
    list_select_related = ("customer",)
    search_fields = ("name",)
    palette_order = 30
    search_help_text = search.SEARCH_HELP
    ordering = ("-id",)
    sortable_by = ("processed_at", "total")
    actions: Sequence[str] = ("close_orders",)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the columns without the status in the default view, where all orders are open."""
        view = request.GET.get("view", "all" if request.GET.get("q") else ViewFilter.default_view)
        return tuple(name for name in self.list_display if name != "state" or view != ViewFilter.default_view)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list, and load the item counts and delivery methods of the page in two queries."""
        change_list = super().get_changelist_instance(request)
        rows: list[OrderRow] = list(change_list.result_list)
        change_list.result_list = rows
        ids = [row.pk for row in rows]
        counts = _count_items(ids) if "quantity" in change_list.list_display else {}
        methods = _get_delivery_methods(ids) if "sending" in change_list.list_display else {}
        for row in rows:
            row.item_count, row.delivery_method = counts.get(row.pk, 0), methods.get(row.pk)
        return change_list

    @display(description=gettext_lazy("Customer"))
    def buyer(self, order: Order) -> str:
        return str(order.customer or order.email or _("No customer"))

    @display(description=gettext_lazy("Total"), ordering="total_price")
    def total(self, order: Order) -> SafeString:
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
            "canceled": "default",
        },
    )
    def payment(self, order: Order) -> tuple[str, str]:
        is_open = order.cancelled_at is None or order.financial_status == Order.FinancialStatus.PAID
        return order.financial_status if is_open else "canceled", order.get_financial_status_display()

    @display(description=gettext_lazy("Fulfillment"))
    def sending(self, order: OrderRow) -> SafeString:
        """Return the badge of the fulfillment status and the delivery method."""
        is_open = order.cancelled_at is None or order.fulfillment_status == FulfillmentStatus.FULFILLED
        kind = _FULFILLMENT_BADGES[order.fulfillment_status] if is_open else ""
        badge = format_html('<span class="bo-badge{}">{}</span>', kind, order.get_fulfillment_status_display())
        method = order.delivery_method
        return format_html('{}<br> <small class="bo-subtle">{}</small>', badge, method) if method else badge

    @display(
        description=pgettext_lazy("order", "Status"), label={"open": "info", "closed": "default", "cancelled": "danger"}
    )
    def state(self, order: Order) -> tuple[str, str]:
        return order.status, order.get_status_display()

    @display(description=gettext_lazy("Items"))
    def quantity(self, order: OrderRow) -> int:
        return order.item_count

    mail = attribute_column("email", gettext_lazy("Email"))
    telephone = attribute_column("phone", gettext_lazy("Phone"))
    channel = attribute_column("source_name", gettext_lazy("Channel"))

    @display(description=gettext_lazy("City"))
    def town(self, order: Order) -> str:
        return str((order.shipping_address or {}).get("city") or "")

    def palette_details(self, instance: Order) -> Sequence[str]:
        status = instance.get_status_display()
        state = instance.get_financial_status_display(), instance.get_fulfillment_status_display()
        return self.buyer(instance), ", ".join(totals.format_total(instance)), ", ".join((status, *state))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        limit = get_result_limit(request)
        matching_customers = search.find_customers(term, self.shop(request), limit)
        if not is_palette_search(request):
            set_truncation_note(request, search.get_cut_note(term, matching_customers))
        parts = list(search.find_orders(queryset, term, matching_customers, limit))
        return union_first_rows(queryset, parts, limit=limit, newest=not is_palette_search(request)), False

    def suggest_searches(self, term: str) -> list[str]:
        return suggest_names(term, with_orders=True)

    def get_search_note(self, term: str) -> str:
        return search.get_length_note(term)

    @admin.action(description=gettext_lazy("Close orders"), permissions=["change"])
    def close_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        orders = list(queryset.filter(closed_at=None, cancelled_at=None).order_by("pk"))
        for order in orders:
            transitions.close_order(order, **self.event_kwargs(request))
        count, skipped = len(orders), queryset.count() - len(orders)
        sentences = [ngettext("{count} order closed.", "{count} orders closed.", count).format(count=count)]
        if skipped:
            skipped_note = ngettext(
                "{count} order was already closed or canceled.",
                "{count} orders were already closed or canceled.",
                skipped,
            )
            sentences.append(skipped_note.format(count=skipped))
        self.message_user(request, " ".join(sentences), messages.SUCCESS)
