from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.core.admin.lists.filters import Choices, Screen
from apps.core.admin.lists.search import get_result_limit, is_palette_search, union_first_rows
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.theme import attribute_column, display
from apps.core.db.lookups import in_materialized
from apps.core.tenancy.actor_names import get_actor_names
from apps.inventory.domain.hooks import get_item_names, get_search_conditions
from apps.inventory.models import InventoryItem, Location, StockMovement

# A search by name only finds the inventory changes of up to this many items.
MAX_SEARCHED_ITEMS = 1_000


class _Names(TypedDict):
    thing_name: str
    actor_name: str


NamedMovement: TypeAlias = "WithAnnotations[StockMovement, _Names]"


class LocationFilter(admin.SimpleListFilter):
    title = gettext_lazy("location")
    parameter_name = "location__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(str(location.pk), location.name) for location in Location.rows().order_by("name", "id")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StockMovement]) -> QuerySet[StockMovement]:
        value = self.value()
        return queryset.filter(location_id=value) if value and value.isdecimal() else queryset


@admin.register(StockMovement)
class StockMovementAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[StockMovement]):
    menu = MenuItem("Products", "history", 52, gettext_lazy("Inventory history"))
    search_terms = pgettext_lazy("search", "stock movements, stock history, ledger, adjustment")
    intro = gettext_lazy("All inventory changes, with the reason for each change and who made it.")
    empty_text = gettext_lazy("No inventory changes yet.")
    numeric_columns = ("change",)
    list_display = ("when", "thing", "location", "change", "available", "why", "who", "reference")
    mobile_hide_labels = ("when", "thing", "location", "why", "who", "reference")
    list_display_links = None
    list_filter = (LocationFilter, "reason")
    list_select_related = ("item", "location")
    search_fields = ("item__sku__istartswith", "reference__istartswith")
    palette_order = 90
    ordering = ("-id",)
    sortable_by = ()

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        rows = list(changelist.result_list)
        changelist.result_list = rows
        item_names = get_item_names([row.item for row in rows])
        actor_names = get_actor_names(list({row.actor for row in rows}))
        for row in rows:
            row.thing_name, row.actor_name = item_names[row.item_id], actor_names[row.actor]
        return changelist

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StockMovement], search_term: str
    ) -> tuple[QuerySet[StockMovement], bool]:
        if not search_term:
            return queryset, False
        most = get_result_limit(request)
        rows = InventoryItem.rows()
        querysets = [rows.filter(condition) for condition in get_search_conditions(search_term, most)]
        items = union_first_rows(rows, querysets, limit=min(most, MAX_SEARCHED_ITEMS))
        parts = [
            queryset.filter(reference__istartswith=search_term),
            queryset.filter(in_materialized(items.order_by().values("pk"), "item")),
        ]
        return union_first_rows(queryset, parts, limit=most, newest=not is_palette_search(request)), False

    def palette_titles(self, rows: Sequence[StockMovement]) -> Mapping[int, str]:
        item_names = get_item_names([row.item for row in rows])
        return {row.pk: f"{item_names[row.item_id]}: {row}" for row in rows}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow filtering by item, because the stock grid links to lists with this filter."""
        return lookup == "item__id__exact" or super().lookup_allowed(lookup, value, request)

    when = attribute_column("at", gettext_lazy("Date"), ordering="id")
    thing = attribute_column("thing_name", gettext_lazy("Item"))
    who = attribute_column("actor_name", gettext_lazy("Changed by"))

    @display(description=pgettext_lazy("amount", "Change"))
    def change(self, movement: StockMovement) -> str:
        return f"{movement.delta:+d}"

    @display(description=gettext_lazy("Reason"))
    def why(self, movement: StockMovement) -> str:
        return movement.get_reason_display()
