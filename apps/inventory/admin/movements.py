"""The ledger of stock as staff read it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, TypedDict

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.ground.lookups import among
from apps.inventory.domain.naming import conditions, names_of_items
from apps.inventory.models import InventoryItem, Location, StockMovement
from apps.panel.menu import Menu
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.screens.filters import Choices, Screen
from apps.panel.screens.searching import bound_of, is_from_anywhere, united
from apps.panel.theme import display
from apps.staff.domain.actors import names_of

# Of items that a word finds, the movements of so many are found.
FOLLOWED = 1_000


class _Names(TypedDict):
    thing_name: str
    actor_name: str


Named: TypeAlias = "WithAnnotations[StockMovement, _Names]"


class LocationFilter(admin.SimpleListFilter):
    """By location, of this shop's."""

    title = gettext_lazy("location")
    parameter_name = "location__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """Every location, inactive ones included."""
        return [(str(location.pk), location.name) for location in Location.rows().order_by("name", "id")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StockMovement]) -> QuerySet[StockMovement]:
        """Only the chosen one's."""
        value = self.value()
        return queryset.filter(location_id=value) if value and value.isdecimal() else queryset


@admin.register(StockMovement)
class StockMovementAdmin(ReadOnly, ShopOwnedAdmin[StockMovement]):
    """What came, went and was counted; nobody changes it."""

    menu = Menu(
        "Catalog",
        "history",
        52,
        gettext_lazy("Stock movements"),
        words=pgettext_lazy("search", "inventory, stock history, ledger, adjustment, receipt of goods"),
    )
    intro = gettext_lazy("Every change of stock, with who made it and why. A level is the sum of its movements.")
    empty_text = gettext_lazy("No stock has moved yet.")
    list_display = ("when", "thing", "location", "change", "available", "why", "who", "reference")
    list_self_evident = ("when", "thing", "location", "why", "who", "reference")
    list_display_links = None
    list_filter = (LocationFilter, "reason")
    list_select_related = ("item", "location")
    search_fields = ("item__sku__istartswith", "reference__istartswith")
    place_in_search = 90
    ordering = ("-id",)
    sortable_by = ()

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Look the names of the page's items and actors up at once."""
        changelist = super().get_changelist_instance(request)
        rows = list(changelist.result_list)
        changelist.result_list = rows
        things = names_of_items([row.item for row in rows])
        people = names_of(list({row.actor for row in rows}))
        for row in rows:
            row.thing_name, row.actor_name = things[row.item_id], people[row.actor]
        return changelist

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StockMovement], search_term: str
    ) -> tuple[QuerySet[StockMovement], bool]:
        """By the items' names, too."""
        if not search_term:
            return queryset, False
        most = bound_of(request)
        rows = InventoryItem.rows()
        named = [rows.filter(each) for each in conditions(search_term, most)]
        items = united(rows, named, most=min(most, FOLLOWED))
        parts = [
            queryset.filter(reference__istartswith=search_term),
            queryset.filter(among(items.order_by().values("pk"), "item")),
        ]
        return united(queryset, parts, most=most, newest=not is_from_anywhere(request)), False

    def names_in_search(self, rows: Sequence[StockMovement]) -> Mapping[int, str]:
        """What moved, and how."""
        things = names_of_items([row.item for row in rows])
        return {row.pk: f"{things[row.item_id]}: {row}" for row in rows}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """One item's movements are linked to from the stock grid."""
        return lookup == "item__id__exact" or super().lookup_allowed(lookup, value, request)

    @display(description=gettext_lazy("When"), ordering="id")
    def when(self, movement: StockMovement) -> datetime:
        """The moment."""
        return movement.at

    @display(description=gettext_lazy("Item"))
    def thing(self, movement: Named) -> str:
        """The item's name."""
        return movement.thing_name

    @display(description=pgettext_lazy("amount", "Change"))
    def change(self, movement: StockMovement) -> str:
        """With its sign."""
        return f"{movement.delta:+d}"

    @display(description=gettext_lazy("Why"))
    def why(self, movement: StockMovement) -> str:
        """The reason in words."""
        return movement.get_reason_display()

    @display(description=gettext_lazy("Who"))
    def who(self, movement: Named) -> str:
        """The actor's name."""
        return movement.actor_name
