"""The discount codes that a customer has used, on the customer page."""

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.forms import ShopOwnedTabularInline
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin
from apps.core.admin.model_admin.registry import inlines
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import display
from apps.core.tenancy.permissions import allow, grants
from apps.customers.models import Customer
from apps.discounts.models import DiscountUse

grants.add(allow("marketing", "v", "discounts.discountuse"))


@inlines.register((Customer, "discount uses"))
class CustomerDiscountUsesInline(ReadOnlyAdminMixin, ShopOwnedTabularInline[DiscountUse, Customer]):
    model = DiscountUse
    verbose_name = gettext_lazy("used discount code")
    verbose_name_plural = gettext_lazy("used discount codes")
    fields = readonly_fields = ("code_text", "order_link", "created_at")
    ordering = ("-id",)
    can_delete = False
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[DiscountUse]:
        self.links_orders = has_permission(request, "orders.view_order")
        return DiscountUse.rows().select_related("code", "order").order_by(*self.ordering)

    @display(description=gettext_lazy("Code"))
    def code_text(self, use: DiscountUse) -> str:
        return use.code.code

    @display(description=gettext_lazy("Order"))
    def order_link(self, use: DiscountUse) -> str:
        if use.order is None or not self.links_orders:
            return "–"
        url = reverse("admin:orders_order_change", args=[use.order_id])
        return format_html('<a href="{}">{}</a>', url, use.order.name)
