"""The gift cards on the page of a customer."""

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core.admin.forms.forms import ShopOwnedTabularInline
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin
from apps.customers.models import Customer
from apps.gift_cards.admin.columns import GiftCardColumns
from apps.gift_cards.models import GiftCard


class CustomerGiftCardsInline(GiftCardColumns, ReadOnlyAdminMixin, ShopOwnedTabularInline[GiftCard, Customer]):
    model = GiftCard
    fields = readonly_fields = ("masked_code", "balance_label", "value_label", "state_label", "expires_on")
    ordering = ("-id",)
    can_delete = False
    show_change_link = True
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[GiftCard]:
        return GiftCard.rows().order_by(*self.ordering)
