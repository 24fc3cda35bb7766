"""The list of gift cards: views, filters and search."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.lists.filters import Choices, Screen, ViewsFilter
from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.theme import attribute_column
from apps.core.db.lookups import in_materialized
from apps.core.tenancy.scope import get_current_shop
from apps.customers.admin.changelist_search import build_search_condition, get_first_matches
from apps.customers.models import Customer
from apps.gift_cards.admin.columns import GiftCardColumns
from apps.gift_cards.domain import codes
from apps.gift_cards.domain.states import State, build_state_condition
from apps.gift_cards.models import GiftCard

# The maximum number of matching customers with gift cards to search.
_MAX_CUSTOMERS = 1_000


class ViewFilter(ViewsFilter):
    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("all", _("All")), *((state.value, str(state.label)) for state in State)]

    def filter_view(self, queryset: QuerySet[GiftCard], view: str) -> QuerySet[GiftCard]:
        return queryset.filter(build_state_condition(view))


class CreatedFilter(DaysFilter):
    title = gettext_lazy("creation date")
    parameter_name = "created"
    field = "created_at"


class BalanceFilter(AmountsFilter):
    title = pgettext_lazy("filter", "balance")
    parameter_name = "balance"
    field = "balance"


class GiftCardList(GiftCardColumns, ShopOwnedAdmin[GiftCard]):
    list_display = ("masked_code", "state_label", "holder", "balance_label", "value_label", "expires", "created")
    numeric_columns = ("balance_label", "value_label")
    day_columns = ("created",)
    mobile_hide_labels = ("holder",)
    list_display_links = ("masked_code",)
    list_filter = (ViewFilter, CreatedFilter, BalanceFilter)
    list_select_related = ("customer",)
    search_fields = ("last_characters__iexact",)
    search_help_text = gettext_lazy("Code, last four characters or customer")
    ordering = ("-id",)
    sortable_by = ()
    actions = None

    expires = attribute_column("expires_on", gettext_lazy("Expires on"), empty_value="–")
    created = attribute_column("created_at", gettext_lazy("Created at"))

    def holder(self, card: GiftCard) -> str:
        return str(card.customer or "–")

    holder.short_description = gettext_lazy("Customer")  # type: ignore[attr-defined]

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: QuerySet[GiftCard], term: str, most: int
    ) -> Sequence[QuerySet[GiftCard]]:
        """Search by complete code, which is compared by digest, and by customer."""
        code = codes.normalize_code(term)
        condition = build_search_condition(term, get_current_shop())
        customers = get_first_matches(Customer.rows().filter(condition).order_by(), min(most, _MAX_CUSTOMERS))
        querysets = [queryset.filter(in_materialized(customers.values("pk"), "customer"))]
        if codes.is_valid_code(code):
            querysets.append(queryset.filter(code_digest__in=codes.calculate_digests(code)))
        return querysets
