"""The list of discounts: columns, filters and search."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import cast

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.lists.changelist import PanelChangeList
from apps.core.admin.lists.filters import Choices, Screen, ViewsFilter
from apps.core.admin.lists.search import is_palette_search, set_truncation_note
from apps.core.admin.lists.typed_filters import DaysFilter
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.theme import attribute_column, display
from apps.core.db.lookups import in_materialized
from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop
from apps.discounts.admin.descriptions import STATE_KINDS, describe_terms
from apps.discounts.domain.states import build_state_condition, get_state
from apps.discounts.domain.terms import normalize_code
from apps.discounts.domain.usage import RuleWithUsage, load_usage
from apps.discounts.models import DiscountCode, PriceRule

# The maximum number of matching codes that a search reads.
MAX_SEARCHED_CODES = 100_000
_TOO_MANY_CODES = gettext_lazy(
    "More than {number} codes begin like this. Discounts with the other codes may be missing. Enter more of the code."
)


class ViewFilter(ViewsFilter):
    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("all", _("All")), *((state.value, str(state.label)) for state in PriceRule.State)]

    def filter_view(self, queryset: QuerySet[PriceRule], view: str) -> QuerySet[PriceRule]:
        return queryset.filter(build_state_condition(view, timezone.now()))


class StartFilter(DaysFilter):
    title = gettext_lazy("start")
    parameter_name = "starts"
    field = "starts_at"


class DiscountChangeList(PanelChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        load_usage(self.result_list)


class DiscountList(ShopOwnedAdmin[PriceRule]):
    list_display = ("name", "codes_label", "terms", "state_label", "uses_label", "amount_given", "starts", "ends")
    mobile_hide_labels = ("codes_label", "terms")
    numeric_columns = ("uses_label", "amount_given")
    day_columns = ("starts", "ends")
    list_display_links = ("name",)
    list_filter = (ViewFilter, StartFilter)
    list_filter_submit = True
    search_fields = ("title__icontains",)
    search_help_text = gettext_lazy("Title or code")
    palette_order = 45
    ordering = ("-id",)
    sortable_by = ()

    starts = attribute_column("starts_at", pgettext_lazy("discount", "Start"))
    ends = attribute_column("ends_at", pgettext_lazy("discount", "End"), empty_value="–")

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[DiscountChangeList]:
        return DiscountChangeList

    @display(description=pgettext_lazy("discount", "Title"))
    def name(self, rule: PriceRule) -> str:
        return rule.title

    @display(description=gettext_lazy("Codes"))
    def codes_label(self, rule: RuleWithUsage) -> str:
        others = (rule.codes_count or 0) - 1
        if others < 1:
            return rule.first_code or _("No code")
        text = ngettext("{code} and {number} other", "{code} and {number} others", others)
        return text.format(code=rule.first_code, number=formats.format_integer(others))

    @display(description=gettext_lazy("Discount"))
    def terms(self, rule: PriceRule) -> str:
        return describe_terms(rule)

    @display(description=gettext_lazy("Status"), label=STATE_KINDS)
    def state_label(self, rule: RuleWithUsage) -> tuple[str, str]:
        state = get_state(rule, timezone.now(), is_used_up=rule.is_used_up)
        return state.value, str(state.label)

    @display(description=gettext_lazy("Uses"))
    def uses_label(self, rule: RuleWithUsage) -> str:
        uses = formats.format_integer(rule.uses_count or 0)
        if rule.usage_limit is None or not rule.codes_count:
            return uses
        most = formats.format_integer(rule.usage_limit * rule.codes_count)
        return _("{uses} of {limit}").format(uses=uses, limit=most)

    @display(description=gettext_lazy("Amount given"))
    def amount_given(self, rule: RuleWithUsage) -> str:
        return formats.format_money(Decimal(str(rule.amount_given or 0)), get_current_shop().currency)

    def palette_titles(self, rows: Sequence[PriceRule]) -> Mapping[int, str]:
        """Return the titles, and load the codes that ``palette_details`` shows."""
        load_usage(rows)
        return super().palette_titles(rows)

    def palette_details(self, instance: PriceRule) -> Sequence[str]:
        return self.codes_label(cast("RuleWithUsage", instance)), describe_terms(instance)

    def get_search_note(self, term: str) -> str:
        return ""

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: QuerySet[PriceRule], term: str, most: int
    ) -> Sequence[QuerySet[PriceRule]]:
        """Search by the beginning of a code. A discount can have many codes, so more codes than discounts are read."""
        codes = DiscountCode.objects.filter(code_key__startswith=normalize_code(term)).order_by()
        if not is_palette_search(request) and codes[MAX_SEARCHED_CODES:][:1].exists():
            number = formats.format_integer(MAX_SEARCHED_CODES)
            set_truncation_note(request, _TOO_MANY_CODES.format(number=number))
        return [queryset.filter(in_materialized(codes.values("rule")[:MAX_SEARCHED_CODES]))]
