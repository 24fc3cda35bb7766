"""The ledger on the page of a gift card, and the gift cards on the page of a customer."""

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.forms import ShopOwnedTabularInline
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin
from apps.core.admin.theme import attribute_column, display
from apps.core.i18n import formats
from apps.customers.models import Customer
from apps.gift_cards.admin.columns import GiftCardColumns
from apps.gift_cards.models import GiftCard, GiftCardAdjustment


class AdjustmentInline(ReadOnlyAdminMixin, ShopOwnedTabularInline[GiftCardAdjustment, GiftCard]):
    model = GiftCardAdjustment
    verbose_name_plural = gettext_lazy("ledger")
    fields = readonly_fields = ("created", "reason", "amount_label", "balance_label", "app_name")
    ordering = ("-number",)
    can_delete = False
    tab = False
    per_page = 20

    created = attribute_column("created_at", gettext_lazy("Date"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[GiftCardAdjustment]:
        return GiftCardAdjustment.rows().select_related("card", "app").order_by(*self.ordering)

    @display(description=gettext_lazy("Reason"))
    def reason(self, row: GiftCardAdjustment) -> str:
        return _("Initial value") if row.number == 1 else row.note or row.remote_transaction_ref or "–"

    @display(description=gettext_lazy("Amount"))
    def amount_label(self, row: GiftCardAdjustment) -> str:
        return formats.format_money(row.amount, row.card.currency)

    @display(description=gettext_lazy("Balance"))
    def balance_label(self, row: GiftCardAdjustment) -> str:
        return formats.format_money(row.balance, row.card.currency)

    @display(description=gettext_lazy("App"))
    def app_name(self, row: GiftCardAdjustment) -> str:
        return row.app.name if row.app else "–"


class CustomerGiftCardsInline(GiftCardColumns, ReadOnlyAdminMixin, ShopOwnedTabularInline[GiftCard, Customer]):
    model = GiftCard
    fields = readonly_fields = ("masked_code", "balance_label", "value_label", "state_label", "expires_on")
    ordering = ("-id",)
    can_delete = False
    show_change_link = True
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[GiftCard]:
        return GiftCard.rows().order_by(*self.ordering)
