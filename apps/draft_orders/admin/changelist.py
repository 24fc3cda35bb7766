from collections.abc import Sequence

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from apps.core.admin.lists.filters import Choices, Screen, ViewsFilter
from apps.core.admin.lists.search import get_result_limit
from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import display
from apps.core.db.lookups import in_materialized
from apps.core.i18n import formats
from apps.draft_orders.models import DraftOrder
from apps.orders.admin.search import find_customers

CHANGE = "draft_orders.change_draftorder"
Status = DraftOrder.Status


class ViewFilter(ViewsFilter):
    default_view = Status.OPEN

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [
            (Status.OPEN, pgettext("draft orders", "Open")),
            (Status.INVOICE_SENT, pgettext("draft orders", "Invoice sent")),
            (Status.COMPLETED, pgettext("draft orders", "Completed")),
            ("all", _("All")),
        ]

    def filter_view(self, queryset: QuerySet[DraftOrder], view: str) -> QuerySet[DraftOrder]:
        return queryset.filter(status=view)


class UpdatedFilter(DaysFilter):
    title = gettext_lazy("last change")
    parameter_name = "updated"
    field = "updated_at"


class TotalFilter(AmountsFilter):
    title = pgettext_lazy("filter", "total")
    parameter_name = "total"
    field = "total_price"


class DraftOrderList(ShopOwnedAdmin[DraftOrder]):
    list_display = ("name", "updated_at", "buyer", "total", "state", "tags", "next_step")
    mobile_hide_labels = ("buyer", "tags", "next_step")
    numeric_columns = ("total",)
    day_columns = ("updated_at",)
    list_display_links = ("name",)
    list_filter = (ViewFilter, UpdatedFilter, TotalFilter)
    list_filter_submit = True
    list_select_related = ("customer",)
    search_fields = ("name",)
    search_help_text = gettext_lazy("Number, customer or email")
    palette_order = 35
    ordering = ("-id",)
    sortable_by = ()
    actions = None

    @display(description=gettext_lazy("Customer"))
    def buyer(self, draft: DraftOrder) -> str:
        return str(draft.customer or draft.email or _("No customer"))

    @display(description=gettext_lazy("Total"))
    def total(self, draft: DraftOrder) -> str:
        return formats.format_money(draft.total_price, draft.currency)

    @display(
        description=pgettext_lazy("order", "Status"),
        label={Status.OPEN.value: "info", Status.INVOICE_SENT.value: "warning", Status.COMPLETED.value: "success"},
    )
    def state(self, draft: DraftOrder) -> tuple[str, str]:
        return draft.status, draft.get_status_display()

    @display(description=gettext_lazy("Next step"), empty_value="–")
    def next_step(self, draft: DraftOrder) -> SafeString | None:
        """Return a link to the next step: send the invoice, or create the order."""
        # Relative paths make the page smaller, because every row has this link.
        if draft.is_completed:
            return None
        if draft.invoice_sent_at is not None:
            label, path = _("Create order"), f"{draft.pk}/change/#create-paid"
        else:
            label, path = _("Send invoice"), f"{draft.pk}/invoice/"
        return format_html('<span class="bo"><a href="{}">{}</a></span>', path, label)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return self.list_display if has_permission(request, CHANGE) else self.list_display[:-1]

    def palette_details(self, instance: DraftOrder) -> Sequence[str]:
        return self.buyer(instance), self.total(instance), instance.get_status_display()

    def get_search_note(self, term: str) -> str:
        return ""

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: QuerySet[DraftOrder], term: str, most: int
    ) -> Sequence[QuerySet[DraftOrder]]:
        """Search by number, such as ``D5``, by email and by customer."""
        number = term.upper().removeprefix("#").removeprefix("D")
        is_number = number.isascii() and number.isdecimal() and len(number) <= 18
        customers = find_customers(term, self.shop(request), get_result_limit(request)).customers
        return [
            *([queryset.filter(number=int(number))] if is_number else []),
            queryset.filter(email__iexact=term),
            *(queryset.filter(in_materialized(rows.values("pk"), "customer")) for rows in customers),
        ]
