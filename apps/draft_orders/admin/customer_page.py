"""The draft orders of a customer on the customer page, and the button that creates an order."""

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.forms.forms import ShopOwnedTabularInline
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin
from apps.core.admin.model_admin.registry import inlines
from apps.core.admin.theme import display
from apps.core.i18n import formats
from apps.customers.admin.extension_points import CustomerLink, customer_links
from apps.customers.models import Customer
from apps.draft_orders.models import DraftOrder


@inlines.register((Customer, "draft orders"))
class CustomerDraftOrdersInline(ReadOnlyAdminMixin, ShopOwnedTabularInline[DraftOrder, Customer]):
    model = DraftOrder
    fields = readonly_fields = ("total", "state", "updated_at")
    ordering = ("-id",)
    can_delete = False
    show_change_link = True
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[DraftOrder]:
        return DraftOrder.rows().order_by(*self.ordering)

    @display(description=gettext_lazy("Total"))
    def total(self, draft: DraftOrder) -> str:
        return formats.format_money(draft.total_price, draft.currency)

    @display(description=pgettext_lazy("order", "Status"))
    def state(self, draft: DraftOrder) -> str:
        return draft.get_status_display()


customer_links.add(
    CustomerLink(
        gettext_lazy("Create order"), "draft_orders_draftorder_add", "draft_orders.add_draftorder", is_button=True
    )
)
