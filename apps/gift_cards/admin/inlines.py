"""The gift cards on the page of a customer."""

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.forms import ShopOwnedTabularInline
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin
from apps.core.admin.theme import display
from apps.customers.models import Customer
from apps.gift_cards.admin.columns import GiftCardColumns
from apps.gift_cards.domain.states import get_state
from apps.gift_cards.models import GiftCard


class CustomerGiftCardsInline(GiftCardColumns, ReadOnlyAdminMixin, ShopOwnedTabularInline[GiftCard, Customer]):
    model = GiftCard
    fk_name = "customer"
    fields = readonly_fields = ("balance_label", "value_label", "status", "expires_on")
    ordering = ("-id",)
    can_delete = False
    show_change_link = True
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[GiftCard]:
        return GiftCard.rows().order_by(*self.ordering)

    @display(description=gettext_lazy("Status"))
    def status(self, card: GiftCard) -> str:
        return str(get_state(card).label)
